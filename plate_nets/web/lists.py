"""Watch lists that you can view and change on the page while cameras match against them; their files stay CSV."""

import csv
import io
import threading
from collections import UserDict
from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from pathlib import Path

from plate_nets.cameras.list_entries import COLUMNS, LIMITS, ListEntry
from plate_nets.cameras.watch_lists import WatchList, load_watch_list
from plate_nets.common.atomic_files import write_whole
from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import read_table
from plate_nets.common.spelling import normalize
from plate_nets.web.faults import Refused

Row = Mapping[str, str]
"""The cells of a table's row by column."""


class Entries(UserDict[str, ListEntry]):
    """Entries by plate. They are replaced as a whole, so an iteration in progress keeps the old ones."""

    def replace(self, entries: Mapping[str, ListEntry]) -> None:
        self.data = dict(entries)

    def keys(self) -> KeysView[str]:
        return self.data.keys()


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
