"""The application: every endpoint behind the guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from plate_nets.answers import NOT_FOUND, WRONG_METHOD
from plate_nets.errors import InputError, PlateError
from plate_nets.web.access import Access
from plate_nets.web.api import PictureApi
from plate_nets.web.faults import Refused
from plate_nets.web.fetch import PictureFetcher
from plate_nets.web.guard import Guard, answer_error
from plate_nets.web.health import Backend, Health
from plate_nets.web.metrics import WebMetrics
from plate_nets.web.pages import Pages
from plate_nets.web.reading import PictureReader
from plate_nets.web.settings import WebSettings


def create_app(backend: Backend, settings: WebSettings) -> ASGIApp:
    """What reads, and the settings -> the application, as uvicorn runs it."""
    access = Access(settings)
    metrics = WebMetrics()
    reader = PictureReader(backend.reader, settings.limits, settings.workers, settings.waiting)
    metrics.watch("waiting", "Pictures that are read or wait", lambda: reader.taken)
    health = Health(backend, (lambda: {"web": metrics.facts()},))
    fetcher = PictureFetcher(settings.allowed_urls, settings.limits.max_bytes)

    async def is_well(request: Request) -> Response:
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
            reader.close()

    app = Starlette(
        routes=[
            *Pages(access, ("try", "health")).routes(),
            *PictureApi(access, reader, fetcher, metrics).routes(),
            Route("/health", is_well),
            Route("/api/v1/health", facts),
            Route("/metrics", counters),
        ],
        exception_handlers=dict.fromkeys((PlateError, HTTPException, Exception), _error),
        lifespan=lifespan,
    )
    return Guard(app, access)


async def _error(request: Request, error: Exception) -> Response:
    """Ours, Starlette's own, and faults of ours, which uvicorn logs."""
    if isinstance(error, HTTPException):
        error = {
            404: Refused(NOT_FOUND, "address: there is nothing here"),
            405: Refused(WRONG_METHOD, "method: this address takes another one"),
        }.get(error.status_code, InputError(str(error.detail)))
    return answer_error(request, error)
