"""The event store: one row a car, quick over a million rows."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plate_nets.errors import InputError
from plate_nets.events import PlateEvent
from plate_nets.sinks.base import Record
from plate_nets.sinks.sqlite import SqliteSink
from tests.events import event, later


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


@pytest.fixture
def sink(path: Path) -> Iterator[SqliteSink]:
    with SqliteSink(path) as sink:
        yield sink


def records(*events: PlateEvent) -> list[Record]:
    return [Record(number + 1, each.key, each.camera_id, each.to_json()) for number, each in enumerate(events)]


def rows(path: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        found = database.execute(query, values).fetchall()
    database.close()
    return found


def test_a_row_is_the_last_record_of_a_car(sink: SqliteSink, path: Path) -> None:
    first = event(0, stage="provisional")
    last = later(first)
    sink.send(records(first, last, event(1, listed=True)))
    assert rows(path, "SELECT stage, revision, plate, lists, document FROM events ORDER BY timestamp") == [
        ("final", 2, "A000BC77", "[]", last.to_json()),
        ("final", 1, "A001BC77", '["staff"]', event(1, listed=True).to_json()),
    ]


def test_a_batch_that_comes_again_changes_nothing(sink: SqliteSink, path: Path) -> None:
    first = event(0, stage="provisional")
    batch = records(first, later(first), event(1))
    sink.send(batch)
    before = rows(path, "SELECT * FROM events ORDER BY id")
    for again in (batch, batch[:1]):
        sink.send(again)
    assert rows(path, "SELECT * FROM events ORDER BY id") == before


def test_a_superseded_event_is_gone(sink: SqliteSink, path: Path) -> None:
    sink.send(records(event(0)))
    sink.send(records(replace(event(1), supersedes=event(0).id)))
    assert rows(path, "SELECT id FROM events") == [(event(1).id,)]


def test_times_are_text_of_one_length_in_utc(sink: SqliteSink, path: Path) -> None:
    sink.send(records(event(0), event(3600)))
    assert rows(path, "SELECT timestamp FROM events ORDER BY timestamp") == [
        ("2026-11-22T10:00:00.250Z",),
        ("2026-11-22T11:00:00.250Z",),
    ]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM events WHERE (timestamp, id) < ('2', '') ORDER BY timestamp DESC, id DESC LIMIT 50", "by_time"),
        (
            "SELECT * FROM events WHERE camera_id = 'gate' AND (timestamp, id) < ('2', '')"
            " ORDER BY timestamp DESC, id DESC LIMIT 50",
            "by_camera",
        ),
        ("SELECT * FROM events WHERE plate >= 'A1' AND plate < 'A1' || char(1114111)", "by_plate"),
        ("SELECT * FROM events WHERE sequence > 5 ORDER BY sequence", "by_sequence"),
    ],
)
def test_what_the_page_asks_is_answered_by_an_index(sink: SqliteSink, path: Path, query: str, index: str) -> None:
    plan = str(rows(path, f"EXPLAIN QUERY PLAN {query}"))
    assert f"USING INDEX events_{index}" in plan and "TEMP B-TREE" not in plan, plan


def test_old_events_go_where_that_is_wanted(path: Path) -> None:
    with SqliteSink(path, keep_days=1) as sink:
        sink.send(records(event(-(10**7))))
    assert rows(path, "SELECT count(*) FROM events") == [(0,)]


def test_a_store_of_another_version_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 7")
    database.close()
    with pytest.raises(InputError, match=r"event store: expected version 1, got 7$"):
        SqliteSink(path)


def test_a_document_is_the_whole_event(sink: SqliteSink, path: Path) -> None:
    sink.send(records(event(0)))
    ((document,),) = rows(path, "SELECT document FROM events")
    assert PlateEvent.from_dict(json.loads(str(document))) == event(0)
