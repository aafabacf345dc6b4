"""`plates web`: serves the page and the HTTP API until Ctrl-C."""

import logging
import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from plate_nets.cli.options import (
    Details,
    Local,
    Log,
    ModelRepository,
    Schemes,
    Timeout,
    Url,
    WatchLists,
    use_detail,
    use_schemes,
)
from plate_nets.cli.readers import embedded_client, frame_limits, local_reader, reads_in_process, started
from plate_nets.cli.serve import open_events
from plate_nets.client import PlateClient
from plate_nets.common.errors import InputError, ServerError
from plate_nets.common.extras import needs
from plate_nets.common.intake.files import read_secret
from plate_nets.countries import PlateScheme, default_schemes, joined
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.server.installation import default_kind
from plate_nets.triton.supervision.events import Status
from plate_nets.triton.supervision.supervisor import Supervisor

if TYPE_CHECKING:
    from plate_nets.cameras.cameras_file import WatchPlan
    from plate_nets.web.health import Backend
    from plate_nets.web.parts import Sources

_PORT = 8080
_EVENTS = Path("plates-events.sqlite")


def web(
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port of the page; 0 picks a free one. Default: 8080, with --codeproject 32168."
        ),
    ] = None,
    address: Annotated[
        str, typer.Option(help="Address to listen on. Outside loopback, the page asks for a token.")
    ] = "127.0.0.1",
    url: Url = None,
    local: Local = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the tokens to ask for, one per line. Default: a random token, if one is needed.",
            dir_okay=False,
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(help="Network whose clients need no token, such as 192.168.0.0/16. Repeatable."),
    ] = None,
    codeproject: Annotated[
        bool, typer.Option("--codeproject", help="Listen where Blue Iris and other clients look for CodeProject.AI.")
    ] = False,
    host: Annotated[
        list[str] | None, typer.Option(help="Another name that people use to reach the page. Repeatable.")
    ] = None,
    allow_url: Annotated[
        list[str] | None, typer.Option(help="Host that pictures may be fetched from. Repeatable.")
    ] = None,
    cameras: Annotated[
        Path | None, typer.Option(help="Watch the cameras of this cameras.yaml, like `plates watch`.", dir_okay=False)
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            help="SQLite file of events, as `plates watch --sqlite` fills it. With --cameras, the default "
            "is plates-events.sqlite.",
            dir_okay=False,
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="Folder of the events' pictures, as `plates watch --save-events` fills it.", file_okay=False),
    ] = None,
    sure: Annotated[
        float | None, typer.Option(help="How probable the text of a camera's event must be, 0 to 1. Default: 0.99.")
    ] = None,
    watch_list: WatchLists = None,
    rate: Annotated[
        float, typer.Option(help="Pictures per second that one token may send, after the first 200.", min=0.01)
    ] = 20.0,
    scheme: Schemes = None,
    detail: Details = None,
    timeout: Timeout = 30.0,
    model_repository: ModelRepository = None,
    log: Log = None,
) -> None:
    """Serve a page where you try recognition and see your cameras, and an HTTP API.

    Without --url and --local, the command starts a supervised Triton server for as long as it runs. If Triton is not
    installed, it reads in this process.
    """
    with needs("web", "plates web"):
        from plate_nets.cameras.cameras_file import WatchPlan, load_cameras
        from plate_nets.web.app import create_app
        from plate_nets.web.codeproject import PORT as CODEPROJECT_PORT
        from plate_nets.web.server import WebServer
        from plate_nets.web.settings import LOOPBACK_NAMES, WebSettings, networks_of
    outside = address not in LOOPBACK_NAMES
    tokens = read_tokens(token_file) if token_file else (secrets.token_urlsafe(24),) if outside else ()
    trusted = networks_of(trust or ())
    settings = WebSettings(tokens, tuple(host or ()), tuple(allow_url or ()), trusted, frame_limits(), rate=rate)
    if port is None:
        port = CODEPROJECT_PORT if codeproject else _PORT
    console = Console(highlight=False, soft_wrap=True)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    plan = load_cameras(cameras) if cameras else WatchPlan(())
    use_detail(detail or plan.detail, url)
    with ExitStack() as stack:
        backend, supervisor = open_backend(stack, url, local, timeout, model_repository, log, use_schemes(scheme))
        sources = open_sources(stack, backend, cameras, plan, events, pictures, watch_list or [], sure)
        application = create_app(backend, settings, sources)
        ended = supervisor.end if supervisor else lambda: None
        server = stack.enter_context(WebServer(application, address, port, ended=ended))
        console.print(f"page     {server.url}/", markup=False)
        if tokens and not token_file:
            console.print(f"token    {tokens[0]}", markup=False)
        if outside:
            console.print("Other machines can reach this page, so it asks for a token. Put HTTPS in front of it.")
        if tokens and trusted:
            console.print(f"Clients in {', '.join(map(str, trusted))} need no token.", markup=False)
        for each in sources.lists.watch_lists() if sources.lists else ():
            for remark in each.remarks([camera.id for camera in plan.cameras]):
                console.print(remark, markup=False)
        console.print("Ready. Ctrl-C stops it.")
        (supervisor.run if supervisor else server.wait)()
        raise ServerError("the page stopped because of an internal error; the log has the details")


