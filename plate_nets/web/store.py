"""The event store as the page reads it (`sinks/sqlite.py` writes it), and manual corrections beside it.

Every query walks an index in the order of its answer, or reads one for a few plates. Only a search that begins with a
wild card slows down as the store grows.
"""

import base64
import binascii
import json
import sqlite3
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from plate_nets.cameras.watch_lists import normalize
from plate_nets.common.errors import ContractError, InputError
from plate_nets.events.sinks.sqlite import EVENT_STORE
from plate_nets.events.sinks.sqlite_file import SqliteFile, reason
from plate_nets.web.similar import SimilarTexts

_OURS = """
CREATE TABLE IF NOT EXISTS corrections (
    id           TEXT PRIMARY KEY,
    plate        TEXT NOT NULL,
    corrected_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS corrections_by_plate ON corrections (plate);
"""
"""What the page adds to the store: manual corrections."""

_READERS = 4
_LONGEST = 16 << 20
"""Bytes of a text that a query may give or compute; an event has a few thousand."""
_SIMILAR = 200
"""Maximum number of texts in a fuzzy search."""
_WILD = frozenset("*?")
_FREQUENT = 20_000
"""Events with the same beginning of their text: one in fifty of a million."""
_AFTER_ALL = chr(0x10FFFF)

Document = dict[str, Any]


@dataclass(frozen=True)
class EventFilter:
    """A filter for events; empty fields match any.

    ``text``: of the plate, with the wild cards ``*`` and ``?``; without them, the beginning of the text. ``distance``:
    edits by which it may differ; above 0, wild cards have no meaning. ``since`` and ``until``: times in the store's
    format.
    """

    text: str = ""
    distance: int = 0
    camera: str = ""
    list: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class EventPage:
    """Events, newest first, and the cursor of the next page; empty if there is none."""

    events: Sequence[Document]
    cursor: str


@dataclass(frozen=True)
class _Place:
    """An event's position in the order of pages."""

    timestamp: str
    id: str

    def cursor(self) -> str:
        return base64.urlsafe_b64encode(f"{self.timestamp} {self.id}".encode()).decode().rstrip("=")

    @classmethod
    def of(cls, cursor: str) -> "_Place":
        try:
            timestamp, id = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii").split(" ")
        except (binascii.Error, ValueError) as error:
            raise InputError("cursor: expected one of an earlier page") from error
        return cls(timestamp, id)


