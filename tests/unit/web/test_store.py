"""The event store as the page reads it, without a server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plate_nets.sinks.base import Record
from plate_nets.sinks.sqlite import SqliteSink
from plate_nets.web.store import EventFilter, EventStore
from tests.events import event


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
