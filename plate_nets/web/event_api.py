"""The HTTP API for events: pages, tables, counts, single events, a live stream, their pictures, and corrections."""

import asyncio
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from plate_nets.cameras.list_entries import normalize
from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import InputError
from plate_nets.common.spreadsheet import safe_cell
from plate_nets.countries import PlateScheme
from plate_nets.events.sinks.files import COLUMNS, csv_lines, row
from plate_nets.web import bodies
from plate_nets.web.event_filter import EventFilter, stored_time
from plate_nets.web.event_pictures import kept_picture
from plate_nets.web.faults import Refused
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import Document, EventStore
from plate_nets.web.tail import EventTail
from plate_nets.web.uploads import Uploads

_MOST = 200
_MOST_HOURS = 7 * 24
_PING = 15
_TABLE = (*COLUMNS, "correction")
"""Columns of a search as CSV."""


class EventApi:
    """The endpoints of events.

    Args:
        settings: limits.
        store: the events.
        tail: the live stream.
        pictures: folder of the events' pictures, if any.
        scheme: the scheme of the plates.
        uploads: receives corrections.
    """

    def __init__(
        self,
        settings: WebSettings,
        store: EventStore,
        tail: EventTail,
        pictures: Path | None,
        scheme: PlateScheme,
        uploads: Uploads,
    ) -> None:
        self._settings = settings
        self._uploads = uploads
        self._store = store
        self._tail = tail
        self._pictures = pictures.resolve() if pictures else None
        self._scheme = scheme

    def routes(self) -> list[Route]:
        """The routes of these endpoints."""
        return [
            Route("/api/v1/events", self.events),
            Route("/api/v1/events/stream", self.stream),
            Route("/api/v1/events/table.csv", self.table),
            Route("/api/v1/events/hours", self.hours),
            Route("/api/v1/events/visits", self.visits),
            Route("/api/v1/events/cameras", self.cameras),
            Route("/api/v1/events/{id}", self.event),
            Route("/api/v1/events/{id}/correction", self.correct, methods=["PUT"]),
            Route("/api/v1/events/{id}/{picture}.jpg", self.picture),
        ]

    async def events(self, request: Request) -> Response:
        """A page of events, newest first."""
        query = request.query_params
        limit = _number(query.get("limit", "50"), "limit", 1, _MOST)
        page = await asyncio.to_thread(self._store.page, _filter(request), query.get("cursor", "")[:128], limit)
        return JSONResponse({"events": page.events, "cursor": page.cursor})

    async def table(self, request: Request) -> Response:
        """The events of a search as CSV that is safe in a spreadsheet."""
        headers = {"Content-Disposition": 'attachment; filename="events.csv"'}
        return StreamingResponse(_table(self._store.newest(_filter(request))), media_type="text/csv", headers=headers)

    async def hours(self, request: Request) -> Response:
        """How many events fit a search in each hour from `since` until `until`."""
        event_filter = _filter(request)
        if not (event_filter.since and event_filter.until):
            raise InputError("since, until: expected both")
        since, until = (datetime.fromisoformat(each).timestamp() for each in (event_filter.since, event_filter.until))
        hours = math.ceil((until - since) / 3600)
        if not 0 < hours <= _MOST_HOURS:
            raise InputError(f"until: expected a time after since, and at most {_MOST_HOURS} hours later")
        counts = await asyncio.to_thread(self._store.hours, event_filter, int(since))
        return JSONResponse({"counts": [counts.get(hour, 0) for hour in range(hours)]})

    async def visits(self, request: Request) -> Response:
        """How often a plate was seen, first and last, by camera; its text is exactly that of its events."""
        plate = request.query_params.get("plate", "")[:64]
        if not plate:
            raise InputError("plate: expected the text of an event")
        cameras = await asyncio.to_thread(self._store.visits, plate)
        return JSONResponse(
            {
                "plate": plate,
                "count": sum(each.count for each in cameras),
                "first": min((each.first for each in cameras), default=None),
                "last": max((each.last for each in cameras), default=None),
                "cameras": [asdict(each) for each in cameras],
            }
        )

    async def cameras(self, request: Request) -> Response:
        """The cameras that have events."""
        return JSONResponse({"cameras": await asyncio.to_thread(self._store.cameras)})

    async def event(self, request: Request) -> Response:
        """One event."""
        return JSONResponse(await self._event(request))

    async def correct(self, request: Request) -> Response:
        """Store the true text of a plate beside the reading; a text that fits no format is stored with a warning."""
        plate = normalize((await self._uploads.document(request, bodies.Correction)).plate)
        if plate and not (plate.isascii() and plate.isalnum()):
            raise InputError("plate: expected letters and digits")
        event = await asyncio.to_thread(self._store.correct, request.path_params["id"], plate)
        odd = bool(plate) and not self._scheme.is_plate(plate)
        warning = f"{plate} fits no format of {self._scheme.name}: the export leaves it out" if odd else ""
        return JSONResponse(_existing(event) | {"warning": warning})

    async def stream(self, request: Request) -> Response:
        """Stream new events; `Last-Event-ID` resumes a broken stream."""
        self._tail.check_room()
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isdecimal() and len(last) < 19 else None
        return EventSourceResponse(self._tail.events(after), ping=_PING, send_timeout=self._settings.idle)

    async def picture(self, request: Request) -> Response:
        """The picture of an event's plate or whole frame."""
        event = await self._event(request)
        kind = request.path_params["picture"]
        path = await asyncio.to_thread(kept_picture, self._pictures, event, kind) if self._pictures else None
        if path is None:
            raise Refused(NOT_FOUND, "picture: not stored")
        return FileResponse(path, media_type="image/jpeg")

    async def _event(self, request: Request) -> Document:
        return _existing(await asyncio.to_thread(self._store.get, request.path_params["id"]))


def _existing(event: Document | None) -> Document:
    if event is None:
        raise Refused(NOT_FOUND, "event: no event with this id")
    return event


def _filter(request: Request) -> EventFilter:
    """The filter of a search."""
    query = request.query_params
    return EventFilter(
        text=query.get("text", "")[:64],
        distance=_number(query.get("distance", "0"), "distance", 0, 2),
        camera=query.get("camera", ""),
        list=query.get("list", ""),
        since=stored_time(query.get("since", ""), "since"),
        until=stored_time(query.get("until", ""), "until"),
    )


def _table(events: Iterable[Document]) -> Iterator[str]:
    """Events -> a table, line by line."""
    yield csv_lines(_TABLE, [{name: name for name in _TABLE}])
    for event in events:
        cells = row(event) | {"correction": event["correction"]}
        yield csv_lines(
            _TABLE, [{name: safe_cell(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}]
        )


def _number(text: str, name: str, lowest: int, highest: int) -> int:
    if not (text.isdecimal() and len(text) < 6 and lowest <= int(text) <= highest):
        raise InputError(f"{name}: expected a whole number from {lowest} to {highest}")
    return int(text)
