"""What the page adds to the event store: corrections, and tables that SQLite itself keeps beside the events."""

import sqlite3

from plate_nets.common.latin import latin_beside
from plate_nets.common.spelling import normalize
from plate_nets.events.sinks.sqlite_file import create_beside

_CORRECTIONS = """
CREATE TABLE IF NOT EXISTS corrections (
    id           TEXT PRIMARY KEY,
    plate        TEXT NOT NULL,
    corrected_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS corrections_by_plate ON corrections (plate);
"""

_CROSSED = """INSERT INTO crossings
    SELECT {event}.id, json_extract({event}.document, fullkey || '.timestamp'),
        json_extract({event}.document, fullkey || '.line'), json_extract({event}.document, fullkey || '.direction')
    FROM {events} json_each(iif(json_valid({event}.document), {event}.document, '{{}}'), '$.crossings')"""
_OF_NEW = _CROSSED.format(event="new", events="")
_OF_ALL = _CROSSED.format(event="events", events="events,")
_CROSSINGS = f"""
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

_IS_FOREIGN = "GLOB '*[^ -~]*'"
"""That a text has a sign beyond ASCII: no other has a Latin form, and events of ASCII alone cost nothing."""
_FORM = """INSERT INTO latin_forms
        SELECT new.plate, replace(value, '-', '')
        FROM json_each(iif(json_valid(new.document), new.document, '{}'), '$.latin') WHERE value IS NOT NULL
        ON CONFLICT DO NOTHING"""
_CLEAN = """DELETE FROM latin_forms
        WHERE plate = old.plate AND NOT EXISTS (SELECT 1 FROM events WHERE plate = old.plate)"""
_LATIN_FORMS = f"""
CREATE TABLE IF NOT EXISTS latin_forms (
    plate TEXT PRIMARY KEY,
    latin TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS latin_forms_by_latin ON latin_forms (latin);
CREATE TRIGGER IF NOT EXISTS latin_form_of_new AFTER INSERT ON events WHEN new.plate {_IS_FOREIGN} BEGIN
    {_FORM};
END;
CREATE TRIGGER IF NOT EXISTS latin_form_of_changed AFTER UPDATE OF plate ON events
WHEN new.plate <> old.plate AND (new.plate || old.plate) {_IS_FOREIGN} BEGIN
    {_CLEAN};
    {_FORM};
END;
CREATE TRIGGER IF NOT EXISTS latin_form_of_gone AFTER DELETE ON events WHEN old.plate {_IS_FOREIGN} BEGIN
    {_CLEAN};
END;
DELETE FROM latin_forms;
INSERT OR IGNORE INTO latin_forms
    SELECT DISTINCT plate, nullif(latin_form(plate), '') FROM events WHERE plate {_IS_FOREIGN};
"""
"""Triggers take the form from the event's document, as no other process has our functions in SQL. The last statement
adds those of events that are older than this table, whose documents may have none."""


def searched_form(plate: str) -> str:
    """A plate -> its Latin form as a search has it; empty if its own signs are Latin."""
    return normalize(latin_beside(plate))


def create_tables(database: sqlite3.Connection) -> None:
    """Create those that a store lacks."""
    database.create_function("latin_form", 1, searched_form, deterministic=True)
    database.executescript(_CORRECTIONS)
    create_beside(database, "crossings", _CROSSINGS)
    create_beside(database, "latin_forms", _LATIN_FORMS)
