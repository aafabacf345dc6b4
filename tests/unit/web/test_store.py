"""The event store as the page reads it, without a server."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plate_nets.events.event import Crossing
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.web.event_filter import EventFilter
from plate_nets.web.store import EventStore
from tests.events import MOMENT, event
from tests.waiting import eventually


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


@pytest.fixture
def sink(path: Path) -> Iterator[SqliteSink]:
    with SqliteSink(path) as sink:
        yield sink


def record(number: int, **changes: object) -> Record:
    made = replace(event(number), **changes)  # type: ignore[arg-type]
    return Record(number, made.key, made.camera_id, made.to_json())


def test_a_corrected_text_is_found_by_a_similar_one_after_a_restart(sink: SqliteSink, path: Path) -> None:
    sink.send([record(1, plate="")])
    store = EventStore(path)
    store.correct(event(1).id, "B777OP99")
    store.close()
    store = EventStore(path)
    (found,) = store.page(EventFilter(text="B777OP98", distance=1)).events
    store.close()
    assert found["correction"] == "B777OP99"


@pytest.mark.parametrize("times", [1, 2])
def test_crossings_are_counted_that_are_older_than_the_first_page(sink: SqliteSink, path: Path, times: int) -> None:
    crossed = (Crossing("entry", "left to right", MOMENT), Crossing("exit", "right to left", MOMENT))
    sink.send([record(1, crossings=crossed), record(2)])
    hour = EventFilter(since="2026-11-22T10:00:00Z", until="2026-11-22T11:00:00Z")
    for _ in range(times):
        store = EventStore(path)
        found = store.lines(hour, int(MOMENT.timestamp()))
        store.close()
    assert [(each.line, each.hour, each.count) for each in found] == [("entry", 0, 1), ("exit", 0, 1)]


def test_no_reader_stays_on_a_store_that_was_moved(sink: SqliteSink, path: Path) -> None:
    """One is in use while the others follow."""
    sink.send([record(1)])
    store = EventStore(path)
    store.correct(event(1).id, "B777OP99")
    reading = store.corrected()
    next(reading)
    path.rename(path.with_name("former.sqlite"))
    sink.send([record(2)])
    follower = threading.Thread(target=store.cameras)
    follower.start()
    assert eventually(lambda: store._readers.empty() or not follower.is_alive(), 60)
    reading.close()
    follower.join()
    shown = [[each["plate"] for each in store.page(EventFilter()).events] for _ in range(8)]
    store.close()
    assert shown == [["A002BC77"]] * 8
