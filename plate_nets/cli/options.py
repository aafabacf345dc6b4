"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

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
Protocol = Annotated[Literal["http", "grpc"], typer.Option(help="How to speak to it, where --url does not say.")]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for an answer.", min=0.001, max=86_400)]
ModelRepository = Annotated[
    Path | None,
    typer.Option(help="Folder of the models.", envvar="PLATES_MODEL_REPOSITORY", file_okay=False, readable=False),
]
Log = Annotated[
    Path | None, typer.Option(help="File that the server's log is appended to; - for standard error.", dir_okay=False)
]
