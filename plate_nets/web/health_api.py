"""The HTTP API for those who watch over the server: its health, and its counters."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from plate_nets.web import bodies
from plate_nets.web.guard import wants_page
from plate_nets.web.pages import HEALTH
from plate_nets.web.parts import TOKEN, TheHealth, TheMetrics

router = APIRouter(tags=["health"])


@router.get("/health", response_model=bodies.Wellness, responses={503: {"model": bodies.Wellness}})
async def health_check(request: Request, health: TheHealth) -> Response:
    """Whether plates are being read; needs no token."""
    if wants_page(request):
        return RedirectResponse(f"/#{HEALTH}", 303)
    well = await health.is_well()
    return JSONResponse({"state": "serving" if well else "failing"}, 200 if well else 503)


@router.get("/api/v1/health", dependencies=[TOKEN])
async def health_in_detail(health: TheHealth) -> dict[str, Any]:
    """Status of the server, its models and its cameras."""
    return await health.facts()


@router.get("/metrics", dependencies=[TOKEN], response_class=Response, responses=bodies.gives("text/plain"))
async def counters(metrics: TheMetrics) -> Response:
    """Counters for Prometheus."""
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
