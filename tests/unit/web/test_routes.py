"""What holds for every route."""

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from plate_nets.web import (
    api,
    camera_api,
    codeproject,
    event_api,
    health_api,
    list_api,
    pages,
    plate_recognizer,
    video_api,
)
from plate_nets.web.parts import JsonRoute

ROUTERS = [
    each.router
    for each in (
        api,
        camera_api,
        codeproject,
        event_api,
        health_api,
        list_api,
        pages,
        plate_recognizer,
        video_api,
    )
]


@pytest.mark.parametrize("router", ROUTERS, ids=lambda router: str(router.tags))
def test_no_body_is_read_without_limits(router: APIRouter) -> None:
    routes = [each for each in router.routes if isinstance(each, APIRoute)]
    assert routes and all(each.body_field is None or isinstance(each, JsonRoute) for each in routes)