class EventStore:
    """An SQLite file of events; threads may share it.

    Args:
        path: of the file; created if missing, for `plates watch` to write into.
        new: whether an empty file may become a new store; otherwise it is refused.

    Raises:
        InputError: it is not an event store.
    """

    def __init__(self, path: Path, *, new: bool = True) -> None:
        self._writing = threading.Lock()
        self._similar_lock = threading.Lock()
        self._similar = SimilarTexts()
        self._similar_up_to = 0
        self._readers: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        try:
            self._file = SqliteFile(path, EVENT_STORE, new=new)
            for database in self._open():
                self._readers.put(database)
        except sqlite3.Error as error:
            raise InputError(f"{path}: {reason(error)}") from error

    def close(self) -> None:
        """Close the file."""
        for _ in range(_READERS):
            self._readers.get().close()
        self._file.close()  # last: whoever only reads cannot remove what SQLite keeps beside the file

    def _open(self) -> list[sqlite3.Connection]:
        """Create the page's own tables -> connections for reading."""
        self._file.database.executescript(_OURS)
        uri = f"{self._file.path.resolve().as_uri()}?mode=ro"
        readers = [sqlite3.connect(uri, uri=True, check_same_thread=False) for _ in range(_READERS)]
        for database in readers:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        return readers

    def _follow(self) -> None:
        """If the file was moved away, continue with the one at its path."""
        if self._file.is_there:
            return
        with self._writing:
            if not self._file.is_there:
                self._file.renew()
                fresh = self._open()
                for former in [self._readers.get() for _ in fresh]:  # also those in use: wait for them
                    former.close()
                for database in fresh:
                    self._readers.put(database)

    def page(self, event_filter: EventFilter, cursor: str = "", limit: int = 50) -> EventPage:
        """Events that fit a filter, newest first, starting after a cursor.

        Raises:
            InputError: the cursor is invalid.
        """
        before = _Place.of(cursor) if cursor else None
        with self._reader() as database:
            places = self._places(database, event_filter, before, limit + 1)
            events = [self._document(database, place.id) for place in places[:limit]]
        return EventPage(
            [event for event in events if event is not None],
            places[limit - 1].cursor() if len(places) > limit else "",
        )

    def get(self, id: str) -> Document | None:
        """An event by its id, including its correction."""
        with self._reader() as database:
            return self._document(database, id)

    def since(self, sequence: int, limit: int = 100) -> tuple[int, list[tuple[int, Document]]]:
        """Events added or changed after a sequence number, each with its own number, and the number to go on from."""
        with self._reader() as database:
            rows = database.execute(
                "SELECT sequence, id FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?", (sequence, limit)
            ).fetchall()
            found = [(number, self._document(database, id)) for number, id in rows]
        events = [(number, event) for number, event in found if event is not None]
        return (rows[-1][0] if rows else sequence), events

    def last_sequence(self) -> int:
        """The highest sequence number."""
        with self._reader() as database:
            ((last,),) = database.execute("SELECT coalesce(max(sequence), 0) FROM events")
        return int(last)

    def cameras(self) -> list[str]:
        """The cameras that have events, found by one index jump per camera."""
        with self._reader() as database:
            return [
                name
                for (name,) in database.execute(
                    "WITH RECURSIVE each(name) AS (SELECT min(camera_id) FROM events UNION ALL SELECT"
                    " (SELECT min(camera_id) FROM events WHERE camera_id > name) FROM each WHERE name IS NOT NULL)"
                    " SELECT name FROM each WHERE name IS NOT NULL"
                )
            ]

    def correct(self, id: str, plate: str) -> Document | None:
        """Store the true text of a plate, or remove it with an empty one -> the event, if it exists."""
        if self.get(id) is None:
            return None
        with self._similar_lock:
            self._similar.add([plate])
        with self._writing:
            if plate:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                self._file.database.execute("INSERT OR REPLACE INTO corrections VALUES (?, ?, ?)", (id, plate, now))
            else:
                self._file.database.execute("DELETE FROM corrections WHERE id = ?", (id,))
        return self.get(id)

    def corrected(self) -> Generator[Document, None, None]:
        """Events with a correction, oldest first."""
        with self._reader() as database:
            ids = database.execute(
                "SELECT id FROM corrections JOIN events USING (id) ORDER BY timestamp, id"
            ).fetchall()
            for (id,) in ids:
                if (event := self._document(database, id)) is not None:
                    yield event

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        self._follow()
        database = self._readers.get()
        try:
            yield database
        finally:
            self._readers.put(database)

    def _document(self, database: sqlite3.Connection, id: str) -> Document | None:
        row = database.execute(
            "SELECT document, corrections.plate FROM events LEFT JOIN corrections USING (id) WHERE id = ?", (id,)
        ).fetchone()
        if row is None:
            return None
        try:
            event: Document = json.loads(row[0])
            event["correction"] = row[1]
        except (ValueError, TypeError, RecursionError) as error:
            raise ContractError(f"event {id!r}: expected JSON: {error}") from error
        return event

    def _places(
        self, database: sqlite3.Connection, event_filter: EventFilter, before: _Place | None, limit: int
    ) -> list[_Place]:
        conditions, values = _conditions(event_filter, before)
        text = normalize(event_filter.text)
        if not text:
            sources = ["events"]
            texts: tuple[str, list[str]] = ("", [])
        else:
            sources = ["events", "corrections JOIN events USING (id)"]
            texts = self._similar_to(database, text, event_filter.distance) if event_filter.distance else _pattern(text)
        if text and not event_filter.distance and not set(text) & _WILD and self._is_frequent(database, *texts):
            sources[0] = f"events INDEXED BY {'events_by_camera' if event_filter.camera else 'events_by_time'}"
        found: set[tuple[str, str]] = set()
        for source in sources:
            column = f"{source.partition(' ')[0]}.plate"
            where = " AND ".join([*([texts[0].format(column)] if text else []), *conditions]) or "TRUE"
            found.update(
                database.execute(
                    f"SELECT timestamp, id FROM {source} WHERE {where} ORDER BY timestamp DESC, id DESC LIMIT ?",
                    [*texts[1], *values, limit],
                )
            )
        return [_Place(*each) for each in sorted(found, reverse=True)[:limit]]

    def _is_frequent(self, database: sqlite3.Connection, condition: str, values: Sequence[str]) -> bool:
        """Whether so many texts fit that walking back in time finds the newest sooner than sorting all."""
        counted = f"SELECT 1 FROM events WHERE {condition.format('plate')} LIMIT {_FREQUENT}"
        ((count,),) = database.execute(f"SELECT count(*) FROM ({counted})", values)
        return int(count) == _FREQUENT

    def _similar_to(self, database: sqlite3.Connection, text: str, distance: int) -> tuple[str, list[str]]:
        with self._similar_lock:
            self._learn(database)
            near = list(self._similar.find(text, distance, _SIMILAR))
        return f"{{}} IN ({', '.join('?' * len(near))})", near

    def _learn(self, database: sqlite3.Connection) -> None:
        """Add the texts that came since the last call."""
        ((last,),) = database.execute("SELECT coalesce(max(sequence), 0) FROM events")
        since = self._similar_up_to
        if last > since:
            # Without a bound, SQLite walks the index of plates, far faster than the table
            bound = "WHERE sequence > ?" if since else "WHERE ? = 0"
            plates = database.execute(f"SELECT DISTINCT plate FROM events {bound}", (since,)).fetchall()
            if not since:
                plates += database.execute("SELECT plate FROM corrections")
            self._similar.add([plate for (plate,) in plates])
            self._similar_up_to = last


