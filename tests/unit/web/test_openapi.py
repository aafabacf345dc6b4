"""The OpenAPI document names every request that the application answers."""

from pathlib import Path
from typing import Any

from starlette.routing import Route

from plate_nets.client import PlateClient
from plate_nets.web.app import Sources, create_app
from plate_nets.web.cameras import CameraRoom
from plate_nets.web.health import Backend
from plate_nets.web.lists import ListKeeper
from plate_nets.web.openapi import document
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventStore

PAGES = {
    *("GET /", "GET /try", "GET /live", "GET /lists", "GET /login", "POST /login", "POST /logout"),
    *("GET /sample.jpg", "GET /api/docs", "GET /api/openapi.json"),
}
"""For people in a browser."""


def test_every_route_is_documented_or_a_page(tmp_path: Path) -> None:
    store = EventStore(tmp_path / "events.sqlite")
    cameras = CameraRoom.__new__(CameraRoom)  # watches nothing
    with PlateClient("127.0.0.1:1") as reader:
        sources = Sources(store, cameras=cameras, lists=ListKeeper(()))
        app: Any = create_app(Backend(reader, "server"), WebSettings(), sources)
    store.close()
    routes = [each for each in app._app.routes if isinstance(each, Route)]
    answered = {f"{method} {each.path}" for each in routes for method in (each.methods or set()) - {"HEAD"}}
    paths = document("1.0.0")["paths"].items()
    documented = {f"{method.upper()} {path}" for path, methods in paths for method in methods}
    assert answered == documented | PAGES
