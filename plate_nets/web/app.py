"""The application: every endpoint behind the guard."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from plate_nets.common.error_codes import NOT_FOUND, WRONG_METHOD
from plate_nets.common.errors import InputError, PlateError
from plate_nets.web.access import Access
from plate_nets.web.api import PictureApi
from plate_nets.web.cameras import CameraApi, CameraRoom
from plate_nets.web.event_api import EventApi
from plate_nets.web.faults import Refused
from plate_nets.web.fetch import PictureFetcher
from plate_nets.web.guard import Guard, answer_error, wants_page
from plate_nets.web.health import Backend, Facts, Health
from plate_nets.web.lists import ListApi, ListKeeper
from plate_nets.web.metrics import WebMetrics
from plate_nets.web.pages import HEALTH, Pages
from plate_nets.web.reading import PictureReader
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventStore
from plate_nets.web.tail import EventTail
from plate_nets.web.uploads import Uploads
from plate_nets.web.video_api import VideoApi


@dataclass(frozen=True)
class Sources:
    """What the page shows besides uploads: events of a store, cameras, watch lists; None: not available."""

    store: EventStore | None = None
    pictures: Path | None = None
    """Folder with the events' pictures."""
    cameras: CameraRoom | None = None
    lists: ListKeeper | None = None

    def camera_ids(self) -> set[str]:
        """The cameras that are watched, or that have events."""
        watched = {each.camera_id for each in self.cameras.status()} if self.cameras else set()
        return watched.union(self.store.cameras() if self.store else ())


def create_app(backend: Backend, settings: WebSettings, sources: Sources = Sources()) -> ASGIApp:
    """Build the application for uvicorn."""
    access = Access(settings)
    metrics = WebMetrics()
    reader = PictureReader(backend.reader, settings.limits, settings.workers, settings.waiting, backend.scheme)
    metrics.watch("waiting", "Pictures in progress or waiting", lambda: reader.unfinished)
    more: list[Callable[[], Facts]] = [lambda: {"web": metrics.facts()}]
    fetcher = PictureFetcher(settings.allowed_urls, settings.limits.max_bytes)
    uploads = Uploads(settings)
    routes = [
        *PictureApi(access, reader, fetcher, metrics, uploads).routes(),
        *VideoApi(access, backend.reader, backend.scheme, uploads).routes(),
    ]
    sections = ["try"]
    tail = EventTail(sources.store, settings.streams) if sources.store else None
    if sources.store is not None and tail is not None:
        metrics.watch("streams", "Open streams of events", lambda: tail.readers)
        routes += EventApi(settings, sources.store, tail, sources.pictures, backend.scheme, uploads).routes()
        sections.append("live")
    else:
        routes += _absent("events: not available; start `plates web` with --events or --cameras", "events", "live")
    if sources.lists is not None:
        routes += ListApi(sources.lists, uploads, backend.scheme, sources.camera_ids).routes()
        sections.append("lists")
    else:
        routes += _absent("lists: not available; start `plates web` with --watch-list", "lists", "lists")
    if sources.cameras is not None:
        routes += CameraApi(sources.cameras).routes()
        more.append(sources.cameras.facts)
    else:
        routes += _absent("cameras: not available; start `plates web` with --cameras", "cameras")
    health = Health(backend, more)

    async def is_well(request: Request) -> Response:
        if wants_page(request):
            return RedirectResponse(f"/#{HEALTH}", 303)
        well = await health.is_well()
        return JSONResponse({"state": "serving" if well else "failing"}, 200 if well else 503)

    async def facts(request: Request) -> Response:
        return JSONResponse(await health.facts())

    async def counters(request: Request) -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if tail is not None:
                await tail.close()
            reader.close()
            health.close()

    names = [each.name for each in sources.lists.watch_lists()] if sources.lists else ()
    pages = Pages(access, uploads, (*sections, HEALTH), with_cameras=sources.cameras is not None, lists=names)
    app = Starlette(
        routes=[
            *pages.routes(),
            *routes,
            Route("/health", is_well),
            Route("/api/v1/health", facts),
            Route("/metrics", counters),
        ],
        exception_handlers=dict.fromkeys((PlateError, HTTPException, Exception), _error),
        lifespan=lifespan,
    )
    return Guard(app, access)


def _absent(message: str, api: str, section: str = "") -> list[Route]:
    """Routes of a feature that is switched off; their error names the option that enables it."""

    async def refuse(request: Request) -> Response:
        raise Refused(NOT_FOUND, message)

    paths = [f"/api/v1/{api}", f"/api/v1/{api}/{{rest:path}}", *([f"/{section}"] if section else [])]
    return [Route(path, refuse, methods=["GET", "POST", "PUT", "DELETE"]) for path in paths]


async def _error(request: Request, error: Exception) -> Response:
    """Answer our errors, Starlette's own, and internal errors, which uvicorn logs."""
    if isinstance(error, HTTPException):
        error = {
            404: Refused(NOT_FOUND, "address: nothing found here"),
            405: Refused(WRONG_METHOD, "method: not allowed at this address"),
        }.get(error.status_code, InputError(str(error.detail)))
    return answer_error(request, error)
