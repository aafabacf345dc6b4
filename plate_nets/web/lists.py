"""Watch lists that you can view and change on the page while cameras match against them; their files stay CSV."""

import asyncio
import csv
import io
import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plate_nets.cameras.list_entries import COLUMNS, LIMITS, ListEntry, check_plate, normalize
from plate_nets.cameras.watch_lists import WatchList, load_watch_list, near_entries
from plate_nets.common.atomic_files import write_whole
from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import read_table
from plate_nets.common.spreadsheet import safe_cell
from plate_nets.countries import PlateScheme
from plate_nets.web import bodies
from plate_nets.web.faults import Refused
from plate_nets.web.uploads import Uploads

_MOST = 8 << 20
"""Bytes of an imported table: 250,000 entries."""
_NEAR = 100
"""Maximum number of near entries in an answer."""

Row = Mapping[str, str]
"""The cells of a table's row by column."""


class Entries(Mapping[str, ListEntry]):
    """Entries by plate. They are replaced as a whole, so an iteration in progress keeps the old ones."""

    def __init__(self, entries: Mapping[str, ListEntry]) -> None:
        self._now = dict(entries)

    def replace(self, entries: Mapping[str, ListEntry]) -> None:
        """Use these entries from now on."""
        self._now = dict(entries)

    def __getitem__(self, plate: str) -> ListEntry:
        return self._now[plate]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)

    def keys(self) -> KeysView[str]:
        """The present keys."""
        return self._now.keys()


