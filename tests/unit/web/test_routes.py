"""What holds for every route."""

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute

from plate_nets.web.app import ROUTERS
from plate_nets.web.parts import JsonRoute


@pytest.mark.parametrize("router", [router for router, _ in ROUTERS], ids=lambda router: str(router.tags))
def test_no_body_is_read_without_limits(router: APIRouter) -> None:
    routes = [each for each in router.routes if isinstance(each, APIRoute)]
    assert routes and all(each.body_field is None or isinstance(each, JsonRoute) for each in routes)
