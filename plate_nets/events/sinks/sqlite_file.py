"""An SQLite file of ours: checked before it is changed, and created again if it was moved away."""

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError
from plate_nets.events.sinks.line_file import check_regular, is_at

WAIT = 5.0
"""Seconds that a write waits for another connection."""
LOGS = ("-wal", "-shm")
"""Files that SQLite keeps beside a database."""


@dataclass(frozen=True)
class Kind:
    """What a file of ours holds: at least the tables that ``schema`` creates if they are missing."""

    name: str
    """Used after "an" in messages."""
    tables: frozenset[str]
    schema: str
    version: int = 0
    """Stored as the file's ``user_version``."""


class SqliteFile(Closing):
    """A connection for writing; threads that share it take turns.

    Args:
        path: of the file, created if missing.
        new: whether an empty file may become a new database; otherwise it is refused.

    Raises:
        InputError: it belongs to something else, and stays untouched, or has another version.
        sqlite3.Error: it cannot be read.
    """

    def __init__(self, path: Path, kind: Kind, *, new: bool = True) -> None:
        self.path = path
        self._kind = kind
        self._new = new
        self.database = self._open()

    @property
    def is_there(self) -> bool:
        """Whether the path is still the same file."""
        return is_at(self._files[self.path], self.path)

    def renew(self) -> None:
        """Open what is at the path now, after the file was moved; SQLite first writes its log into the old file.

        Raises:
            InputError, sqlite3.Error: as for the constructor; the connection is closed.
        """
        with contextlib.suppress(sqlite3.Error):
            self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.close()
        self.database = self._open()

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.database.close()
        self.remove_logs()

    def remove_logs(self) -> None:
        """Remove SQLite's log files beside a moved database, which would be applied to a new one."""
        for path, status in self._files.items():
            if path != self.path and not self.is_there and is_at(status, path):
                path.unlink(missing_ok=True)

    def _open(self) -> sqlite3.Connection:
        check_regular(self.path)
        database = sqlite3.connect(self.path, timeout=WAIT, check_same_thread=False, isolation_level=None)
        try:
            self._check(database)
            database.execute("PRAGMA journal_mode = WAL")
            tables_of(database)  # this creates the log files
            self._files = {path: path.stat() for path in (self.path, *map(self._sibling, LOGS)) if path.exists()}
        except BaseException:
            database.close()
            raise
        return database

    def _check(self, database: sqlite3.Connection) -> None:
        """Create the tables in a new file; refuse a foreign file before changing it."""
        found = tables_of(database)
        ((version,),) = database.execute("PRAGMA user_version")
        if found and not self._kind.tables <= found:
            raise InputError(
                f"{self.path}: expected an {self._kind.name}, got a database of something else; choose another file"
            )
        if (found or version) and version != self._kind.version:
            raise InputError(
                f"{self.path}: {self._kind.name}: expected version {self._kind.version}, got {version}; "
                "choose another file"
            )
        if not found and not self._new:
            raise InputError(f"{self.path}: expected an {self._kind.name}, got an empty file")
        if not found:
            database.executescript(
                f"BEGIN IMMEDIATE; {self._kind.schema} PRAGMA user_version = {self._kind.version}; COMMIT;"
            )

    def _sibling(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)


def tables_of(database: sqlite3.Connection) -> frozenset[str]:
    return frozenset(name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"))


def create_beside(database: sqlite3.Connection, table: str, script: str) -> None:
    """Create a table, and what belongs to it, in a database that lacks it: all or nothing."""
    if table in tables_of(database):
        return
    try:
        database.executescript(f"BEGIN IMMEDIATE; {script} COMMIT;")
    finally:
        if database.in_transaction:
            database.rollback()


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is damaged, rather than unavailable now."""
    if isinstance(error, sqlite3.ProgrammingError):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)  # raised by Python: a text that is not UTF-8
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def reason(error: sqlite3.Error) -> str:
    """Why a file cannot be used, for a message that names the file."""
    return "its disk is full" if is_full(error) else str(error)


def is_full(error: sqlite3.Error) -> bool:
    """Whether an error means that the disk is full; SQLite calls a log that cannot grow a "disk I/O error"."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
