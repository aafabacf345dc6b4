"""The event store: one row per car, fast over a million rows."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.web.store import EventStore
from tests.disk import SmallDisk
from tests.events import event, later, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


@pytest.fixture
def sink(path: Path) -> Iterator[SqliteSink]:
    with SqliteSink(path) as sink:
        yield sink


def records(*events: PlateEvent) -> list[Record]:
    return [record(each, number) for number, each in enumerate(events, 1)]


def rows(path: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(query, values).fetchall()


def test_a_row_holds_the_last_record_of_a_car(sink: SqliteSink, path: Path) -> None:
    first = event(0, stage="provisional")
    last = later(first)
    sink.send(records(first, last, event(1, listed=True)))
    assert rows(path, "SELECT timestamp, stage, revision, plate, lists, document FROM events ORDER BY timestamp") == [
        ("2026-11-22T10:00:00.250Z", "final", 2, "A000BC77", "[]", last.to_json()),
        ("2026-11-22T10:00:01.250Z", "final", 1, "A001BC77", '["staff"]', event(1, listed=True).to_json()),
    ]


def test_a_repeated_batch_changes_nothing(sink: SqliteSink, path: Path) -> None:
    first = event(0, stage="provisional")
    batch = records(first, later(first), event(1))
    sink.send(batch)
    before = rows(path, "SELECT * FROM events ORDER BY id")
    for again in (batch, batch[:1]):
        sink.send(again)
    assert rows(path, "SELECT * FROM events ORDER BY id") == before


def plates(path: Path) -> list[object]:
    return [plate for (plate,) in rows(path, "SELECT plate FROM events ORDER BY sequence")]


def test_a_moved_store_is_complete_without_its_log_and_a_moved_or_deleted_one_is_created_again(
    sink: SqliteSink, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as page:  # another connection keeps SQLite from removing the log
        page.execute("SELECT * FROM events").fetchall()
        sink.send(records(event(0), event(1)))
        moved = path.rename(path.with_name("events.1"))
        for number in (2, 3):
            sink.send(records(event(number)))
    assert plates(moved) == ["A000BC77", "A001BC77"]
    assert plates(path) == ["A002BC77", "A003BC77"]
    assert rows(path, "PRAGMA integrity_check") == rows(moved, "PRAGMA integrity_check") == [("ok",)]
    assert rows(moved, "SELECT max(sequence) FROM events") < rows(path, "SELECT min(sequence) FROM events")
    path.unlink()
    sink.send(records(event(4)))
    assert plates(path) == ["A004BC77"]


def test_a_change_gets_a_higher_sequence_than_all_earlier_ones_from_any_outbox(sink: SqliteSink, path: Path) -> None:
    first = event(0, stage="provisional")
    sink.send(records(event(1), event(2), first))
    (last,) = rows(path, "SELECT max(sequence) FROM events")
    sink.send(records(later(first)))  # from a new outbox, which counts from 1
    assert rows(path, "SELECT id FROM events WHERE sequence > ?", *last) == [(first.id,)]
    sink.send(records(replace(event(3), supersedes=first.id)))
    sink.send(records(event(4)))
    assert plates(path)[-2:] == ["A003BC77", "A004BC77"]


def test_a_full_disk_is_reported_and_the_batch_is_stored_later(small_disk: SmallDisk) -> None:
    path = small_disk.path / "events.sqlite"
    batch = records(*map(event, range(1, 200)))
    with SqliteSink(path) as sink:
        sink.send(records(event(0)))
        small_disk.fill()
        with pytest.raises(SinkError, match=r"events.sqlite: its disk is full$"):
            sink.send(batch)
        small_disk.free()
        sink.send(batch)
    assert len(plates(path)) == 200


@pytest.mark.parametrize("exists", [False, True], ids=["new", "of_an_earlier_run"])
def test_a_start_on_a_full_disk_waits_for_room(small_disk: SmallDisk, exists: bool) -> None:
    path = small_disk.path / "events.sqlite"
    if exists:
        SqliteSink(path).close()
    small_disk.fill()
    with SqliteSink(path) as sink:
        with pytest.raises(SinkError, match=r"events.sqlite: its disk is full$"):
            sink.send(records(event(0)))
        small_disk.free()
        sink.send(records(event(0)))
    assert plates(path) == ["A000BC77"]


@pytest.mark.parametrize(
    ("made_by", "why"),
    [
        ("CREATE TABLE notes (text)", "events.sqlite: expected an event store, got a database of something else"),
        ("PRAGMA user_version = 7", "event store: expected version 1, got 7"),
    ],
)
def test_a_foreign_database_is_not_changed(path: Path, made_by: str, why: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(made_by)
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"{why}; choose another file$"):
        SqliteSink(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.timeout(60)
def test_a_file_that_is_not_a_database_is_refused_at_once(tmp_path: Path) -> None:
    pipe, text = tmp_path / "pipe", tmp_path / "notes"
    os.mkfifo(pipe)
    text.write_text("a note " * 1000, encoding="utf-8")
    for place, why in ((pipe, "regular file"), (Path("/dev/full"), "regular file"), (text, "not a database")):
        with pytest.raises(InputError, match=why):
            SqliteSink(place)
    assert text.read_text(encoding="utf-8") == "a note " * 1000


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
def test_an_index_answers_each_query_of_the_page(sink: SqliteSink, path: Path, query: str, index: str) -> None:
    plan = str(rows(path, f"EXPLAIN QUERY PLAN {query}"))
    assert f"USING INDEX events_{index}" in plan and "TEMP B-TREE" not in plan, plan


def test_a_superseded_or_old_event_is_deleted_with_its_correction(path: Path) -> None:
    with closing(EventStore(path)) as store, SqliteSink(path) as sink:
        sink.send(records(event(0), event(1)))
        for number in (0, 1):
            store.correct(event(number).id, "B777OP99")
        sink.send(records(replace(event(2), supersedes=event(0).id)))
    assert rows(path, "SELECT id FROM events ORDER BY id") == [(event(1).id,), (event(2).id,)]
    assert rows(path, "SELECT id FROM corrections") == [(event(1).id,)]
    with SqliteSink(path, keep_days=1) as sink:
        sink.send(records(event(-(10**7))))
    assert rows(path, "SELECT id FROM events") == rows(path, "SELECT id FROM corrections") == []
