"""A car that stops, turns and comes again is told once, with invented plates of frames and the real sinks.

`pytest tests/unit/events/sinks/test_visits.py -m soak` drives 100 of them.
"""

import json

import numpy as np
import pytest

from plate_nets.countries import main_scheme
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks.channels import Visits
from plate_nets.events.sinks.notify import NotifySink
from plate_nets.types import Plate
from tests.events import record
from tests.receiver import Receiver
from tests.unit.cameras.traffic import plate, watch
from tests.watch_lists import watch_list
from training.synthesis.texts import sample_text

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
RATE = 5.0
AWAY = (3.0, 50.0)
"""Seconds for which a car is gone; `memory` of cameras.yaml is 60."""


def returning(text: str, away: float, rng: np.random.Generator) -> list[PlateEvent]:
    """The events of a car of the list "staff" that comes, stops, drives on, and comes back the other way.

    One frame in ten does not see its plate, and the plates of the others are not where they were, by some pixels.
    """
    comes, stands, leaves, returns = rng.uniform(2, 4), rng.uniform(3, 15), 2.0, rng.uniform(2, 5)
    stops = np.cumsum([0, comes, stands, leaves, away, returns])
    places = {
        0: ((100, 200), (500, 300)),
        1: ((500, 300),) * 2,
        2: ((500, 300), (1100, 300)),
        4: ((1100, 320), (200, 320)),
    }

    def frames(time: float) -> list[Plate]:
        part = int(np.searchsorted(stops, time, "right")) - 1
        if part not in places or rng.random() < 0.1:
            return []
        begin, end = np.array(places[part])
        share = (time - stops[part]) / (stops[part + 1] - stops[part])
        x, y = begin + share * (end - begin) + rng.normal(0, 2, 2)
        return [plate(text, x, y, peak=rng.uniform(6, 10))]

    return watch(frames, stops[-1] + 2, RATE, watch_lists=[watch_list("staff", {text: "Ann"})])


def told(events: list[PlateEvent], receiver: Receiver) -> tuple[list[str], dict[str, int], list[str]]:
    """The titles of the messages, the counts of visits, and the topics of lists that were told of a visit."""

    receiver.received.clear()
    visits, begun = Visits(), list[str]()
    with NotifySink(f"json://127.0.0.1:{receiver.port}/") as sink:
        for each in events:
            sink.send([record(each)])
            visits, new = visits.plus([record(each)])
            begun += [topic for topic, _ in new]
    return [json.loads(each.body)["title"] for each in receiver.received], dict(visits.counts), begun


def texts(count: int, rng: np.random.Generator) -> list[str]:
    """Different plates of private cars."""
    found: dict[str, None] = {}
    while len(found) < count:
        name, text = sample_text(main_scheme(), rng)
        if name == "private":
            found[text] = None
    return [*found]


@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.soak)], ids=["short", "100_cars"])
def test_a_car_that_stops_turns_and_comes_again_is_told_once(receiver: Receiver, count: int) -> None:
    rng = np.random.default_rng(47)
    once = {"gate": 1, "lists/staff": 1, "lists/staff/gate": 1}
    wrong = {}
    for text in texts(count, rng):
        events = returning(text, rng.uniform(*AWAY), rng)
        assert events[-1].last_seen > events[0].last_seen
        result = told(events, receiver)
        if result != ([text], once, ["lists/staff", "lists/staff/gate"]):
            wrong[text] = result
    assert not wrong, f"{count - len(wrong)} of {count} are told once"
