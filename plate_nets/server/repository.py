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
    for network in NETWORKS.values():
        files = network.folder / IR
        versions = list((repository / network.model.name).glob(f"[0-9]*/{files}"))
        if not versions:
            missing = released(repository, network.model.name) / files
            raise ServerStartError(f"{missing}: not converted yet; run `python -m converters`")
        for version in versions:
            version.open("rb").close()