class ListKeeper:
    """Watch lists from files; each change is first written to its file.

    Raises:
        InputError: a file is not a watch list, or two have the same name.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._lock = threading.Lock()
        self._paths: dict[str, Path] = {}
        self._entries: dict[str, Entries] = {}
        self._faults: dict[str, tuple[str, ...]] = {}
        """Of the files when they were loaded."""
        for path in paths:
            loaded = load_watch_list(path)
            if loaded.name in self._paths:
                raise InputError(
                    f"watch list {loaded.name}: expected different names, got this one twice; rename a file"
                )
            self._paths[loaded.name] = path
            self._entries[loaded.name] = Entries(loaded.entries)
            self._faults[loaded.name] = loaded.faults

    def watch_lists(self) -> tuple[WatchList, ...]:
        """The lists for a watcher; changes on the page apply to them."""
        return tuple(WatchList(name, entries, self._faults[name]) for name, entries in self._entries.items())

    def all(self) -> dict[str, dict[str, ListEntry]]:
        """Every list by name."""
        return {name: dict(entries) for name, entries in self._entries.items()}

    def change(
        self, name: str, *, put: Mapping[str, ListEntry] | None = None, remove: str = "", whole: bool = False
    ) -> None:
        """Add entries or remove one; the file keeps its other columns and rows. With ``whole``, ``put`` replaces all.

        Raises:
            Refused: no such list.
            InputError: its file is no longer a watch list.
            OSError: its file cannot be written.
        """
        with self._lock:
            now = ({} if whole else dict(self.get(name))) | dict(put or {})
            now.pop(remove, None)
            path = self._paths[name]
            rows = [] if whole or not path.exists() else [row for _, row in read_table(path, COLUMNS)]
            table = as_csv(merged(rows, self._entries[name], now), [*rows[0]] if rows else COLUMNS)
            write_whole(path, table.encode())
            self._entries[name].replace(now)

    def get(self, name: str) -> Entries:
        """Return a list by name. Raises Refused if there is none."""
        if name not in self._entries:
            raise Refused(NOT_FOUND, "list: no list with this name")
        return self._entries[name]


def merged(rows: Iterable[Row], before: Collection[str], now: Mapping[str, ListEntry]) -> Iterator[Row]:
    """The rows of a file with entries of the plates ``before`` -> with those of ``now``. Rows without an entry stay."""
    left = dict(now)
    for row in rows:
        plate = normalize(row["plate"])
        if plate in now:
            yield {**row, **(left.pop(plate).cells() if plate in left else {})}
        elif plate not in before:
            yield row
    yield from ({"plate": plate, **entry.cells()} for plate, entry in left.items())


def as_csv(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> str:
    """Rows -> a table with these columns and those of limits that are used; missing cells are empty."""
    rows = list(rows)
    used = [name for name in LIMITS if name not in columns and any(row.get(name) for row in rows)]
    text = io.StringIO()
    table = csv.DictWriter(text, [*columns, *used], extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


class ListApi:
    """The endpoints of watch lists.

    Args:
        lists: the lists.
        uploads: receives entries and tables.
        scheme: what is read.
        cameras: the ids of all cameras that are known.
    """

    def __init__(
        self, lists: ListKeeper, uploads: Uploads, scheme: PlateScheme, cameras: Callable[[], Collection[str]]
    ) -> None:
        self._lists = lists
        self._uploads = uploads
        self._scheme = scheme
        self._cameras = cameras

    def routes(self) -> list[Route]:
        """The routes of these endpoints."""
        return [
            Route("/api/v1/lists", self.all),
            Route("/api/v1/lists/{name}.csv", self.table, methods=["GET", "POST", "PUT"]),
            Route("/api/v1/lists/{name}/entries", self.add, methods=["POST"]),
            Route("/api/v1/lists/{name}/near", self.near),
            Route("/api/v1/lists/{name}/entries/{plate}", self.remove, methods=["DELETE"]),
        ]

    async def all(self, request: Request) -> Response:
        """Every list with its entries."""
        return Response(await asyncio.to_thread(self._as_json), media_type="application/json")

    async def add(self, request: Request) -> Response:
        """Add an entry, or change one."""
        given = await self._uploads.document(request, bodies.Entry)
        plate = normalize(given.plate)
        before = self._lists.get(request.path_params["name"]).get(plate, ListEntry())
        try:
            check_plate(plate)
            entry = before.changed({**_cells(given), "label": " ".join(given.label.split())})
        except InputError as error:
            raise InputError(f"entry: {error}") from error
        await self._change(request, put={plate: entry})
        warning = await asyncio.to_thread(self._warning, entry)
        return JSONResponse({**_fields(plate, entry), "warning": warning}, 201)

    def _warning(self, entry: ListEntry) -> str:
        known = self._cameras() if entry.cameras else ()
        unknown = [name for name in entry.cameras if name not in known]
        return f"cameras: {', '.join(unknown)}: unknown; this entry matches there when they exist" if unknown else ""

    async def near(self, request: Request) -> Response:
        """The entries that a text may be a misreading of, and when they match a car with it."""
        text = normalize(request.query_params.get("text", "")[:64])
        entries = self._lists.get(request.path_params["name"])
        if not text:
            raise InputError("text: expected the text of a plate")
        found = await asyncio.to_thread(near_entries, entries, text, self._scheme)
        near = [
            {**_fields(each.plate, each.entry), "distance": each.distance, "probability": each.probability}
            for each in found[:_NEAR]
        ]
        return JSONResponse({"text": text, "entries": near})

    async def remove(self, request: Request) -> Response:
        """Remove an entry."""
        await self._change(request, remove=normalize(request.path_params["plate"]))
        return Response(status_code=204)

    async def table(self, request: Request) -> Response:
        """The list as CSV that is safe in a spreadsheet.

        PUT replaces its entries with those of a table, POST adds them; faulty rows are skipped.
        """
        name = request.path_params["name"]
        entries = self._lists.get(name)
        if request.method in ("POST", "PUT"):
            body = await self._uploads.text(request, _MOST)
            adds = request.method == "POST"
            loaded = await asyncio.to_thread(load_watch_list, body, name, entries if adds else None)
            if loaded.faults and not loaded.entries:
                raise InputError(loaded.faults[0])
            await self._change(request, put=loaded.entries, whole=not adds)
            return JSONResponse({"added": len(loaded.entries), "faults": loaded.faults[:100]})
        headers = {"Content-Disposition": f'attachment; filename="{file_name(name)}.csv"'}
        rows = (
            {name: safe_cell(cell) for name, cell in {"plate": plate, **entry.cells()}.items()}
            for plate, entry in entries.items()
        )
        return Response(await asyncio.to_thread(as_csv, rows), media_type="text/csv", headers=headers)

    def _as_json(self) -> str:
        lists = [
            {
                "name": name,
                "entries": {plate: entry.label for plate, entry in entries.items()},
                "limits": {plate: limits for plate, entry in entries.items() if (limits := _limits(entry))},
            }
            for name, entries in self._lists.all().items()
        ]
        # In parts, because Python runs nothing else while it encodes all at once
        return "".join(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).iterencode({"lists": lists}))

    async def _change(self, request: Request, **change: Any) -> None:
        await asyncio.to_thread(self._lists.change, request.path_params["name"], **change)


def _cells(given: bodies.Entry) -> dict[str, str]:
    """The limits that a request names -> cells of a table."""
    named = given.model_dump(include=set(LIMITS), exclude_unset=True)
    return {name: " ".join(value) if isinstance(value, list) else value or "" for name, value in named.items()}


def _limits(entry: ListEntry) -> dict[str, Any]:
    """The limits that an entry has, as JSON."""
    cells = entry.cells()
    limits: dict[str, Any] = {name: cells[name] for name in LIMITS if cells[name]}
    return limits | ({"cameras": list(entry.cameras)} if entry.cameras else {})


def _fields(plate: str, entry: ListEntry) -> dict[str, Any]:
    """An entry as the fields of `bodies.Entry`; one from a file may be longer than a request may be."""
    return {"plate": plate, "label": entry.label, **dict.fromkeys(LIMITS), **_limits(entry)}


def file_name(name: str) -> str:
    """A list's name -> a safe file name."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in name)
