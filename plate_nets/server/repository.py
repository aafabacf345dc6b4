"""Whether all in a model repository was converted."""

from pathlib import Path

from plate_nets.contract import MODELS
from plate_nets.errors import ServerStartError
from plate_nets.nets.registry import NETWORKS
from plate_nets.runtimes.networks import IR, REPOSITORY_VARIABLE, released


def check_converted(repository: Path) -> None:
    """Raises ServerStartError where a model's folder or its converted network is missing or may not be read."""
    try:
        _check_files(repository)
    except OSError as error:
        raise ServerStartError(f"{error.filename}: {error.strerror}") from error


def _check_files(repository: Path) -> None:
    if not repository.is_dir():
        raise ServerStartError(
            f"{repository}: no such model repository; name one with --model-repository or {REPOSITORY_VARIABLE}"
        )
    for name in MODELS:
        folder = repository / name
        if not (folder / "config.pbtxt").is_file():
            raise ServerStartError(f"{folder}: no config.pbtxt; expected the models {', '.join(MODELS)}")
        if name not in NETWORKS:
            continue
        versions = list(folder.glob(f"[0-9]*/{IR}"))
        if not versions:
            raise ServerStartError(f"{released(repository, name) / IR}: not converted yet; run `python -m converters`")
        for version in versions:
            version.open("rb").close()
