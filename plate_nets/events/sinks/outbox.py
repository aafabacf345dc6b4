"""Keeps events on disk until every sink has them: an SQLite file with one cursor per sink."""

import contextlib
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from plate_nets.common.atomic_files import whole_file
from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks.base import Notes, Record
from plate_nets.events.sinks.outbox_file import SCHEMA, save_readable
from plate_nets.events.sinks.sqlite_file import LOGS, Kind, SqliteFile, is_damage, reason

MAX_BYTES = 256 << 20
"""Bytes of waiting records: about 150,000 records."""
_SHARE_DROPPED = 20
"""One in this many records is dropped at once when there is no room."""

_KIND = Kind("outbox", frozenset(("records", "cursors")), SCHEMA)

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Outbox:
    """Keeps events until each of its sinks has taken them; threads may share it, processes may not.

    Records that every sink has taken are deleted. Over ``max_bytes``, the oldest records that a later record of the
    same car replaces are dropped first, then the oldest of all; `dropped` counts them for each sink that missed them.

    A damaged file is renamed, and whatever is readable in it goes into a new one; so does everything in a file that
    was moved or deleted. Sinks may then get records again.

    Methods raise SinkError if the file cannot be read or written now; what is in it stays, and is offered again.

    Args:
        path: of the SQLite file; its write-ahead log and a lock lie beside it.
        sinks: names of the sinks that take from it. A sink of an earlier run that is not listed is no longer waited
            for.
        max_bytes: limit for the records.
        notice: called with a line about a file that was damaged or moved.

    Raises:
        InputError: the file cannot be used or belongs to another program, or another process uses it.
    """

    def __init__(
        self,
        path: Path,
        sinks: Iterable[str],
        max_bytes: int = MAX_BYTES,
        notice: Callable[[str], None] = _log.warning,
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._notice = notice
        self._sinks = tuple(sinks)
        self._changed = threading.Condition(threading.RLock())
        self._newest = 0
        """The highest sequence used so far: none is used twice, whatever happens to the file."""
        lock = path.with_name(f"{path.name}.lock")
        self._lock = FileLock(lock, blocking=False, thread_local=False)
        try:
            lock.touch()  # FileLock would make missing folders
            self._lock.acquire()
        except Timeout as error:
            raise InputError(f"outbox {path}: another process uses it; choose another --outbox") from error
        except OSError as error:
            raise InputError(f"outbox {path}: {error.strerror}") from error
        self._closed = False
        try:
            self._file = self._open()
            self._work(self._begin)
        except (SinkError, InputError) as error:
            self._lock.release()
            raise InputError(str(error)) from error
        except sqlite3.Error as error:
            self._lock.release()
            raise InputError(f"outbox {path}: {reason(error)}") from error

    def append(self, event: PlateEvent) -> None:
        """Store an event on disk."""
        row = (
            event.id,
            event.revision,
            event.camera_id,
            bool(event.watch),
            event.stage == "final",
            event.to_json(),
        )

        def put(database: sqlite3.Connection) -> None:
            self._bound(database)
            done = database.execute(
                "INSERT INTO records (id, revision, camera_id, matches, final, document) VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            self._newest = done.lastrowid or self._newest

        with self._changed:
            self._work(put)
            self._changed.notify_all()

    def waiting(self, sink: str, limit: int, *, matches_only: bool = False, finals_only: bool = False) -> list[Record]:
        """The next records for a sink that it has not taken, oldest first, filtered as given."""

        def read(database: sqlite3.Connection) -> list[Record]:
            rows = database.execute(
                "SELECT sequence, id || '-' || revision, camera_id, document, json_valid(document) FROM records"
                " WHERE sequence > (SELECT sequence FROM cursors WHERE sink = ?) AND matches >= ? AND final >= ?"
                " ORDER BY sequence LIMIT ?",
                (sink, matches_only, finals_only, limit),
            ).fetchall()
            if not all(valid for *_, valid in rows):
                raise sqlite3.DatabaseError("a record is no JSON")
            if not rows:  # filtered records must not fill the outbox
                with contextlib.suppress(sqlite3.OperationalError):  # a full disk: retried later
                    self._move(database, sink, "(SELECT coalesce(max(sequence), 0) FROM records)")
            return [Record(*row) for *row, _ in rows]

        return self._work(read)

    def acknowledge(self, sink: str, sequence: int) -> None:
        """Note that a sink has all records up to this one."""
        self._work(lambda database: self._move(database, sink, str(sequence)))

    def backlog(self, sink: str) -> int:
        """The number of records that a sink has not taken, including filtered ones."""
        count = "SELECT count(*) FROM records WHERE sequence > (SELECT sequence FROM cursors WHERE sink = ?)"
        return self._work(lambda database: int(database.execute(count, (sink,)).fetchone()[0]))

    def dropped(self, sink: str) -> int:
        """The number of records that a sink has lost since the file was created, because the outbox was full."""
        count = "SELECT dropped FROM cursors WHERE sink = ?"
        return self._work(lambda database: int(database.execute(count, (sink,)).fetchone()[0]))

    def notes(self, sink: str) -> Notes:
        """What a sink keeps from one run to the next."""
        return _SinkNotes(self, sink)

    def wait(self, sink: str, seconds: float, stop: Callable[[], bool]) -> None:
        """Wait until there is something for a sink, the seconds are over, or ``stop`` returns True after `wake`."""
        with self._changed:
            self._changed.wait_for(lambda: stop() or self.backlog(sink), seconds)

    def wake(self) -> None:
        """Make every `wait` check again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._file.close()
            self._lock.release()

    def _open(self) -> SqliteFile:
        """Open the file; a damaged SQLite file is renamed first."""
        try:
            return SqliteFile(self._path, _KIND)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            self._notice(f"outbox {self._path}: is damaged ({error}) and was moved to {self._set_aside()}")
            return SqliteFile(self._path, _KIND)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function on the file, or on a new file if it was moved or turns out to be damaged.

        Raises:
            SinkError: not possible now.
        """
        with self._changed:
            try:
                if self._closed:
                    raise SinkError(f"outbox {self._path}: is closed")
                if not self._file.is_there:
                    self._go_on_in_new_file("was moved or deleted")
                try:
                    return work(self._file.database)
                except sqlite3.Error as error:
                    if not is_damage(error):
                        raise
                    self._go_on_in_new_file(f"is damaged ({error})")
                    return work(self._file.database)
            except InputError as error:
                raise SinkError(str(error)) from error
            except sqlite3.Error as error:
                raise SinkError(f"outbox {self._path}: {reason(error)}") from error
            except OSError as error:
                raise SinkError(f"outbox {self._path}: {error.strerror}") from error

    def _begin(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA synchronous = FULL")
        if "notes" not in {name for _, name, *_ in database.execute("PRAGMA table_info(cursors)")}:  # a file of 1.0
            database.execute("ALTER TABLE cursors ADD COLUMN notes TEXT NOT NULL DEFAULT ''")
        database.executemany(
            "INSERT INTO cursors (sink, sequence) VALUES (?, 0) ON CONFLICT DO NOTHING",
            [(name,) for name in self._sinks],
        )
        ((newest,),) = database.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence")
        self._newest = max(newest, self._newest)

    def _go_on_in_new_file(self, why: str) -> None:
        """Create a new file from the readable content of the open one, and rename that one if it still exists.

        Raises:
            SinkError: another file is at the path.
            OSError, sqlite3.Error: the new file cannot be written; the old one stays open.
        """
        exists = self._file.is_there
        if not exists and self._path.exists():
            raise SinkError(f"outbox {self._path}: {why}, and another file is in its place; move that away")
        with whole_file(self._path) as fresh:
            saved = save_readable(self._file.database, fresh, self._newest)
            kept = f"; the old file was moved to {self._set_aside()}" if exists else ""
        self._file.remove_logs()
        try:
            opened = SqliteFile(self._path, _KIND)
        except BaseException:  # the disk filled up: what the new file holds is still in the old one
            for ending in ("", *LOGS):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
            raise
        former, self._file = self._file, opened
        former.close()
        self._begin(self._file.database)
        self._notice(f"outbox {self._path}: {why}; continuing in a new one with {saved} records{kept}")

    def _set_aside(self) -> str:
        """Rename the file and its logs -> the new name."""
        name = f"{self._path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
        for ending in ("", *LOGS):
            with contextlib.suppress(FileNotFoundError):
                self._path.with_name(self._path.name + ending).rename(self._path.with_name(name + ending))
        return name

    def _move(self, database: sqlite3.Connection, sink: str, sequence: str) -> None:
        """Advance a sink's cursor to a sequence, an SQL expression, and delete what every sink has."""
        with database:
            database.execute("BEGIN")
            database.execute(
                f"UPDATE cursors SET sequence = max(sequence, {sequence}) WHERE sink = ?",
                (sink,),
            )
            database.execute(
                "DELETE FROM records WHERE sequence <="
                f" (SELECT min(sequence) FROM cursors WHERE sink IN ({', '.join('?' * len(self._sinks))}))",
                self._sinks,
            )

    def _bound(self, database: sqlite3.Connection) -> None:
        ((pages,),) = database.execute("PRAGMA page_count")
        ((free,),) = database.execute("PRAGMA freelist_count")
        ((page,),) = database.execute("PRAGMA page_size")
        if (pages - free) * page < self._max_bytes:
            return
        oldest = [
            sequence
            for (sequence,) in database.execute(
                "SELECT sequence FROM records AS record ORDER BY NOT EXISTS (SELECT 1 FROM records AS later"
                " WHERE later.id = record.id AND later.revision > record.revision), sequence"
                " LIMIT (SELECT count(*) / ? + 1 FROM records)",
                (_SHARE_DROPPED,),
            )
        ]
        dropped = json.dumps(oldest)  # one parameter: SQLite takes at most 32,766
        with database:
            database.execute("BEGIN")
            database.execute(
                "UPDATE cursors SET dropped = dropped + (SELECT count(*) FROM records"
                " WHERE sequence > cursors.sequence AND sequence IN (SELECT value FROM json_each(?)))",
                (dropped,),
            )
            database.execute("DELETE FROM records WHERE sequence IN (SELECT value FROM json_each(?))", (dropped,))


class _SinkNotes(Notes):
    def __init__(self, outbox: Outbox, sink: str) -> None:
        self._outbox = outbox
        self._sink = sink

    def read(self) -> str:
        query = "SELECT notes FROM cursors WHERE sink = ?"
        return self._outbox._work(lambda database: str(database.execute(query, (self._sink,)).fetchone()[0]))

    def write(self, text: str) -> None:
        change = "UPDATE cursors SET notes = ? WHERE sink = ?"
        self._outbox._work(lambda database: database.execute(change, (text, self._sink)))
