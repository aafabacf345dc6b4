"""Watch lists that you can view and change on the page while cameras match against them; their files stay CSV."""

import asyncio
import csv
import io
import json
import threading
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plate_nets.cameras.watch_lists import (
    COLUMNS,
    WatchList,
    entry_fault,
    load_watch_list,
    normalize,
)
from plate_nets.common.atomic_files import write_whole
from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import read_table
from plate_nets.common.spreadsheet import plain_cell, safe_cell
from plate_nets.web import bodies
from plate_nets.web.faults import Refused
from plate_nets.web.uploads import Uploads

_MOST = 8 << 20
"""Bytes of an imported table: 250,000 entries."""

Row = Mapping[str, str]
"""The cells of a table's row by column."""


class Entries(Mapping[str, str]):
    """Plates and their labels. They are replaced as a whole, so an iteration in progress keeps the old ones."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._now = dict(entries)

    def replace(self, entries: Mapping[str, str]) -> None:
        """Use these entries from now on."""
        self._now = dict(entries)

    def __getitem__(self, plate: str) -> str:
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
        for path in paths:
            loaded = load_watch_list(path)
            if loaded.name in self._paths:
                raise InputError(
                    f"watch list {loaded.name}: expected different names, got this one twice; rename a file"
                )
            self._paths[loaded.name] = path
            self._entries[loaded.name] = Entries(loaded.entries)

    def watch_lists(self) -> tuple[WatchList, ...]:
        """The lists for a watcher; changes on the page apply to them."""
        return tuple(WatchList(name, entries) for name, entries in self._entries.items())

    def all(self) -> dict[str, dict[str, str]]:
        """Every list by name."""
        return {name: dict(entries) for name, entries in self._entries.items()}

    def change(self, name: str, *, put: Mapping[str, str] | None = None, remove: str = "", whole: bool = False) -> None:
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


def merged(rows: Iterable[Row], before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Row]:
    """The rows of a file with the entries ``before`` -> with the entries ``now``. Rows without an entry stay."""
    left = dict(now)
    for row in rows:
        plate = normalize(row["plate"])
        if plate in now:
            yield {**row, "label": left.pop(plate, row["label"])}
        elif plate not in before:
            yield row
    yield from ({"plate": plate, "label": label} for plate, label in left.items())


def as_csv(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> str:
    """Rows -> a table; missing cells are empty."""
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


class ListApi:
    """The endpoints of watch lists."""

    def __init__(self, lists: ListKeeper, uploads: Uploads) -> None:
        self._lists = lists
        self._uploads = uploads

    def routes(self) -> list[Route]:
        """The routes of these endpoints."""
        return [
            Route("/api/v1/lists", self.all),
            Route("/api/v1/lists/{name}.csv", self.table, methods=["GET", "POST", "PUT"]),
            Route("/api/v1/lists/{name}/entries", self.add, methods=["POST"]),
            Route("/api/v1/lists/{name}/entries/{plate}", self.remove, methods=["DELETE"]),
        ]

    async def all(self, request: Request) -> Response:
        """Every list with its entries."""
        return Response(await asyncio.to_thread(self._as_json), media_type="application/json")

    async def add(self, request: Request) -> Response:
        """Add an entry, or change its label."""
        entry = await self._uploads.document(request, bodies.Entry)
        plate, label = normalize(entry.plate), plain_cell(" ".join(entry.label.split()))
        if fault := entry_fault(plate, label):
            raise InputError(f"entry: {fault}")
        await self._change(request, put={plate: label})
        return JSONResponse({"plate": plate, "label": label}, 201)

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
            loaded = await asyncio.to_thread(load_watch_list, body, name)
            if loaded.faults and not loaded.entries:
                raise InputError(loaded.faults[0])
            await self._change(request, put=loaded.entries, whole=request.method == "PUT")
            return JSONResponse({"added": len(loaded.entries), "faults": loaded.faults[:100]})
        headers = {"Content-Disposition": f'attachment; filename="{file_name(name)}.csv"'}
        rows = (dict(zip(COLUMNS, map(safe_cell, entry), strict=True)) for entry in entries.items())
        return Response(await asyncio.to_thread(as_csv, rows), media_type="text/csv", headers=headers)

    def _as_json(self) -> str:
        lists = [{"name": name, "entries": entries} for name, entries in self._lists.all().items()]
        # In parts, because Python runs nothing else while it encodes all at once
        return "".join(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).iterencode({"lists": lists}))

    async def _change(self, request: Request, **change: Any) -> None:
        await asyncio.to_thread(self._lists.change, request.path_params["name"], **change)


def file_name(name: str) -> str:
    """A list's name -> a safe file name."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in name)
