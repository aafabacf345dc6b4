"""The event store: an SQLite file with one row per event, which the page of `plates web` reads."""

import json
import sqlite3
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.sinks.base import Record, Sink
from plate_nets.events.sinks.sqlite_file import Kind, SqliteFile, is_full, reason, tables_of

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    id        TEXT PRIMARY KEY,
    revision  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    stage     TEXT NOT NULL,
    camera_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    plate     TEXT NOT NULL,
    reading   TEXT NOT NULL,
    score     REAL NOT NULL,
    lists     TEXT NOT NULL,
    document  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_by_time     ON events (timestamp, id);
CREATE INDEX IF NOT EXISTS events_by_camera   ON events (camera_id, timestamp, id);
CREATE INDEX IF NOT EXISTS events_by_plate    ON events (plate, timestamp, id);
CREATE INDEX IF NOT EXISTS events_by_sequence ON events (sequence);
CREATE INDEX IF NOT EXISTS events_on_lists    ON events (timestamp, id) WHERE lists <> '[]';
"""
"""``timestamp`` is the event's own text, always of one length and in UTC, so that it sorts by time. ``sequence`` grows
with every change of a row, by any process, also in a file that replaces this one. It is the time in microseconds, or
the last number plus one. ``lists`` is a JSON array of the matching watch lists."""

EVENT_STORE = Kind("event store", frozenset(("events",)), _SCHEMA, version=1)


class SqliteSink(Sink):
    """Keeps the last record of each event; an event that is superseded by another is deleted, each with its correction.

    If the disk is full at the start, the store is opened by the first record that finds room.

    Args:
        keep_days: events older than this are deleted when later ones come; None keeps all.

    Raises:
        InputError: the file cannot be used, or belongs to something else.
    """

    batch = 1000

    def __init__(self, path: Path, keep_days: float | None = None) -> None:
        self._path = path
        self._keep = None if keep_days is None else timedelta(days=keep_days)
        self._file: SqliteFile | None = None
        try:
            self._current()
        except sqlite3.Error as error:
            if not is_full(error):
                raise InputError(f"{path}: {error}") from error

    def send(self, records: Sequence[Record]) -> None:
        try:
            while True:
                file = self._current()
                self._write(file.database, records)
                file.database.execute("PRAGMA wal_checkpoint")  # so that moving the file alone moves everything
                if file.is_there:  # otherwise it was moved before, without its log
                    return
        except sqlite3.Error as error:
            raise SinkError(f"{self._path}: {reason(error)}") from error
        except OSError as error:
            raise SinkError(f"{self._path}: {error.strerror}") from error
        except InputError as error:
            raise SinkError(str(error)) from error

    def _current(self) -> SqliteFile:
        if self._file is None:
            self._file = SqliteFile(self._path, EVENT_STORE)
        elif not self._file.is_there:
            self._file.renew()
        return self._file

    def _write(self, database: sqlite3.Connection, records: Sequence[Record]) -> None:
        with database:
            database.execute("BEGIN IMMEDIATE")
            first = max(last_sequence(database) + 1, time.time_ns() // 1000)
            database.executemany(
                "INSERT INTO events VALUES (:id, :revision, :sequence, :stage, :camera_id, :timestamp, :plate,"
                " :reading, :score, :lists, :document) ON CONFLICT (id) DO UPDATE SET"
                " revision = excluded.revision, sequence = excluded.sequence, stage = excluded.stage,"
                " timestamp = excluded.timestamp, plate = excluded.plate, reading = excluded.reading,"
                " score = excluded.score, lists = excluded.lists, document = excluded.document"
                " WHERE excluded.revision > events.revision",
                (_row(record) | {"sequence": first + number} for number, record in enumerate(records)),
            )
            database.executemany(
                "DELETE FROM events WHERE id = ?",
                [(record.event["supersedes"],) for record in records if record.event["supersedes"]],
            )
            if self._keep is not None:
                oldest = (datetime.now(UTC) - self._keep).isoformat(timespec="milliseconds")
                database.execute("DELETE FROM events WHERE timestamp < ?", (oldest,))
            if "corrections" in tables_of(database):  # the page's, which may not have opened this file
                database.execute("DELETE FROM corrections WHERE id NOT IN (SELECT id FROM events)")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def last_sequence(database: sqlite3.Connection) -> int:
    """The number of the newest change in a store; 0 without any."""
    ((last,),) = database.execute("SELECT coalesce(max(sequence), 0) FROM events")
    return int(last)


def _row(record: Record) -> dict[str, object]:
    event = record.event
    columns = ("id", "revision", "stage", "camera_id", "timestamp", "plate", "reading", "score")
    lists = json.dumps(sorted({match["list"] for match in event["watch"]}), ensure_ascii=False)
    return {name: event[name] for name in columns} | {
        "lists": lists,
        "document": record.document,
    }
