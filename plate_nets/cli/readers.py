"""What reads the pictures of a command: a server that runs, one of its own, or this process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from plate_nets.cli.options import URL_VARIABLES
from plate_nets.contract import YOLO
from plate_nets.errors import InputError, MissingExtra, ServerStartError
from plate_nets.extras import needs
from plate_nets.plates import PlateScheme
from plate_nets.recognition.health import check_health
from plate_nets.server import EmbeddedTriton
from plate_nets.server.installation import default_kind, find_installation
from plate_nets.serving.settings import read_settings

if TYPE_CHECKING:
    from plate_nets.recognition.local import LocalReader


def reads_in_process(local: bool, url: str | Sequence[str] | None) -> bool:
    """Whether a command reads in its own process: told by --local, or without --url where no Triton can be started.

    The latter is said in one line on stderr.

    Raises:
        InputError: both --local and --url were given.
        MissingExtra: there is neither a Triton nor what this process needs.
    """
    if local and url:
        raise InputError(f"--local and --url (or {URL_VARIABLES[0]}) cannot be used together; leave one of them out")
    if local or url:
        return local
    try:
        find_installation(default_kind())
    except (MissingExtra, ServerStartError) as error:
        with needs("local", "reading without --url"):
            import plate_nets.recognition.local  # noqa: F401
        typer.echo(f"plates: reading in this process, because no Triton can be started here: {error}", err=True)
        return True
    return False


def local_reader(schemes: PlateScheme | Sequence[PlateScheme], repository: Path | None) -> "LocalReader":
    """A reader of this process, its networks loaded and tried; its detector is set by the environment, as a server's.

    Raises:
        ContractError, InputError: a setting in the environment is not valid.
        MissingExtra: a package is not installed.
        WeightsError: a network is missing, damaged, or not converted yet.
        ServerError: it does not read the known picture.
    """
    with needs("local", "reading in this process"):
        from plate_nets.recognition.detection import DetectionSettings
        from plate_nets.recognition.local import LocalReader
    detection = read_settings(DetectionSettings, YOLO.name, {})
    reader = LocalReader(scheme=schemes, repository=repository, detection=detection)
    with waiting("Loading the models"):
        check_health(reader)
    return reader


@contextmanager
def started(server: EmbeddedTriton, *, said: bool = False) -> Iterator[None]:
    """A server for the length of the block; ``said`` as for `waiting`."""
    try:
        with waiting("Starting Triton and loading the models", said=said):
            server.start()
        yield
    finally:
        server.stop()


@contextmanager
def waiting(what: str, *, said: bool = False) -> Iterator[None]:
    """Tell a terminal what takes some seconds, as long as it does; ``said``: tell a log, too, in a line."""
    console = Console(stderr=True, highlight=False)
    if said and not console.is_terminal:
        typer.echo(f"{what} ...", err=True)
    with console.status(what):
        yield
