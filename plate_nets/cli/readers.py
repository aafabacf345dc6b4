"""What reads the pictures of a command: a running server, an embedded one, or this process."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console

from plate_nets.cli.options import URL_VARIABLES
from plate_nets.client import PlateClient
from plate_nets.client.healing import Healing
from plate_nets.common.errors import InputError, MissingExtra, ServerStartError
from plate_nets.common.extras import needs
from plate_nets.contract import PLATE_RECOGNITION, YOLO, reader_of
from plate_nets.countries import PlateScheme, default_schemes
from plate_nets.networks.runtimes.room import check_room
from plate_nets.recognition.health import check_health
from plate_nets.recognition.reader import FrameLimits, VehicleReader
from plate_nets.triton.backend.settings import read_settings
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.server.installation import default_kind, find_installation

if TYPE_CHECKING:
    from plate_nets.recognition.local import LocalReader


def reads_in_process(local: bool, url: str | Sequence[str] | None) -> bool:
    """Whether a command reads in its own process: with --local, or without --url if no Triton can be started.

    The latter is reported in one line on stderr.

    Raises:
        InputError: both --local and --url were given.
        MissingExtra: neither Triton nor the packages for this process are installed.
        WeightsError: there is too little memory for this process to read.
    """
    if local and url:
        raise InputError(f"--local and --url (or {URL_VARIABLES[0]}) cannot be used together; leave one of them out")
    if local or url:
        return local
    try:
        find_installation(default_kind())
    except (MissingExtra, ServerStartError) as error:
        check_room(readers=1, threads=0)
        with needs("local", "reading without --url"):
            import plate_nets.recognition.local  # noqa: F401
        typer.echo(f"plates: reading in this process, because no Triton can be started here: {error}", err=True)
        return True
    return False


def local_reader(schemes: Sequence[PlateScheme], repository: Path | None) -> "LocalReader":
    """A reader in this process, loaded and checked; the environment configures it as it does a server.

    Without schemes, it reads the default.

    Raises:
        ContractError, InputError: an invalid setting in the environment.
        MissingExtra: a package is not installed.
        WeightsError: a network is missing, damaged, or not converted yet, or there is too little memory for them.
        ServerError: it does not read the known picture.
    """
    schemes = schemes or default_schemes()
    check_room(len({reader_of(scheme).name for scheme in schemes}), threads=0)  # without it, imports fail too
    with needs("local", "reading in this process"):
        from plate_nets.recognition.local import LocalReader
    reader = LocalReader(scheme=schemes, repository=repository, **local_settings())
    with waiting("Loading the models"):
        check_health(reader)
    return reader


def local_settings() -> dict[str, Any]:
    """The settings of a `LocalReader` by field, from the environment as a server's.

    Raises:
        ContractError, InputError: an invalid setting in the environment.
    """
    from plate_nets.recognition.decoding import DecodingSettings
    from plate_nets.recognition.detection import DetectionSettings

    return {
        "detection": read_settings(DetectionSettings, YOLO.name, {}),
        "decoding": read_settings(DecodingSettings, PLATE_RECOGNITION.name, {}),
        "limits": frame_limits(),
    }


def frame_limits() -> FrameLimits:
    """The limits for pictures, from the environment as a server's.

    Raises:
        ContractError: an invalid limit in the environment.
    """
    return read_settings(FrameLimits, YOLO.name, {})


@contextmanager
def started(server: EmbeddedTriton, *, as_line: bool = False) -> Iterator[None]:
    """A server that runs for the duration of the block; ``as_line`` as for `waiting`."""
    try:
        message = "Starting Triton and loading the models"
        with waiting(message, as_line=as_line) as say:
            server.start(lambda models: say(f"{message}: waiting for {models or 'its ports'}"))
        yield
    finally:
        server.stop()


def embedded_client(
    server: EmbeddedTriton, timeout: float, schemes: PlateScheme | Sequence[PlateScheme]
) -> PlateClient:
    """Open a client for a server on this machine: frames are large, and over HTTP Triton leaks memory with each empty
    answer."""
    return PlateClient(
        server.grpc_url,
        "grpc",
        timeout,
        shared_memory=True,
        control_key=server.control_key,
        scheme=schemes,
        limits=frame_limits(),
    )


@contextmanager
def waiting(message: str, *, as_line: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a message on the terminal during the block; with ``as_line``, print it as a line if there is none.

    The block gets a function that shows another message instead, or prints it as a line.
    """
    console = Console(stderr=True, highlight=False)
    if as_line and not console.is_terminal:
        typer.echo(f"{message} ...", err=True)
    with console.status(message) as status:
        yield lambda text: status.update(text) if console.is_terminal else typer.echo(f"{text} ...", err=True)


@contextmanager
def open_reader(
    local: bool,
    url: list[str] | None,
    protocol: Literal["http", "grpc"],
    timeout: float,
    repository: Path | None,
    log: Path | None,
    schemes: Sequence[PlateScheme],
    *,
    patient: bool = False,
) -> Iterator[VehicleReader]:
    """The reader for these options; without --local and --url, an embedded server runs for as long.

    If a process of the embedded server dies, it is restarted. ``patient``: wait for a server at ``url`` to be healed.
    """
    if reads_in_process(local, url):
        yield local_reader(schemes, repository)
    elif url:
        with PlateClient(url, protocol, timeout, scheme=schemes, limits=frame_limits()) as client:
            client.is_ready()  # a wrong address must not look like an error of the first picture
            yield Healing(client, partial(client.wait_until_healthy, timeout)) if patient else client
    else:
        # This command is its only client, so nothing is in flight at its end.
        server = EmbeddedTriton(repository, server=default_kind(), log=log, exit_timeout=0)
        with started(server), embedded_client(server, timeout, schemes) as client:
            yield Healing(client, server.restart)
