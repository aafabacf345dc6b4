"""`plates mcp`: lets an assistant read pictures and find events, over the Model Context Protocol."""

import threading
from contextlib import ExitStack, closing
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from plate_nets.cli.options import Schemes, Urls, use_schemes
from plate_nets.cli.output import record
from plate_nets.cli.read import Source, read_picture
from plate_nets.cli.readers import open_reader
from plate_nets.common.errors import PlateError
from plate_nets.common.extras import needs

_MOST = 200
_TIMEOUT = 30.0


def mcp(
    url: Urls = None,
    events: Annotated[
        Path | None,
        typer.Option(
            help="SQLite file of events, as in `plates watch --sqlite`: also offer the tool find_events.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    scheme: Schemes = None,
) -> None:
    """Offer the tools read_plates and find_events to an assistant, over the Model Context Protocol.

    An assistant starts this command itself, and speaks with it on standard input and output. Without --url, it reads in
    its own process.
    """
    with needs("mcp", "plates mcp"):
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError

    server: MCPServer[Any] = MCPServer("plates", version=metadata.version("plate-nets"), log_level="WARNING")
    with ExitStack() as stack:
        if events:
            with needs("web", "--events"):
                from plate_nets.web.event_filter import EventFilter
                from plate_nets.web.store import EventStore
            store = stack.enter_context(closing(EventStore(events, new=False)))

            @server.tool()
            def find_events(
                plate: str = "", camera: str = "", since: str = "", until: str = "", limit: int = 20
            ) -> list[dict[str, Any]]:
                """Find cars that cameras have seen, newest first.

                plate: the beginning of the text, or a pattern with * and ?. camera: its name. since, until: times such
                as 2026-11-22T10:00:00Z; without an offset they are in UTC. limit: at most 200.
                """
                try:
                    wanted = EventFilter(text=plate, camera=camera, since=since, until=until)
                    return list(store.page(wanted, limit=max(1, min(limit, _MOST))).events)
                except PlateError as error:
                    raise ToolError(str(error)) from error

        schemes = use_schemes(scheme)
        opened = open_reader(not url, url, "http", _TIMEOUT, None, None, schemes, patient=True)
        reader = stack.enter_context(opened)
        one_at_a_time = threading.Lock()

        @server.tool()
        def read_plates(picture: str) -> dict[str, Any]:
            """Read the licence plates in a picture.

            picture: the path of a file on this machine: JPEG, PNG, WebP, BMP, HEIC or AVIF. The answer has the text,
            country, confidence (0 to 1) and corners of each plate; an empty text means that it was not certain.
            """
            path = Path(picture)
            try:
                with one_at_a_time:
                    found = read_picture(reader, Source(path, path))
            except PlateError as error:
                raise ToolError(str(error)) from error
            if found.error is not None:
                raise ToolError(f"{picture}: {found.error}")
            return record(found, schemes)

        server.run()
