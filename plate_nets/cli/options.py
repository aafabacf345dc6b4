"""Options that several commands share."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from plate_nets.errors import InputError
from plate_nets.plates import PlateScheme, load_schemes
from plate_nets.types import DEFAULT_DETAIL, Detail

SCHEME_VARIABLE = "PLATES_PLATE_RECOGNITION_SCHEME"
"""The setting of a server's schemes, see `serving.settings`."""
DETAIL_VARIABLE = "PLATES_YOLO_DETAIL"
"""The setting of how closely a server looks at pictures, see `recognition.detection.DetectionSettings`."""
URL_VARIABLES = ["PLATES_URL", "TRITON_URL"]

Url = Annotated[
    str | None,
    typer.Option(help="Server to ask: host:port, http://host:port or grpc://host:port.", envvar=URL_VARIABLES),
]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--url",
        help="Server to ask: host:port, http://host:port, grpc://host:port, or dns:///host:port for all servers of a "
        "name; give it again for more of them, which share the pictures.",
        envvar=URL_VARIABLES,
    ),
]
Schemes = Annotated[
    str,
    typer.Option(
        "--scheme",
        help="Whose plates are read: countries, groups or TOML files, with a comma between; of several "
        "the surest text is given. By default what the server is set to, which is russia.",
        envvar=SCHEME_VARIABLE,
        show_default=False,
    ),
]
Scheme = Annotated[
    str,
    typer.Option("--scheme", help="Whose plates are read: one country that the package has, or one TOML file."),
]
NamedSchemes = Annotated[
    str,
    typer.Option("--scheme", help="Whose plates are read: countries, groups or TOML files, with a comma between."),
]
Details = Annotated[
    Detail | None,
    typer.Option(
        "--detail",
        help="How closely pictures are looked at: far finds plates that are farther away, fast takes the least time, "
        "which counts from full HD on.",
        show_default=DEFAULT_DETAIL,
    ),
]
Sure = Annotated[float | None, typer.Option(help="How sure a text must be to be given, 0 to 1; by default 0.8.")]
Local = Annotated[bool, typer.Option("--local", help="Read in this process, without a server.")]
Protocol = Annotated[Literal["http", "grpc"], typer.Option(help="How to speak to a server where --url does not say.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for an answer.", min=0.001, max=86_400)]
ModelRepository = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the models; by default those of the package.",
        envvar="PLATES_MODEL_REPOSITORY",
        file_okay=False,
        readable=False,
    ),
]
Log = Annotated[
    Path | None,
    typer.Option(help="File that the log of a server of its own is appended to; - for standard error.", dir_okay=False),
]


def use_detail(detail: Detail | None, url: Sequence[str] | str | None = None) -> None:
    """What --detail says -> the setting of this process, and of a server that it starts.

    Raises:
        InputError: a server that runs is asked, which has a setting of its own.
    """
    if detail is None:
        return
    if url:
        raise InputError("--detail: a server has its own; start it with `plates serve --detail`, or read without --url")
    os.environ[DETAIL_VARIABLE] = detail


def use_schemes(names: str) -> tuple[PlateScheme, ...]:
    """What --scheme says -> the schemes; none where it was not given. A server that this process starts reads them.

    Raises:
        SchemeError: there is no such scheme.
    """
    if not names:
        return ()
    schemes = load_schemes(names)
    files = (str(Path(name).resolve()) if name.endswith(".toml") else name for name in map(str.strip, names.split(",")))
    os.environ[SCHEME_VARIABLE] = ",".join(files)
    return schemes


def only_scheme(names: str) -> PlateScheme:
    """As `use_schemes`, where the frames of a car are read together.

    Raises:
        InputError: there are several.
    """
    scheme, *others = use_schemes(names)
    if others:
        raise InputError(f"--scheme: expected one, as the frames of a car are read together, got {names!r}")
    return scheme