def stored_time(text: str, name: str) -> str:
    """A time in ISO 8601, in UTC without an offset -> the store's format; empty stays empty.

    Raises:
        InputError: it is not such a time.
    """
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name}: expected a time such as 2026-11-22T10:00:00Z") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{name}: expected a time of the years 1 to 9999 in UTC") from error
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _conditions(event_filter: EventFilter, before: _Place | None) -> tuple[list[str], list[str]]:
    """The filter without its text, and the position before the page -> conditions and their values."""
    given = [
        ("camera_id = ?", [event_filter.camera]),
        ("lists <> '[]' AND EXISTS (SELECT 1 FROM json_each(lists) WHERE value = ?)", [event_filter.list]),
        ("timestamp >= ?", [event_filter.since]),
        ("timestamp < ?", [event_filter.until]),
        ("(timestamp, id) < (?, ?)", [before.timestamp, before.id] if before else [""]),
    ]
    used = [(condition, values) for condition, values in given if values[0]]
    return [condition for condition, _ in used], [value for _, values in used for value in values]


def _pattern(text: str) -> tuple[str, list[str]]:
    """A text with wild cards -> a condition on a column, using the index up to the first wild card."""
    wild = next((at for at, sign in enumerate(text) if sign in _WILD), len(text))
    prefix = text[:wild]
    conditions, values = ["{0} >= ? AND {0} < ?"], [prefix, prefix + _AFTER_ALL]
    if wild < len(text):
        conditions.append("{0} GLOB ?")
        values.append(text.replace("[", "[[]"))
    return " AND ".join(conditions), values
