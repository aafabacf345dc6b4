"""The thread of a sink: it continues after any fault, and reports its state."""

import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from plate_nets.common import threads
from plate_nets.common.errors import RecordRefused
from plate_nets.events.sinks.base import Record, Sink
from plate_nets.events.sinks.delivery import Delivery, finish_all
from plate_nets.events.sinks.outbox import Outbox
from tests.disk import SmallDisk
from tests.events import event
from tests.waiting import eventually


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with closing(Outbox(tmp_path / "outbox.sqlite", ["sink"])) as outbox:
        yield outbox


class Faulty(Sink):
    """Takes records, but sometimes fails with a bug."""

    def __init__(self, faults: int = 0) -> None:
        self.faults = faults
        self.taken: list[str] = []

    def send(self, records: Sequence[Record]) -> None:
        if self.faults:
            self.faults -= 1
            raise KeyError("/secret/place")
        self.taken += [record.key for record in records]


def fill(outbox: Outbox, count: int) -> list[str]:
    """The keys of so many events."""
    events = [event(number) for number in range(count)]
    for each in events:
        outbox.append(each)
    return [each.key for each in events]


def delivery_of(sink: Sink, outbox: Outbox, notice: Callable[[str], None] = lambda _: None) -> Delivery:
    return Delivery("sink", sink, outbox, notice, first_pause=0.01)


def test_an_internal_error_is_reported_and_counted_and_loses_nothing(outbox: Outbox) -> None:
    said: queue.Queue[str] = queue.Queue()
    sink = Faulty(3)
    delivery = delivery_of(sink, outbox, said.put)
    keys = fill(outbox, 1)
    assert said.get(timeout=30) == (
        "sink: an internal error (KeyError); the log has its traceback; records wait in the outbox"
    )
    assert said.get(timeout=30) == "sink: takes records again"
    assert (threads.faults()["sink sink"], "sink sink" in threads.failing()) == (3, False)
    assert finish_all([delivery], 30) == []
    assert sink.taken == keys
    assert (delivery.state().delivered, delivery.state().failures, delivery.state().error) == (1, 3, None)


def test_the_outbox_is_told_once_of_many_records_that_are_sent_one_by_one(tmp_path: Path) -> None:
    """Each change of the outbox waits for the disk. A fault ends none of what was sent before it."""
    told: list[int] = []

    class Counting(Outbox):
        def acknowledge(self, sink: str, sequence: int) -> None:
            told.append(sequence)
            super().acknowledge(sink, sequence)

    class OneByOne(Faulty):
        batch = 1

        def send(self, records: Sequence[Record]) -> None:
            self.faults += len(self.taken) == 30 and not told
            super().send(records)

    with closing(Counting(tmp_path / "outbox.sqlite", ["sink"])) as outbox:
        keys, sink = fill(outbox, 50), OneByOne()
        delivery = delivery_of(sink, outbox)
        assert eventually(lambda: delivery.state().waiting == 0, 30)
        assert finish_all([delivery], 30) == []
    assert told == [30, 50] and sink.taken == keys


def test_a_refused_record_takes_no_other_of_its_batch_with_it(outbox: Outbox) -> None:
    class Refusing(Faulty):
        batch = 3

        def send(self, records: Sequence[Record]) -> None:
            if records[0].key == event(3).key:
                raise RecordRefused("no")
            super().send(records)

    keys, sink = fill(outbox, 8), Refusing()
    delivery = delivery_of(sink, outbox)
    assert finish_all([delivery], 30) == []
    assert sink.taken == keys[:3] + keys[4:]
    assert (delivery.state().delivered, delivery.state().refused, delivery.state().waiting) == (7, 1, 0)


def test_a_failing_delivery_reports_its_error(outbox: Outbox) -> None:
    delivery = Delivery("sink", Faulty(10**9), outbox, lambda _: None)
    fill(outbox, 1)
    assert eventually(lambda: delivery.state().error, 30)
    assert threads.failing() == {"sink sink": "an internal error (KeyError); the log has its traceback"}
    assert finish_all([delivery], 30) == []
    assert threads.failing() == {}


def test_delivered_records_do_not_repeat_while_the_outbox_is_not_writable(small_disk: SmallDisk) -> None:
    with closing(Outbox(small_disk.path / "outbox.sqlite", ["sink"])) as outbox:
        keys, sink = fill(outbox, 20), Faulty()
        small_disk.fill()
        delivery = delivery_of(sink, outbox)
        assert eventually(lambda: delivery.state().failures > 3 or delivery.state().waiting == 0, 30)
        small_disk.free()
        assert eventually(lambda: delivery.state().waiting == 0, 60)
        assert finish_all([delivery], 30) == []
    assert sink.taken == keys
