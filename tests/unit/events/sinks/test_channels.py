"""Which topics a record belongs to, and that each visit begins once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from plate_nets.events.event import PlateEvent, WatchMatch
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.channels import Visits, is_late, list_topic
from tests.events import MOMENT, event, later, record

DRIVE = ["lists/staff", "lists/staff/gate", "lists/staff/gate/drive"]


def new(*events: PlateEvent) -> list[list[str]]:
    """The topics of lists that begin a visit with each of these events."""
    visits, found = Visits(), []
    for each in events:
        visits, begun = visits.plus([record(each)])
        found.append([topic for topic, _ in begun])
    return found


def test_a_listed_car_begins_one_visit_and_one_of_each_zone_it_is_in() -> None:
    there = event(listed=True, zone="drive", stage="provisional")
    assert new(there, later(there, "update"), later(later(there))) == [DRIVE, [], []]
    before = event(listed=True, stage="provisional")
    assert new(before, replace(there, revision=2)) == [DRIVE[:2], DRIVE[2:]]
    (visit,) = there.zones
    passed = replace(there, zones=(replace(visit, left=MOMENT - timedelta(seconds=5)),))
    lost = replace(there, zones=(replace(visit, left=there.last_seen),))
    assert new(passed) == [DRIVE[:2]] and new(lost) == [DRIVE]


def test_only_texts_of_lists_begin_visits() -> None:
    assert new(event(zone="drive"), replace(event(1, listed=True), plate="")) == [[], []]
    both = replace(event(), watch=tuple(WatchMatch(name, "A000BC77", "", 1.0, 0) for name in ("staff", "a/b#")))
    assert new(both) == [["lists/staff", "lists/staff/gate", "lists/a-2f-b-23-", "lists/a-2f-b-23-/gate"]]
    assert list_topic("жильцы 1") == "lists/жильцы 1"


def test_a_car_counts_once_also_if_two_tracks_were_one_car() -> None:
    visits, _ = Visits().plus([record(event(number, zone="drive")) for number in (0, 1, 1, 0)])
    assert visits.counts == {"gate": 2, "gate/zones/drive": 2}
    joined = replace(event(2), supersedes=event(1).id)
    visits, _ = visits.plus([record(joined), record(later(joined))])
    assert visits.counts == {"gate": 2, "gate/zones/drive": 2}
    assert set(visits.cars) == {event(0).id, event(2).id}


def test_the_memory_of_cars_is_bounded() -> None:
    one, text = event().id, event().to_json()
    ids = [f"{number:026}" for number in range(10_500)]
    visits, _ = Visits().plus([Record(1, id, "gate", text.replace(one, id)) for id in ids])
    assert list(visits.cars) == ids[-10_000:] and visits.counts == {"gate": 10_500}


def test_a_record_that_was_kept_for_a_minute_is_late() -> None:
    now = datetime.now(UTC)
    assert not is_late(record(replace(event(), last_seen=now - timedelta(seconds=30))))
    assert is_late(record(replace(event(), last_seen=now - timedelta(seconds=70))))
