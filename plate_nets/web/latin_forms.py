"""The Latin forms of texts in other scripts, to search for: a table that SQLite itself keeps beside the events."""

import sqlite3

from plate_nets.common.latin import latin_beside
from plate_nets.common.spelling import normalize
from plate_nets.events.sinks.sqlite_file import create_beside

_IS_FOREIGN = "GLOB '*[^ -~]*'"
"""That a text has a sign beyond ASCII: no other has a Latin form, and events of ASCII alone cost nothing."""
_FORM = """INSERT INTO latin_forms
        SELECT new.plate, replace(value, '-', '')
        FROM json_each(iif(json_valid(new.document), new.document, '{}'), '$.latin') WHERE value IS NOT NULL
        ON CONFLICT DO NOTHING"""
_CLEAN = """DELETE FROM latin_forms
        WHERE plate = old.plate AND NOT EXISTS (SELECT 1 FROM events WHERE plate = old.plate)"""
_CREATE = f"""
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


def create_latin_forms(database: sqlite3.Connection) -> None:
    database.create_function("latin_form", 1, searched_form, deterministic=True)
    create_beside(database, "latin_forms", _CREATE)
