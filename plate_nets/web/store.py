"""The event store as the page reads it (`sinks/sqlite.py` writes it), and manual corrections beside it.

Every query walks an index in the order of its answer, or reads one for a few plates. Only a search that begins with a
wild card, or with a sign that keyboards write differently, slows down as the store grows.
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

from plate_nets.common.errors import ContractError, InputError
from plate_nets.events.sinks.sqlite import EVENT_STORE, last_sequence
from plate_nets.events.sinks.sqlite_file import SqliteFile, reason
from plate_nets.web.event_filter import WILD, Condition, EventFilter, pattern
from plate_nets.web.similar import SimilarTexts
from plate_nets.web.tables import create_tables, searched_form

_SOURCES = {
    "events.plate": "events",
    "corrections.plate": "corrections JOIN events USING (id)",
    "latin_forms.latin": "latin_forms CROSS JOIN events USING (plate)",
}
"""The columns that a text is searched in -> the tables to find its events in. ``CROSS``: in this order."""
_READERS = 4
_LONGEST = 16 << 20
"""Bytes of a text that a query may give or compute; an event has a few thousand."""
_SIMILAR = 200
"""Maximum number of texts in a fuzzy search."""
_FREQUENT = 20_000
"""Events with the same beginning of their text: one in fifty of a million."""
_EXPORTED = 100_000
"""Maximum number of events in a table: 40 MB."""
_BATCH = 200
"""Events that are read at once for a table."""

Document = dict[str, Any]


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
        self.path = path
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
        for _ in range(_READERS):
            self._readers.get().close()
        self._file.close()  # last: whoever only reads cannot remove what SQLite keeps beside the file

    def _open(self) -> list[sqlite3.Connection]:
        """Create the page's own tables -> connections for reading."""
        create_tables(self._file.database)
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
            events = self._documents(database, [place.id for place in places[:limit]])
        return EventPage(events, places[limit - 1].cursor() if len(places) > limit else "")

    def newest(self, event_filter: EventFilter) -> Iterator[Document]:
        """The events that fit a filter, newest first: all, or as many as a table may have."""
        with self._reader() as database:
            ids = [place.id for place in self._places(database, event_filter, None, _EXPORTED)]
        for start in range(0, len(ids), _BATCH):
            with self._reader() as database:  # not while the events are sent, which may be slow
                events = self._documents(database, ids[start : start + _BATCH])
            yield from events

    def visits(self, plate: str) -> list[dict[str, Any]]:
        """How often each camera saw a plate, and when first and last; most visits first.

        Its corrected text counts, or else the one that was read.
        """
        with self._reader() as database:
            rows = database.execute(
                "SELECT camera_id, count(*), min(timestamp), max(timestamp) FROM ("
                "SELECT camera_id, timestamp FROM events WHERE plate = :plate"
                " AND NOT EXISTS (SELECT 1 FROM corrections WHERE corrections.id = events.id)"
                " UNION ALL SELECT camera_id, timestamp FROM corrections JOIN events USING (id)"
                " WHERE corrections.plate = :plate) GROUP BY camera_id ORDER BY 2 DESC, 1",
                {"plate": plate},
            ).fetchall()
        return [dict(zip(("camera_id", "count", "first", "last"), row, strict=True)) for row in rows]

    def hours(self, event_filter: EventFilter, start: int) -> dict[int, int]:
        """How many events fit a filter, by the hour that begins so many hours after ``start``, in Unix seconds."""
        with self._reader() as database:
            selects = self._selects(database, event_filter)
            counted = (
                f"SELECT (strftime('%s', timestamp) - {start}) / 3600, count(*)"
                f" FROM ({' UNION '.join(select for select, _ in selects)}) GROUP BY 1"
            )
            return dict(database.execute(counted, [value for _, values in selects for value in values]).fetchall())

    def lines(self, event_filter: EventFilter, start: int) -> list[tuple[str, str, str, int, int]]:
        """How often the cars of a filter crossed each line between its times: camera, line, direction, hour, count.

        The hour is that of `hours`.
        """
        where, values = event_filter.model_copy(update={"since": "", "until": ""}).conditions()
        with self._reader() as database:
            likes, texts = self._likes(database, event_filter)
            plates = " OR ".join(map(likes.format, _SOURCES))
            counted = (
                f"SELECT camera_id, line, direction, (strftime('%s', crossed) - {start}) / 3600, count(*)"
                " FROM crossings CROSS JOIN events USING (id) LEFT JOIN corrections USING (id)"
                " LEFT JOIN latin_forms ON latin_forms.plate = events.plate"
                f" WHERE crossed >= ? AND crossed < ? AND ({plates}) AND {where}"
                " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
            )
            given = [event_filter.since, event_filter.until, *(texts * len(_SOURCES)), *values]
            return database.execute(counted, given).fetchall()

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
        with self._reader() as database:
            return last_sequence(database)

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

    def _documents(self, database: sqlite3.Connection, ids: Sequence[str]) -> list[Document]:
        """Those of the events that are still there."""
        return [event for id in ids if (event := self._document(database, id)) is not None]

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
        after, place = ("(timestamp, id) < (?, ?)", [before.timestamp, before.id]) if before else ("TRUE", [])
        found: set[tuple[str, str]] = set()
        for select, values in self._selects(database, event_filter):
            page = f"{select} AND {after} ORDER BY timestamp DESC, id DESC LIMIT ?"
            found.update(database.execute(page, [*values, *place, limit]))
        return [_Place(*each) for each in sorted(found, reverse=True)[:limit]]

    def _selects(self, database: sqlite3.Connection, event_filter: EventFilter) -> list[Condition]:
        """A filter -> queries of timestamp and id, which together give all events that fit, some of them twice."""
        where, values = event_filter.conditions()
        text = event_filter.stored_text
        if not text:
            return [(f"SELECT timestamp, id FROM events WHERE {where}", values)]
        likes, texts = self._likes(database, event_filter)
        sources = dict(_SOURCES)
        if not event_filter.distance and not set(text) & WILD:
            events = f"events INDEXED BY {'events_by_camera' if event_filter.camera else 'events_by_time'}"
            back_in_time = {
                "events.plate": events,
                "latin_forms.latin": f"{events} CROSS JOIN latin_forms USING (plate)",
            }
            for column, source in back_in_time.items():
                if self._is_frequent(database, column, likes, texts):
                    sources[column] = source
        return [
            (f"SELECT timestamp, id FROM {source} WHERE {likes.format(column)} AND {where}", [*texts, *values])
            for column, source in sources.items()
        ]

    def _likes(self, database: sqlite3.Connection, event_filter: EventFilter) -> Condition:
        """A filter's text -> the condition on a column ``{0}`` of `_SOURCES`."""
        text = event_filter.stored_text
        if not text:
            return "TRUE", []
        return self._similar_to(database, text, event_filter.distance) if event_filter.distance else pattern(text)

    def _is_frequent(self, database: sqlite3.Connection, column: str, likes: str, values: Sequence[str]) -> bool:
        """Whether so many texts fit that walking back in time finds the newest sooner than sorting all."""
        counted = f"SELECT 1 FROM {_SOURCES[column]} WHERE {likes.format(column)} LIMIT {_FREQUENT}"
        ((count,),) = database.execute(f"SELECT count(*) FROM ({counted})", values)
        return int(count) == _FREQUENT

    def _similar_to(self, database: sqlite3.Connection, text: str, distance: int) -> Condition:
        with self._similar_lock:
            self._learn(database)
            near = list(self._similar.find(text, distance, _SIMILAR))
        return f"{{0}} IN ({', '.join('?' * len(near))})", near

    def _learn(self, database: sqlite3.Connection) -> None:
        """Add the texts that came since the last call."""
        since, last = self._similar_up_to, last_sequence(database)
        if last > since:
            # Without a bound, SQLite walks the index of plates, far faster than the table
            bound = "WHERE sequence > ?" if since else "WHERE ? = 0"
            read = [plate for (plate,) in database.execute(f"SELECT DISTINCT plate FROM events {bound}", (since,))]
            corrected = [] if since else [plate for (plate,) in database.execute("SELECT plate FROM corrections")]
            self._similar.add([*read, *filter(None, map(searched_form, read)), *corrected])
            self._similar_up_to = last
