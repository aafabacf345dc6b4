"""The HTTP API for events: pages, tables, counts, single events, a live stream, their pictures, and corrections."""

import asyncio
import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import Field
from sse_starlette import EventSourceResponse

from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import InputError
from plate_nets.common.spelling import folded, normalize
from plate_nets.common.spreadsheet import safe_cell
from plate_nets.countries import PlateScheme
from plate_nets.events.sinks.files import COLUMNS, csv_lines, row
from plate_nets.web import bodies
from plate_nets.web.event_filter import EventFilter
from plate_nets.web.event_pictures import kept_picture
from plate_nets.web.faults import Refused
from plate_nets.web.parts import JsonRoute, TheAccess, TheBackend, TheSources, TheStore, TheTail
from plate_nets.web.store import Document

_MOST = 200
_MOST_HOURS = 7 * 24
_PING = 15
_TABLE = (*COLUMNS, "correction")
"""Columns of a search as CSV."""
_LINE = ("camera_id", "line", "direction")

router = APIRouter(prefix="/api/v1/events", tags=["events"], route_class=JsonRoute)


class Page(EventFilter):
    """A search, and which of its pages."""

    limit: int = Field(default=50, ge=1, le=_MOST)
    cursor: str = Field(default="", description="from the previous page")


Search = Annotated[EventFilter, Query()]


@router.get("")
async def find_events(store: TheStore, wanted: Annotated[Page, Query()]) -> JSONResponse:
    """A page of events, newest first, and the cursor of the next page."""
    page = await asyncio.to_thread(store.page, wanted, wanted.cursor[:128], wanted.limit)
    return JSONResponse({"events": page.events, "cursor": page.cursor})


@router.get("/stream", response_class=Response, responses=bodies.gives("text/event-stream"))
async def stream_events(
    tail: TheTail,
    store: TheStore,
    access: TheAccess,
    last_event_id: Annotated[str, Header(description="resumes a broken stream")] = "",
) -> Response:
    """Stream new events."""
    tail.check_room()
    resumes = last_event_id.isdecimal() and len(last_event_id) < 19
    after = int(last_event_id) if resumes else await asyncio.to_thread(store.last_sequence)  # before it is answered
    return EventSourceResponse(tail.events(after), ping=_PING, send_timeout=access.settings.idle)


@router.get("/table.csv", response_class=Response, responses=bodies.gives("text/csv"))
async def events_as_table(store: TheStore, wanted: Search) -> Response:
    """The newest 100,000 events of a search as CSV that is safe in a spreadsheet."""
    headers = {"Content-Disposition": 'attachment; filename="events.csv"'}
    return StreamingResponse(_table(store.newest(wanted)), media_type="text/csv", headers=headers)


@router.get("/hours")
async def events_by_hour(store: TheStore, wanted: Search) -> dict[str, list[int]]:
    """How many events fit a search in each hour from `since` until `until`, at most 7 days."""
    start, hours = _hours(wanted)
    counts = await asyncio.to_thread(store.hours, wanted, start)
    return {"counts": [counts.get(hour, 0) for hour in range(hours)]}


@router.get("/lines")
async def crossings_by_hour(store: TheStore, wanted: Search) -> dict[str, list[dict[str, Any]]]:
    """How often the cars of a search crossed each line, in each direction and hour from `since` until `until`."""
    start, hours = _hours(wanted)
    lines: dict[tuple[str, str, str], list[int]] = {}
    for camera, line, direction, hour, count in await asyncio.to_thread(store.lines, wanted, start):
        lines.setdefault((camera, line, direction), [0] * hours)[hour] = count
    return {"lines": [dict(zip(_LINE, each, strict=True)) | {"counts": counts} for each, counts in lines.items()]}


@router.get("/visits")
async def visits_of_plate(
    store: TheStore, plate: Annotated[str, Query(min_length=1, description="exactly as in its events, or its hash")]
) -> dict[str, Any]:
    """How often a plate was seen, first and last, by camera."""
    cameras = await asyncio.to_thread(store.visits, plate[:64])
    return {
        "plate": plate[:64],
        "count": sum(each["count"] for each in cameras),
        "first": min((each["first"] for each in cameras), default=None),
        "last": max((each["last"] for each in cameras), default=None),
        "cameras": cameras,
    }


@router.get("/cameras")
async def cameras_with_events(store: TheStore) -> dict[str, list[str]]:
    """The cameras that have events."""
    return {"cameras": await asyncio.to_thread(store.cameras)}


async def existing(store: TheStore, id: Annotated[str, Path()]) -> Document:
    return _existing(await asyncio.to_thread(store.get, id))


Existing = Annotated[Document, Depends(existing)]


@router.get("/{id}")
async def one_event(event: Existing) -> Document:
    """One event."""
    return event


@router.put("/{id}/correction")
async def correct_event(store: TheStore, backend: TheBackend, id: str, given: bodies.Correction) -> Document:
    """Store the true text of a plate beside the reading; a text that fits no format is stored with a warning."""
    plate = _as_read(normalize(given.plate), backend.scheme)
    if plate and not plate.isalnum():
        raise InputError("plate: expected letters and digits")
    event = _existing(await asyncio.to_thread(store.correct, id, plate))
    scheme = backend.scheme
    odd = bool(plate) and not scheme.is_plate(plate)
    known = f"the {len(scheme.members)} schemes that are read" if scheme.members else scheme.name
    warning = f"{plate} fits no format of {known}: the export leaves it out" if odd else ""
    return event | {"warning": warning}


@router.get("/{id}/{picture}.jpg", response_class=Response, responses=bodies.gives("image/jpeg"))
async def picture_of_event(
    sources: TheSources, event: Existing, picture: Annotated[str, Path(description="plate, frame or vehicle")]
) -> Response:
    """A picture of an event."""
    path = await asyncio.to_thread(kept_picture, sources.pictures, event, picture) if sources.pictures else None
    if path is None:
        raise Refused(NOT_FOUND, "picture: not stored")
    return FileResponse(path, media_type="image/jpeg")


def _as_read(plate: str, scheme: PlateScheme) -> str:
    """A normalized plate -> with the signs that its country's reader has, if another keyboard wrote them."""
    if plate.isascii() or scheme.is_plate(plate):
        return plate
    for country in scheme.members or (scheme,):
        signs = {folded(sign): sign for sign in "".join(country.signs.values())}
        if country.is_plate(text := "".join(signs.get(folded(sign), sign) for sign in plate)):
            return text
    return plate


def _hours(wanted: EventFilter) -> tuple[int, int]:
    """A search -> since when it counts, Unix seconds, and how many hours."""
    if not (wanted.since and wanted.until):
        raise InputError("since, until: expected both")
    since, until = (datetime.fromisoformat(each).timestamp() for each in (wanted.since, wanted.until))
    start = int(since)
    hours = math.ceil((until - start) / 3600)
    if until <= since or hours > _MOST_HOURS:
        raise InputError(f"until: expected a time after since, and at most {_MOST_HOURS} hours later")
    return start, hours


def _existing(event: Document | None) -> Document:
    if event is None:
        raise Refused(NOT_FOUND, "event: no event with this id")
    return event


def _table(events: Iterable[Document]) -> Iterator[str]:
    yield csv_lines(_TABLE, [{name: name for name in _TABLE}])
    for event in events:
        cells = row(event) | {"correction": event["correction"]}
        yield csv_lines(
            _TABLE, [{name: safe_cell(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}]
        )
