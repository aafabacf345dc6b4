"""The event store as the page reads it, without a server."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plate_nets.events.event import Crossing
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.web.event_filter import EventFilter
from plate_nets.web.store import EventStore
from tests.events import MOMENT, event
from tests.events import record as record_of
from tests.waiting import eventually


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


@pytest.fixture
def sink(path: Path) -> Iterator[SqliteSink]:
    with SqliteSink(path) as sink:
        yield sink


def record(number: int, **changes: Any) -> Record:
    return record_of(replace(event(number), **changes), number)


HOUR = EventFilter(since="2026-11-22T10:00:00Z", until="2026-11-22T11:00:00Z")


def test_a_corrected_text_is_found_by_a_similar_one_after_a_restart(sink: SqliteSink, path: Path) -> None:
    sink.send([record(1, plate="")])
    with closing(EventStore(path)) as store:
        store.correct(event(1).id, "B777OP99")
    with closing(EventStore(path)) as store:
        (found,) = store.page(EventFilter(text="B777OP98", distance=1)).events
    assert found["correction"] == "B777OP99"


SCRIPTS = ("京A88731", "117تونس3989", "12가3456")


def found(store: EventStore, text: str, distance: int = 0) -> list[str]:
    return [each["plate"] for each in store.page(EventFilter(text=text, distance=distance)).events]


def scripts(*numbers: int) -> list[Record]:
    return [record(number, plate=SCRIPTS[number % len(SCRIPTS)]) for number in numbers]


@pytest.mark.parametrize(
    ("text", "distance", "plates"),
    [
        ("BJ-A88731", 0, SCRIPTS[:1]),
        ("bj a88731", 0, SCRIPTS[:1]),
        ("BJ", 0, SCRIPTS[:1]),
        ("BJ*", 0, SCRIPTS[:1]),
        ("B?-A887*", 0, SCRIPTS[:1]),
        ("*3*", 0, SCRIPTS[::-1]),
        ("117TN3989", 0, SCRIPTS[1:2]),
        ("١١٧ تونس", 0, SCRIPTS[1:2]),
        ("۱۱۷?*۳۹۸۹", 0, SCRIPTS[1:2]),
        ("*TN*", 0, SCRIPTS[1:2]),
        ("12GA3456", 0, SCRIPTS[2:]),
        ("12가", 0, SCRIPTS[2:]),
        ("12GA3465", 2, SCRIPTS[2:]),
        ("117TN3988", 1, SCRIPTS[1:2]),
        ("京A88732", 1, SCRIPTS[:1]),
        ("SH", 0, ()),
    ],
)
@pytest.mark.parametrize("is_older", [False, True])
def test_a_plate_of_another_script_is_found_in_either_form(
    sink: SqliteSink, path: Path, is_older: bool, text: str, distance: int, plates: tuple[str, ...]
) -> None:
    """Whether its event is older than the first page that knows Latin forms, and than ``latin`` of events, or not."""
    if is_older:
        sink.send(scripts(0, 1, 2))
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE events SET document = json_remove(document, '$.latin')")
    with closing(EventStore(path)) as store:
        if not is_older:
            sink.send(scripts(0, 1, 2))
        assert found(store, text, distance) == [*plates]


def test_the_latin_form_of_a_plate_stays_as_long_as_an_event_has_it(sink: SqliteSink, path: Path) -> None:
    with closing(EventStore(path)) as store:
        sink.send(scripts(0, 3))
        sink.send([record(0, plate="A123BC77", revision=2)])
        assert (found(store, "BJ"), found(store, "A123")) == (["京A88731"], ["A123BC77"])
        sink.send([record(3, plate="沪A88731", revision=2)])
        assert (found(store, "BJ"), found(store, "SH")) == ([], ["沪A88731"])
        sink.send([record(4, supersedes=event(3).id)])
        assert found(store, "SH") == []
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT * FROM latin_forms").fetchall() == [], "nothing is left of a deleted plate"


def test_many_plates_of_another_script_are_found_newest_first(
    sink: SqliteSink, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plate_nets.web.store._FREQUENT", 3)
    with closing(EventStore(path)) as store:
        sink.send([record(number, plate=f"京A8873{number}") for number in range(5)])
        for camera in ("", "gate"):
            page = store.page(EventFilter(text="BJ", camera=camera), limit=2)
            assert [each["latin"] for each in page.events] == ["BJ-A88734", "BJ-A88733"]


def test_crossings_are_counted_of_a_plate_in_either_form(sink: SqliteSink, path: Path) -> None:
    sink.send([record(1, plate="京A88731", crossings=(Crossing("entry", "left to right", MOMENT),)), record(2)])
    with closing(EventStore(path)) as store:
        for text, count in (("BJ", 1), ("京", 1), ("", 1), ("A", 0)):
            lines = store.lines(HOUR.model_copy(update={"text": text}), int(MOMENT.timestamp()))
            assert sum(crossed for *_, crossed in lines) == count, text


def test_a_damaged_document_has_no_latin_form_and_is_stored(sink: SqliteSink, path: Path) -> None:
    with closing(EventStore(path)) as store:
        sink.send(scripts(0))
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE events SET plate = '沪A88731', document = '{'")
        assert store.last_sequence() and store.page(EventFilter(text="SH")).events == []


@pytest.mark.parametrize("times", [1, 2])
def test_crossings_are_counted_that_are_older_than_the_first_page(sink: SqliteSink, path: Path, times: int) -> None:
    crossed = (Crossing("entry", "left to right", MOMENT), Crossing("exit", "right to left", MOMENT))
    sink.send([record(1, crossings=crossed), record(2)])
    for _ in range(times):
        with closing(EventStore(path)) as store:
            found = store.lines(HOUR, int(MOMENT.timestamp()))
    assert [(line, hour, count) for _, line, _, hour, count in found] == [("entry", 0, 1), ("exit", 0, 1)]


def test_no_reader_stays_on_a_store_that_was_moved(sink: SqliteSink, path: Path) -> None:
    """One is in use while the others follow."""
    sink.send([record(1)])
    with closing(EventStore(path)) as store:
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
        assert [found(store, "") for _ in range(8)] == [["A002BC77"]] * 8
