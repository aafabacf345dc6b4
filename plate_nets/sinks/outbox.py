"""Events on disk until every sink has them: an SQLite file with a cursor a sink."""

import contextlib
import fcntl
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from plate_nets.errors import InputError, SinkError
from plate_nets.events import PlateEvent
from plate_nets.sinks.base import Record

MAX_BYTES = 256 << 20
"""Of records that wait: some 150,000."""
_SHARE_DROPPED = 20
"""One of so many records goes at once where there is no room."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL,
    revision  INTEGER NOT NULL,
    camera_id TEXT NOT NULL,
    matches   INTEGER NOT NULL,
    final     INTEGER NOT NULL,
    document  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS records_by_id ON records (id, revision);
CREATE TABLE IF NOT EXISTS cursors (
    sink     TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    dropped  INTEGER NOT NULL DEFAULT 0
) STRICT;
"""


class Outbox:
    """Keeps events until each of its sinks has taken them; threads may share it, processes may not.

    What every sink has taken is deleted. Over ``max_bytes`` the oldest records go first that a later record of the
    same car replaces, then the oldest of all; `dropped` counts them for each sink that had not taken them.

    Args:
        path: of the SQLite file; beside it lie its write-ahead log and a lock.
        sinks: names of those that take from it. A former run's sink that is not among them is waited for no longer.
        max_bytes: of the records.

    Raises:
        InputError: the file cannot be used, or another process uses it.
    """

    def __init__(self, path: Path, sinks: Iterable[str], max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._sinks = tuple(sinks)
        self._changed = threading.Condition(threading.RLock())
        try:
            self._lock = path.with_name(f"{path.name}.lock").open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise InputError(f"outbox {path}: another process uses it") from error
        except OSError as error:
            raise InputError(f"outbox {path}: {error.strerror}") from error
        try:
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
            self._database.executemany(
                "INSERT INTO cursors (sink, sequence) VALUES (?, 0) ON CONFLICT DO NOTHING",
                [(name,) for name in self._sinks],
            )
        except sqlite3.Error as error:
            self._lock.close()
            raise InputError(f"outbox {path}: {error}") from error

    def append(self, event: PlateEvent) -> None:
        """Put an event on disk.

        Raises:
            SinkError: it cannot be written; what was written before stays.
        """
        row = (
            event.id,
            event.revision,
            event.camera_id,
            bool(event.watch),
            event.stage == "final",
            event.to_json(),
        )
        with self._changed:
            try:
                self._bound()
                self._database.execute(
                    "INSERT INTO records (id, revision, camera_id, matches, final, document) VALUES (?, ?, ?, ?, ?, ?)",
                    row,
                )
            except sqlite3.Error as error:
                raise SinkError(f"outbox {self._path}: {error}") from error
            self._changed.notify_all()

    def waiting(self, sink: str, limit: int, *, matches_only: bool = False, finals_only: bool = False) -> list[Record]:
        """The next records that a sink wants and has not taken, oldest first."""
        with self._changed:
            rows = self._database.execute(
                "SELECT sequence, id || '-' || revision, camera_id, document FROM records"
                " WHERE sequence > (SELECT sequence FROM cursors WHERE sink = ?) AND matches >= ? AND final >= ?"
                " ORDER BY sequence LIMIT ?",
                (sink, matches_only, finals_only, limit),
            )
            records = [Record(*row) for row in rows]
            if not records:  # what it does not want shall not fill the outbox
                with contextlib.suppress(sqlite3.Error):  # a full disk: then later
                    self._move(sink, "(SELECT coalesce(max(sequence), 0) FROM records)")
            return records

    def taken(self, sink: str, sequence: int) -> None:
        """A sink has all records up to this one.

        Raises:
            SinkError: that cannot be written; they will be offered again.
        """
        with self._changed:
            try:
                self._move(sink, str(sequence))
            except sqlite3.Error as error:
                raise SinkError(f"outbox {self._path}: {error}") from error

    def backlog(self, sink: str) -> int:
        """How many records a sink has not taken, those included that it does not want."""
        with self._changed:
            ((count,),) = self._database.execute(
                "SELECT count(*) FROM records WHERE sequence > (SELECT sequence FROM cursors WHERE sink = ?)", (sink,)
            )
            return int(count)

    def dropped(self, sink: str) -> int:
        """How many records a sink will never get as the outbox was full, since the file was made."""
        with self._changed:
            ((count,),) = self._database.execute("SELECT dropped FROM cursors WHERE sink = ?", (sink,))
            return int(count)

    def wait(self, sink: str, seconds: float, stop: Callable[[], bool]) -> None:
        """Until there is something for a sink, or the seconds are over, or ``stop`` says so after `wake`."""
        with self._changed:
            self._changed.wait_for(lambda: stop() or self.backlog(sink), seconds)

    def wake(self) -> None:
        """Have every `wait` look again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Let go of the file."""
        with self._changed:
            self._database.close()
            self._lock.close()

    def _move(self, sink: str, sequence: str) -> None:
        """Put a sink's cursor forward to a sequence, an SQL expression, and delete what every sink has."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute(
                f"UPDATE cursors SET sequence = max(sequence, {sequence}) WHERE sink = ?",
                (sink,),
            )
            self._database.execute(
                "DELETE FROM records WHERE sequence <="
                f" (SELECT min(sequence) FROM cursors WHERE sink IN ({', '.join('?' * len(self._sinks))}))",
                self._sinks,
            )

    def _bound(self) -> None:
        ((pages,),) = self._database.execute("PRAGMA page_count")
        ((free,),) = self._database.execute("PRAGMA freelist_count")
        ((page,),) = self._database.execute("PRAGMA page_size")
        if (pages - free) * page < self._max_bytes:
            return
        oldest = [
            sequence
            for (sequence,) in self._database.execute(
                "SELECT sequence FROM records AS record ORDER BY NOT EXISTS (SELECT 1 FROM records AS later"
                " WHERE later.id = record.id AND later.revision > record.revision), sequence"
                " LIMIT (SELECT count(*) / ? + 1 FROM records)",
                (_SHARE_DROPPED,),
            )
        ]
        marks = ", ".join("?" * len(oldest))
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute(
                "UPDATE cursors SET dropped = dropped + (SELECT count(*) FROM records"
                f" WHERE sequence > cursors.sequence AND sequence IN ({marks}))",
                oldest,
            )
            self._database.execute(f"DELETE FROM records WHERE sequence IN ({marks})", oldest)
