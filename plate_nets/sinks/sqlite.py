"""The event store: an SQLite file with a row an event, which the page of `plates web` reads."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from plate_nets.errors import InputError, SinkError
from plate_nets.sinks.base import Record, Sink

VERSION = 1
"""Of the schema, in the file's ``user_version``."""

SCHEMA = """
CREATE TABLE events (
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
CREATE INDEX events_by_time     ON events (timestamp, id);
CREATE INDEX events_by_camera   ON events (camera_id, timestamp, id);
CREATE INDEX events_by_plate    ON events (plate, timestamp, id);
CREATE INDEX events_by_sequence ON events (sequence);
CREATE INDEX events_on_lists    ON events (timestamp, id) WHERE lists <> '[]';
"""
"""``timestamp`` is the event's own text, always of one length and in UTC, so that the text's order is that of time;
``sequence`` grows with every change of a row; ``lists`` is a JSON array of the watch lists that matched."""


def create(database: sqlite3.Connection) -> None:
    """Make the table where it is not there.

    Raises:
        InputError: there is one of another version.
    """
    ((version,),) = database.execute("PRAGMA user_version")
    if version == 0:
        database.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
    elif version != VERSION:
        raise InputError(f"event store: expected version {VERSION}, got {version}")


class SqliteSink(Sink):
    """Keeps the last record of each event; one that another event supersedes is deleted.

    Args:
        keep_days: events that are older when later ones come are deleted; None: none.
    """

    batch = 1000

    def __init__(self, path: Path, keep_days: float | None = None) -> None:
        try:
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            create(self._database)
        except sqlite3.Error as error:
            raise InputError(f"{path}: {error}") from error
        self._path = path
        self._keep = None if keep_days is None else timedelta(days=keep_days)

    def send(self, records: Sequence[Record]) -> None:
        try:
            with self._database:
                self._database.execute("BEGIN")
                self._database.executemany(
                    "INSERT INTO events VALUES (:id, :revision, :sequence, :stage, :camera_id, :timestamp, :plate,"
                    " :reading, :score, :lists, :document) ON CONFLICT (id) DO UPDATE SET"
                    " revision = excluded.revision, sequence = excluded.sequence, stage = excluded.stage,"
                    " timestamp = excluded.timestamp, plate = excluded.plate, reading = excluded.reading,"
                    " score = excluded.score, lists = excluded.lists, document = excluded.document"
                    " WHERE excluded.revision > events.revision",
                    map(_row, records),
                )
                self._database.executemany(
                    "DELETE FROM events WHERE id = ?",
                    [(record.event["supersedes"],) for record in records if record.event["supersedes"]],
                )
                if self._keep is not None:
                    oldest = (datetime.now(UTC) - self._keep).isoformat(timespec="milliseconds")
                    self._database.execute("DELETE FROM events WHERE timestamp < ?", (oldest,))
        except sqlite3.Error as error:
            raise SinkError(f"{self._path}: {error}") from error

    def close(self) -> None:
        self._database.close()


def _row(record: Record) -> dict[str, object]:
    event = record.event
    columns = ("id", "revision", "stage", "camera_id", "timestamp", "plate", "reading", "score")
    lists = json.dumps(sorted({match["list"] for match in event["watch"]}), ensure_ascii=False)
    return {name: event[name] for name in columns} | {
        "sequence": record.sequence,
        "lists": lists,
        "document": record.document,
    }
