"""Which models a server needs from a model repository, and whether they are there."""

from collections.abc import Collection
from pathlib import Path

from plate_nets.common.errors import SchemeError, ServerStartError
from plate_nets.contract import needed
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import IR, REPOSITORY_VARIABLE, released
from plate_nets.triton.config_check import schemes_of


def needed_models(repository: Path) -> tuple[str, ...]:
    """The names of the models needed by the schemes that the repository reads.

    Raises:
        ServerStartError: the repository names an unknown scheme.
    """
    try:
        return needed(schemes_of(repository))
    except SchemeError as error:
        raise ServerStartError(str(error)) from error


def check_converted(repository: Path, models: Collection[str]) -> None:
    """Raise ServerStartError if a model's folder or its converted network is missing or unreadable."""
    try:
        _check_files(repository, models)
    except OSError as error:
        raise ServerStartError(f"{error.filename}: {error.strerror}") from error


def _check_files(repository: Path, models: Collection[str]) -> None:
    if not repository.is_dir():
        raise ServerStartError(
            f"{repository}: no such model repository; name one with --model-repository or {REPOSITORY_VARIABLE}"
        )
    for name in models:
        folder = repository / name
        if not (folder / "config.pbtxt").is_file():
            raise ServerStartError(f"{folder}: no config.pbtxt; expected the models {', '.join(models)}")
    for network in (each for each in NETWORKS.values() if each.model.name in models):
        files = network.folder / IR
        versions = list((repository / network.model.name).glob(f"[0-9]*/{files}"))
        if not versions:
            missing = released(repository, network.model.name) / files
            raise ServerStartError(f"{missing}: not converted yet; run `python -m converters`")
        for version in versions:
            version.open("rb").close()
