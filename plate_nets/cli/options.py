"""Options that several commands share."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme, load_schemes
from plate_nets.types import DEFAULT_DETAIL, Detail

SCHEME_VARIABLE = "PLATES_PLATE_RECOGNITION_SCHEME"
"""Environment variable for a server's schemes, see `triton.backend.settings`."""
DETAIL_VARIABLE = "PLATES_YOLO_DETAIL"
"""Environment variable for how closely a server looks at pictures, see `recognition.detection.DetectionSettings`."""
URL_VARIABLES = ["PLATES_URL", "TRITON_URL"]

Url = Annotated[
    str | None,
    typer.Option(help="Server to use: host:port, http://host:port or grpc://host:port.", envvar=URL_VARIABLES),
]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--url",
        help="Server to use: host:port, http://host:port, grpc://host:port, or dns:///host:port for all servers behind "
        "a name. Repeat it to share the pictures between several servers.",
        envvar=URL_VARIABLES,
    ),
]
Schemes = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="Countries to read, comma-separated (built-in name, group or TOML file). The most certain reading wins. "
        "Default: world, or what the server at --url reads.",
        envvar=SCHEME_VARIABLE,
        show_default=False,
    ),
]
Details = Annotated[
    Detail | None,
    typer.Option(
        "--detail",
        help="How closely to look at pictures: fast takes the least time, far finds the smallest plates.",
        show_default=DEFAULT_DETAIL,
    ),
]
Sure = Annotated[float | None, typer.Option(help="How certain a text must be, 0 to 1. Default: 0.8.")]
Vehicles = Annotated[bool, typer.Option("--vehicles", help="Also find the vehicle that each plate belongs to.")]
Local = Annotated[bool, typer.Option("--local", help="Read in this process, without a server.")]
Protocol = Annotated[Literal["http", "grpc"], typer.Option(help="Protocol to use if --url does not name one.")]
Timeout = Annotated[float, typer.Option(help="How long to wait for an answer (seconds).", min=0.001, max=86_400)]
ModelRepository = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the models. Default: the package's own.",
        envvar="PLATES_MODEL_REPOSITORY",
        file_okay=False,
        readable=False,
    ),
]
WatchLists = Annotated[
    list[Path] | None,
    typer.Option(
        "--watch-list", help="Watch list: a CSV file with the header plate,label. Repeatable.", dir_okay=False
    ),
]
Notify = Annotated[
    list[str] | None,
    typer.Option(
        help="Send a message for each car to this address of apprise, such as ntfy://TOPIC, with a picture if "
        "--save-events is given. Repeatable."
    ),
]
KeepDays = Annotated[
    float | None, typer.Option(help="Delete pictures, and events in --sqlite, after this many days.", min=0)
]
Log = Annotated[
    Path | None,
    typer.Option(help="File to append the log of the embedded server to, or - for standard error.", dir_okay=False),
]


def use_detail(detail: Detail | None, url: Sequence[str] | str | None = None) -> None:
    """Apply --detail to this process and to a server that it starts.

    Raises:
        InputError: a running server was given, which has its own setting.
    """
    if detail and url:
        raise InputError(
            "--detail: a server has its own setting; start it with `plates serve --detail`, or leave out --url"
        )
    if detail:
        os.environ[DETAIL_VARIABLE] = detail


def use_schemes(names: str | None) -> tuple[PlateScheme, ...]:
    """The schemes named by --scheme, or none without it; a server that this process starts reads them too.

    None are those of the server, or in this process the default.

    Raises:
        SchemeError: unknown scheme.
    """
    if names is None:
        return ()
    schemes = load_schemes(names)
    files = (str(Path(name).resolve()) if name.endswith(".toml") else name for name in map(str.strip, names.split(",")))
    os.environ[SCHEME_VARIABLE] = ",".join(files)
    return schemes
