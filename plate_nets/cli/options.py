"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from plate_nets.errors import InputError
from plate_nets.plates import PlateScheme, load_schemes

SCHEME_VARIABLE = "PLATES_PLATE_RECOGNITION_SCHEME"
"""The setting of a server's schemes, see `serving.settings`."""
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
