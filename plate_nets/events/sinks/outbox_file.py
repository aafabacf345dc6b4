"""The tables of an outbox, and how to save what can be read of a damaged one."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

SCHEMA = """
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
    dropped  INTEGER NOT NULL DEFAULT 0,
    notes    TEXT NOT NULL DEFAULT ''
) STRICT;
"""


def save_readable(damaged: sqlite3.Connection, path: Path, newest: int) -> int:
    """Copy the readable records and cursors into a new file, continuing the sequence -> how many records."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as fresh:
        fresh.executescript(f"BEGIN; {SCHEMA}")
        columns = "sequence, id, revision, camera_id, matches, final, document"
        saved = 0
        for row in _readable(damaged, f"SELECT {columns} FROM records WHERE sequence = ? AND json_valid(document)"):
            with contextlib.suppress(sqlite3.IntegrityError):  # a value of another type
                fresh.execute(f"INSERT INTO records ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                saved += 1
        ((newest,),) = fresh.execute("SELECT max(?, coalesce(max(sequence), 0)) FROM records", (newest,))
        with contextlib.suppress(sqlite3.Error):
            cursors = damaged.execute(
                "SELECT sink, min(sequence, ?), dropped, notes FROM cursors", (newest,)
            ).fetchall()
            fresh.executemany("INSERT INTO cursors VALUES (?, ?, ?, ?)", cursors)
        fresh.execute("INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq) VALUES (1, 'records', ?)", (newest,))
        fresh.execute("COMMIT")
    return saved


def _readable(damaged: sqlite3.Connection, query: str) -> Iterator[tuple[object, ...]]:
    """The readable records; a damaged page is approached from both sides."""
    found: set[int] = set()
    for order in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.Error):
            for (sequence,) in damaged.execute(f"SELECT sequence FROM records NOT INDEXED ORDER BY sequence {order}"):
                found.add(sequence)
    for sequence in sorted(found):
        with contextlib.suppress(sqlite3.Error):
            yield from damaged.execute(query, (sequence,))
