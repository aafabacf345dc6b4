"""The HTTP API for watch lists: their entries, tables, and which entries are near a text."""

import asyncio
import json
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from plate_nets.cameras.list_entries import LIMITS, ListEntry, check_plate
from plate_nets.cameras.watch_lists import load_watch_list, near_entries
from plate_nets.common.errors import InputError
from plate_nets.common.spelling import normalize
from plate_nets.common.spreadsheet import safe_cell
from plate_nets.web import bodies
from plate_nets.web.lists import ListKeeper, as_csv
from plate_nets.web.parts import JsonRoute, Sources, TheBackend, TheLists, TheSources, TheUploads

_MOST = 8 << 20
"""Bytes of an imported table: 250,000 entries."""
_NEAR = 100
"""Maximum number of near entries in an answer."""
_TABLE = bodies.takes({"text/csv": bodies.BINARY})

router = APIRouter(prefix="/api/v1/lists", tags=["watch lists"], route_class=JsonRoute)


@router.get("")
async def watch_lists(lists: TheLists) -> Response:
    """The watch lists: labels and limits by plate."""
    return Response(await asyncio.to_thread(_as_json, lists), media_type="application/json")


@router.get("/{name}.csv", response_class=Response, responses=bodies.gives("text/csv"))
async def list_as_table(lists: TheLists, name: str) -> Response:
    """The list as CSV, with an apostrophe before labels that a spreadsheet would compute."""
    rows = (
        {name: safe_cell(cell) for name, cell in {"plate": plate, **entry.cells()}.items()}
        for plate, entry in lists.get(name).items()
    )
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}.csv"}
    return Response(await asyncio.to_thread(as_csv, rows), media_type="text/csv", headers=headers)


@router.post("/{name}.csv", openapi_extra=_TABLE, summary="Add the entries of a table")
@router.put("/{name}.csv", openapi_extra=_TABLE, summary="Replace all entries by those of a table")
async def read_table(request: Request, uploads: TheUploads, lists: TheLists, name: str) -> dict[str, Any]:
    """The header has the columns plate and label, and may have valid_from, valid_until, hours and cameras.

    Faulty rows are skipped, and named in the answer.
    """
    adds, entries = request.method == "POST", lists.get(name)
    body = await uploads.text(request, _MOST)
    loaded = await asyncio.to_thread(load_watch_list, body, name, entries if adds else None)
    if loaded.faults and not loaded.entries:
        raise InputError(loaded.faults[0])
    await asyncio.to_thread(lists.change, name, put=loaded.entries, whole=not adds)
    return {"added": len(loaded.entries), "faults": loaded.faults[:100]}


@router.post("/{name}/entries", status_code=201, response_model=bodies.StoredEntry)
async def put_entry(lists: TheLists, sources: TheSources, name: str, given: bodies.Entry) -> Response:
    """Add an entry, or change one."""
    plate = normalize(given.plate)
    before = lists.get(name).get(plate, ListEntry())
    try:
        check_plate(plate)
        entry = before.changed({**_cells(given), "label": " ".join(given.label.split())})
    except InputError as error:
        raise InputError(f"entry: {error}") from error
    await asyncio.to_thread(lists.change, name, put={plate: entry})
    warning = await asyncio.to_thread(_warning, entry, sources)
    return JSONResponse({**_fields(plate, entry), "warning": warning}, 201)


@router.get("/{name}/near", response_model=bodies.Near)
async def entries_near_text(
    lists: TheLists, backend: TheBackend, name: str, text: Annotated[str, Query(description="of a plate")]
) -> Response:
    """The 100 nearest entries that a text may be a misreading of, and whether they match a car with it."""
    entries, text = lists.get(name), normalize(text[:64])
    if not text:
        raise InputError("text: expected the text of a plate")
    found = await asyncio.to_thread(near_entries, entries, text, backend.scheme)
    near = [
        {**_fields(each.plate, each.entry), "distance": each.distance, "probability": each.probability}
        for each in found[:_NEAR]
    ]
    return JSONResponse({"text": text, "entries": near})


@router.delete("/{name}/entries/{plate}", status_code=204, response_class=Response)
async def remove_entry(lists: TheLists, name: str, plate: str) -> None:
    """Remove an entry, if it is there."""
    await asyncio.to_thread(lists.change, name, remove=normalize(plate))


def _as_json(keeper: ListKeeper) -> str:
    lists = [
        {
            "name": name,
            "entries": {plate: entry.label for plate, entry in entries.items()},
            "limits": {plate: limits for plate, entry in entries.items() if (limits := _limits(entry))},
        }
        for name, entries in keeper.all().items()
    ]
    # In parts, because Python runs nothing else while it encodes all at once
    return "".join(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).iterencode({"lists": lists}))


def _warning(entry: ListEntry, sources: Sources) -> str:
    known = sources.camera_ids() if entry.cameras else ()
    unknown = [name for name in entry.cameras if name not in known]
    return f"cameras: {', '.join(unknown)}: unknown; this entry matches there when they exist" if unknown else ""


def _cells(given: bodies.Entry) -> dict[str, str]:
    """The limits that a request names -> cells of a table."""
    named = given.model_dump(include=set(LIMITS), exclude_unset=True)
    return {name: " ".join(value) if isinstance(value, list) else value or "" for name, value in named.items()}


def _limits(entry: ListEntry) -> dict[str, Any]:
    cells = entry.cells()
    limits: dict[str, Any] = {name: cells[name] for name in LIMITS if cells[name]}
    return limits | ({"cameras": list(entry.cameras)} if entry.cameras else {})


def _fields(plate: str, entry: ListEntry) -> dict[str, Any]:
    """An entry as the fields of `bodies.Entry`; one from a file may be longer than a request may be."""
    return {"plate": plate, "label": entry.label, **dict.fromkeys(LIMITS), **_limits(entry)}
