"""What the routes share: the objects behind them, which `create_app` makes, and the kinds of their parameters."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator
from starlette.types import Message

from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.recognition.reader import check_sure
from plate_nets.web.access import Access
from plate_nets.web.cameras import CameraRoom
from plate_nets.web.faults import Refused
from plate_nets.web.health import Backend, Health
from plate_nets.web.inbox import Inbox
from plate_nets.web.lists import ListKeeper
from plate_nets.web.metrics import WebMetrics
from plate_nets.web.store import EventStore
from plate_nets.web.tail import EventTail
from plate_nets.web.uploads import Uploads

_TRUE = ("1", "true", "yes")


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


def part(kind: type[Any], missing: str = "") -> Any:
    """A dependency on the application's object of a type; ``missing`` is the error without one."""

    async def find(request: Request) -> Any:  # FastAPI would call a plain function in a thread
        found = request.app.state.parts[kind]
        if found is None:
            raise Refused(NOT_FOUND, missing)
        return found

    return Depends(find)


_NO_EVENTS = "events: not available; start `plates web` with --events or --cameras"
EVENTS = part(EventStore, _NO_EVENTS)
LISTS = part(ListKeeper, "lists: not available; start `plates web` with --watch-list")
CAMERAS = part(CameraRoom, "cameras: not available; start `plates web` with --cameras")

TheAccess = Annotated[Access, part(Access)]
TheBackend = Annotated[Backend, part(Backend)]
TheHealth = Annotated[Health, part(Health)]
TheMetrics = Annotated[WebMetrics, part(WebMetrics)]
TheSources = Annotated[Sources, part(Sources)]
TheInbox = Annotated[Inbox, part(Inbox, _NO_EVENTS)]
TheUploads = Annotated[Uploads, part(Uploads)]
TheStore = Annotated[EventStore, EVENTS]
TheTail = Annotated[EventTail, part(EventTail, _NO_EVENTS)]
TheLists = Annotated[ListKeeper, LISTS]
TheCameras = Annotated[CameraRoom, CAMERAS]

TOKEN = Depends(HTTPBearer(scheme_name="token", auto_error=False))
"""Says in the document that a route needs a token; `Guard` checks it."""

Sure = Annotated[
    float | None,
    BeforeValidator(check_sure),
    Query(description="minimum probability of a text, 0 to 1; default 0.8, of the events of a video 0.99"),
]
Flag = Annotated[bool, BeforeValidator(lambda value: str(value).lower() in _TRUE)]
"""True, or anything else as false."""


class JsonRoute(APIRoute):
    """A route whose body `Uploads` receives within its limits, before FastAPI checks it as the JSON of a model."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def limited(request: Request) -> Response:
            uploads: Uploads = request.app.state.parts[Uploads]
            body = await uploads.text(request)

            async def whole() -> Message:
                return {"type": "http.request", "body": body}

            # It is read as JSON, whatever the sender calls it
            headers = {**dict(request.scope["headers"]), b"content-type": b"application/json"}
            return await handle(Request({**request.scope, "headers": [*headers.items()]}, whole))

        return limited