def open_backend(
    stack: ExitStack,
    url: str | None,
    local: bool,
    timeout: float,
    repository: Path | None,
    log: Path | None,
    schemes: Sequence[PlateScheme],
) -> tuple["Backend", Supervisor | None]:
    """Open the reader; an embedded server comes with its supervisor, which the caller runs."""
    from plate_nets.web.health import Backend

    scheme = joined(schemes or default_schemes())
    if reads_in_process(local, url):
        return Backend(local_reader(schemes, repository), "local", scheme=scheme), None
    if url:
        client = stack.enter_context(PlateClient(url, timeout=timeout, scheme=schemes, limits=frame_limits()))
        client.is_ready()  # a wrong address must not look like an error of the first picture
        return Backend(client, "server", client.url, scheme=scheme), None
    status = Status(stack.enter_context(open_events(Path(os.devnull))))
    triton = EmbeddedTriton(repository, model_control="explicit", server=default_kind(), log=log)
    stack.enter_context(started(triton, as_line=True))
    client = stack.enter_context(embedded_client(triton, timeout, schemes))
    backend = Backend(client, "embedded", client.url, triton.metrics_url, status, scheme)
    return backend, Supervisor(triton, status)


def open_sources(
    stack: ExitStack,
    backend: "Backend",
    cameras: Path | None,
    plan: "WatchPlan",
    events: Path | None,
    pictures: Path | None,
    watch_lists: Sequence[Path],
    sure: float | None,
) -> "Sources":
    """Open what the page shows besides uploads; cameras without an event store get their own."""
    from plate_nets.web.cameras import CameraRoom
    from plate_nets.web.lists import ListKeeper
    from plate_nets.web.parts import Sources
    from plate_nets.web.store import EventStore

    if sure is not None:
        plan = replace(plan, sure=sure)
    if plan.hash:
        raise InputError(f"{cameras}: hash: expected false, because the page shows texts")
    paths = [*plan.watch_lists, *watch_lists]
    lists = ListKeeper(paths) if paths else None
    folder = pictures or plan.pictures
    path = events or (_EVENTS if cameras else None)
    if path is None:
        return Sources(lists=lists)
    store = EventStore(path)
    stack.callback(store.close)
    if not cameras:
        return Sources(store, folder, lists=lists)
    listed = lists.watch_lists() if lists else ()
    room = CameraRoom(replace(plan, pictures=folder), path, backend.reader, listed, backend.scheme)
    return Sources(store, folder, stack.enter_context(room), lists)


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read tokens from a file, one per line; empty lines and lines that begin with # are ignored.

    Raises:
        InputError: there is no token in it.
    """
    lines = [line.strip() for line in read_secret(path).splitlines()]
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise InputError(f"--token-file {path}: no token found; write one per line")
    return tokens
