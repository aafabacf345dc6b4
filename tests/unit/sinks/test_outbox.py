"""The outbox: nothing is lost, order is kept, the disk is not filled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_nets.errors import InputError
from plate_nets.sinks.outbox import Outbox
from tests.events import event, later


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.sqlite"


@pytest.fixture
def outbox(path: Path) -> Iterator[Outbox]:
    outbox = Outbox(path, ["fast", "slow"])
    yield outbox
    outbox.close()


def keys(outbox: Outbox, sink: str) -> list[str]:
    return [record.key for record in outbox.waiting(sink, 10_000)]


def test_each_sink_gets_every_event_in_order(outbox: Outbox) -> None:
    events = [event(number) for number in range(5)]
    for each in events:
        outbox.append(each)
    assert keys(outbox, "fast") == keys(outbox, "slow") == [each.key for each in events]
    assert outbox.waiting("fast", 1)[0].document == events[0].to_json()


def test_a_cursor_moves_for_its_own_sink_alone(outbox: Outbox) -> None:
    for number in range(5):
        outbox.append(event(number))
    outbox.taken("fast", outbox.waiting("fast", 3)[-1].sequence)
    assert (outbox.backlog("fast"), outbox.backlog("slow")) == (2, 5)


def test_a_new_process_goes_on_where_the_last_one_ended(path: Path) -> None:
    first = Outbox(path, ["fast", "slow"])
    events = [event(number) for number in range(3)]
    for each in events:
        first.append(each)
    first.taken("fast", first.waiting("fast", 2)[-1].sequence)
    first.close()
    second = Outbox(path, ["fast", "slow"])
    assert keys(second, "fast") == [events[2].key]
    assert keys(second, "slow") == [each.key for each in events]
    second.close()


def test_a_sink_that_is_gone_holds_nothing_up(path: Path) -> None:
    first = Outbox(path, ["fast", "slow"])
    first.append(event(0))
    first.close()
    second = Outbox(path, ["fast"])
    second.taken("fast", second.waiting("fast", 1)[0].sequence)
    second.close()
    third = Outbox(path, ["slow"])
    assert keys(third, "slow") == []
    third.close()


def test_what_a_sink_does_not_want_is_not_kept_for_it(outbox: Outbox) -> None:
    listed = event(1, listed=True)
    for each in (event(0), listed, event(2, stage="provisional")):
        outbox.append(each)
    (record,) = outbox.waiting("fast", 10, matches_only=True)
    assert record.key == listed.key
    outbox.taken("fast", record.sequence)
    assert outbox.waiting("fast", 10, matches_only=True) == []
    assert outbox.backlog("fast") == 0
    assert [record.event["stage"] for record in outbox.waiting("slow", 10, finals_only=True)] == ["final", "final"]


def test_replaced_records_go_before_the_oldest_where_the_disk_is_bounded(path: Path) -> None:
    outbox = Outbox(path, ["fast", "slow"], max_bytes=200_000)
    replaced, kept = [], []
    for number in range(150):
        first = event(number, stage="provisional")
        outbox.append(first)
        outbox.append(later(first))
        replaced.append(first.key)
        kept.append(later(first).key)
    waiting = keys(outbox, "slow")
    assert path.stat().st_size < 300_000
    assert waiting[-1] == kept[-1] and waiting == sorted(waiting)
    # While a replaced record was there no last one went
    lost_last = kept.index(next(key for key in waiting if key in set(kept)))
    lost_first = replaced.index(next(key for key in waiting if key in set(replaced)))
    assert lost_last <= lost_first
    assert outbox.dropped("slow") == outbox.dropped("fast") == 300 - len(waiting) > 0
    outbox.close()


def test_a_second_process_is_refused(outbox: Outbox, path: Path) -> None:
    with pytest.raises(InputError, match=r"outbox.sqlite: another process uses it$"):
        Outbox(path, ["fast"])


def test_a_file_that_is_no_outbox_is_refused(path: Path) -> None:
    path.write_text("no database" * 1000, encoding="utf-8")
    with pytest.raises(InputError, match=r"outbox .*: file is not a database$"):
        Outbox(path, ["fast"])
    with pytest.raises(InputError, match=r"No such file or directory$"):
        Outbox(path.parent / "nowhere" / "outbox.sqlite", ["fast"])
