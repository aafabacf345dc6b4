"""The lines that cars crossed, counted: a table that SQLite itself keeps beside the events of the store."""

import sqlite3
from dataclasses import dataclass

from plate_nets.events.sinks.sqlite_file import create_beside

_CROSSED = """INSERT INTO crossings
    SELECT {event}.id, json_extract({event}.document, fullkey || '.timestamp'),
        json_extract({event}.document, fullkey || '.line'), json_extract({event}.document, fullkey || '.direction')
    FROM {events} json_each(iif(json_valid({event}.document), {event}.document, '{{}}'), '$.crossings')"""
_OF_NEW = _CROSSED.format(event="new", events="")
_OF_ALL = _CROSSED.format(event="events", events="events,")
_CREATE = f"""
CREATE TABLE IF NOT EXISTS crossings (
    id        TEXT NOT NULL,
    crossed   TEXT,
    line      TEXT,
    direction TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS crossings_by_time  ON crossings (crossed);
CREATE INDEX IF NOT EXISTS crossings_by_event ON crossings (id);
CREATE TRIGGER IF NOT EXISTS crossings_of_new AFTER INSERT ON events BEGIN
    {_OF_NEW};
END;
CREATE TRIGGER IF NOT EXISTS crossings_of_changed AFTER UPDATE OF document ON events BEGIN
    DELETE FROM crossings WHERE id = old.id;
    {_OF_NEW};
END;
CREATE TRIGGER IF NOT EXISTS crossings_of_gone AFTER DELETE ON events BEGIN
    DELETE FROM crossings WHERE id = old.id;
END;
DELETE FROM crossings;
{_OF_ALL};
"""
"""A crossing has its own time: a parked car may cross a line hours after its best frame. Triggers count the events of
every process that writes them, and the last statement those that are older than this table. A damaged document has no
crossings: it must not keep an event from being written."""


@dataclass(frozen=True)
class LineHour:
    """How many times cars crossed a line of a camera in one direction, in an hour after a given time."""

    camera_id: str
    line: str
    direction: str
    hour: int
    count: int


def create_crossings(database: sqlite3.Connection) -> None:
    create_beside(database, "crossings", _CREATE)
