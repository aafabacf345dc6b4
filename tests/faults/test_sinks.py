"""Faults of one sink, beside another whose events must not wait; each soak prints a row.

The attacks are those that broke 0.3.0.
"""

import itertools
import queue
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from plate_nets.events.sinks.base import Record, Sink
from plate_nets.events.sinks.delivery import Delivery, finish_all
from plate_nets.events.sinks.files import JsonlSink
from plate_nets.events.sinks.outbox import Outbox
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.events.sinks.webhook import WebhookSink
from plate_nets.web.event_filter import EventFilter
from plate_nets.web.store import EventStore
from tests.disk import SmallDisk, small_disk
from tests.events import event, record
from tests.faults.beside import ONCE_OR_OFTEN, GoodCaller, say
from tests.unit.events.sinks.conftest import listening
from tests.unit.events.sinks.test_webhook import BODIES, TRICKLED_HEAD
from tests.waiting import eventually


class Taker(Sink):
    """Takes every record."""

    def __init__(self) -> None:
        self.taken: queue.SimpleQueue[str] = queue.SimpleQueue()

    def send(self, records: Sequence[Record]) -> None:
        for each in records:
            self.taken.put(each.key)


@dataclass
class Sinks:
    """An outbox with two sinks. One is attacked, and the other must keep getting events."""

    folder: Path
    outbox: Outbox
    disk: SmallDisk
    good: GoodCaller

    @contextmanager
    def attacked(self, sink: Sink) -> Iterator[Delivery]:
        """The delivery to the attacked sink, with some records to begin with."""
        assert eventually(lambda: self.outbox.backlog("attacked") > 5, 60)
        delivery = Delivery("attacked", sink, self.outbox, lambda _: None, first_pause=0.01)
        try:
            yield delivery
        finally:
            assert finish_all([delivery], 60) == []


@pytest.fixture(scope="module")
def sinks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sinks]:
    folder = tmp_path_factory.mktemp("sinks")
    taker, numbers = Taker(), itertools.count()
    with (
        small_disk(folder / "disk", megabytes=16) as disk,
        closing(Outbox(folder / "outbox.sqlite", ("good", "attacked"))) as outbox,
    ):
        delivery = Delivery("good", taker, outbox, lambda _: None)

        def ask() -> None:
            sent = event(next(numbers))
            outbox.append(sent)
            while taker.taken.get(timeout=60) != sent.key:  # an earlier record may come again
                pass

        with GoodCaller(psutil.Process(), ask) as good:
            yield Sinks(folder, outbox, disk, good)
        assert finish_all([delivery], 60) == []


def full_disk(sinks: Sinks) -> None:
    """The disk is full, and then has space again."""
    path = sinks.disk.path / "events.jsonl"
    with sinks.attacked(JsonlSink(path)) as delivery:
        sinks.disk.fill()
        assert eventually(lambda: delivery.state().error, 60)
        before = delivery.state().delivered
        sinks.disk.free()
        assert eventually(lambda: delivery.state().delivered > before and not delivery.state().error, 60)
    path.unlink()


def damaged_outbox(sinks: Sinks) -> None:
    """A record of the attacked sink is damaged on disk."""
    before = set(sinks.folder.glob("*.damaged-*"))
    assert eventually(lambda: sinks.outbox.backlog("attacked") > 5, 60)
    with closing(sqlite3.connect(sinks.folder / "outbox.sqlite", timeout=60)) as database, database:
        database.execute("UPDATE records SET document = '{' WHERE sequence = (SELECT min(sequence) FROM records)")
    with sinks.attacked(Taker()) as delivery:
        assert eventually(lambda: delivery.state().delivered, 60)
    assert set(sinks.folder.glob("*.damaged-*")) > before


def second_outbox(sinks: Sinks) -> None:
    """A new outbox numbers its records from 1 again, and they go into the same store."""
    path = sinks.folder / "events.sqlite"
    with closing(EventStore(path)) as store:
        for number in range(3):
            last, sent = store.last_sequence(), event(store.last_sequence() % 1_000_000 + number)
            with SqliteSink(path) as sink:
                sink.send([record(sent)])
            assert [found["id"] for _, found in store.since(last)[1]] == [sent.id]
            assert sent.id in {each["id"] for each in store.page(EventFilter(text=sent.plate[:-1], distance=1)).events}


def hostile_webhooks(sinks: Sinks) -> None:
    """Receivers that answer without end, with a gzip bomb, byte by byte, or never."""
    for answer in (*BODIES.values(), TRICKLED_HEAD):
        with ExitStack() as opened:
            sink = WebhookSink(f"http://127.0.0.1:{opened.enter_context(listening(answer))}", timeout=0.5)
            with sinks.attacked(sink) as delivery:
                if answer is TRICKLED_HEAD:
                    assert eventually(lambda: delivery.state().error == "no answer within 0.5 s", 60)
                else:
                    assert eventually(lambda: delivery.state().delivered > 2, 60)
                opened.close()  # otherwise it would first take what still waits, slowly


ATTACKS: dict[str, Callable[[Sinks], None]] = {
    "A6 a full disk, then room": full_disk,
    "A7 a damaged outbox": damaged_outbox,
    "A12 a second outbox of a store": second_outbox,
    "A13 webhooks that do not end": hostile_webhooks,
}


@pytest.mark.parametrize("times", ONCE_OR_OFTEN)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_fault_of_one_sink_delays_no_other(
    sinks: Sinks, capsys: pytest.CaptureFixture[str], attack: str, times: int
) -> None:
    row = sinks.good.beside(attack, lambda: ATTACKS[attack](sinks), times)
    if times > 1:
        say(capsys, row)
