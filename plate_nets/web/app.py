"""The application: every endpoint behind the guard."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import metadata
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from plate_nets.common.error_codes import NOT_FOUND, WRONG_METHOD
from plate_nets.common.errors import InputError, PlateError
from plate_nets.web import (
    api,
    bodies,
    camera_api,
    codeproject,
    event_api,
    health_api,
    list_api,
    pages,
    plate_recognizer,
    report_api,
    video_api,
)
from plate_nets.web.access import Access
from plate_nets.web.cameras import CameraRoom
from plate_nets.web.faults import Refused, invalid
from plate_nets.web.fetch import PictureFetcher
from plate_nets.web.guard import Guard, answer_error
from plate_nets.web.health import Backend, Facts, Health
from plate_nets.web.inbox import Inbox
from plate_nets.web.lists import ListKeeper
from plate_nets.web.metrics import WebMetrics
from plate_nets.web.parts import TOKEN, Sources
from plate_nets.web.reading import PictureReader
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventStore
from plate_nets.web.tail import EventTail
from plate_nets.web.uploads import Uploads

_OURS = {"dependencies": [TOKEN], "responses": bodies.FAILURES}
_OTHERS = {"dependencies": [TOKEN]}
"""The formats of other products, errors included."""
ROUTERS: Sequence[tuple[APIRouter, dict[str, Any]]] = (
    *((each.router, _OURS) for each in (api, video_api, event_api, list_api, camera_api, report_api)),
    *((each.router, _OTHERS) for each in (plate_recognizer, codeproject)),
    (health_api.router, {"responses": bodies.FAILURES}),
    (pages.router, {}),
)
"""All routes, and how they are included."""


def create_app(backend: Backend, settings: WebSettings, sources: Sources = Sources()) -> ASGIApp:
    access = Access(settings)
    metrics = WebMetrics()
    reader = PictureReader(backend.reader, settings.limits, settings.workers, settings.waiting, backend.scheme)
    metrics.watch("waiting", "Pictures in progress or waiting", lambda: reader.unfinished)
    more: list[Callable[[], Facts]] = [lambda: {"web": metrics.facts()}]
    if sources.cameras is not None:
        more.append(sources.cameras.facts)
    tail = EventTail(sources.store, settings.streams) if sources.store else None
    if tail is not None:
        metrics.watch("streams", "Open streams of events", lambda: tail.readers)
    inbox = Inbox(sources.store.path, sources.pictures, sources.cameras, sources.lists) if sources.store else None
    health = Health(backend, more)
    uploads = Uploads(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if tail is not None:
                await tail.close()
            if inbox is not None:
                inbox.close()
            reader.close()
            health.close()

    app = _routed(lifespan)
    app.state.parts = {
        Access: access,
        Backend: backend,
        CameraRoom: sources.cameras,
        EventStore: sources.store,
        EventTail: tail,
        Health: health,
        Inbox: inbox,
        ListKeeper: sources.lists,
        Sources: sources,
        Uploads: uploads,
        WebMetrics: metrics,
        api.Desk: api.Desk(access, reader, PictureFetcher(settings.allowed_urls, settings.limits.max_bytes), metrics),
        pages.Pages: pages.Pages(access, sources),
        video_api.Videos: video_api.Videos(access, backend.reader, backend.scheme, uploads),
    }
    return Guard(app, access)


def _routed(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    app = FastAPI(
        title="plate-nets",
        version=metadata.version("plate-nets"),
        license_info={"name": "AGPL-3.0-or-later"},
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        exception_handlers=dict.fromkeys((PlateError, HTTPException, RequestValidationError, Exception), _error),
        lifespan=lifespan,
    )
    for router, how in ROUTERS:
        app.include_router(router, **how)
    for path, files in pages.STATIC.items():
        app.mount(path, files)
    return app


async def _error(request: Request, error: Exception) -> Response:
    """Answer our errors, those of FastAPI and Starlette, and internal errors, which uvicorn logs."""
    if isinstance(error, RequestValidationError):
        error = invalid(error.errors())
    if isinstance(error, HTTPException):
        error = {
            404: Refused(NOT_FOUND, "address: nothing found here"),
            405: Refused(WRONG_METHOD, "method: not allowed at this address"),
        }.get(error.status_code, InputError(str(error.detail)))
    return answer_error(request, error)
