"""Which plates of the next frame need no reading, and what becomes of the cars."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.looks import PATIENCE, can_wait, expect, plan_focus
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.tracking import Track, Tracker
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.reader import Focus
from plate_nets.types import NOT_READ, Plate
from tests.frames import overlap
from tests.unit.cameras.traffic import T0, FrameOf, approaching, noise, plate

RATE = 10.0
CAR, OTHER = "A123BC77", "X900KO99"
TEXTS = [f"A{number:03}BC77" for number in range(101, 971, 29)]


def tracker_after(frame_of: Callable[[int], list[Plate]], frames: int) -> Tracker:
    tracker = Tracker()
    for number in range(frames):
        tracker.update(frame_of(number), T0 + number / RATE)
    return tracker


def focus_after(tracks: Sequence[Track], frames: int, since_whole: float = 1 / RATE) -> Focus:
    """What is known of the frame after this number of frames."""
    time = T0 + frames / RATE
    return plan_focus(tracks, time, time - 1 / RATE, time - since_whole)


STANDING = [plate(CAR, 300)]
BOTH = [*STANDING, plate(OTHER, 700)]
Seen = Callable[[int], list[Plate]]
SCENES: dict[str, tuple[Seen, int, tuple[int, bool, int, int]]] = {
    "none": (lambda _: [], 3, (0, True, 0, 0)),
    "read too seldom": (lambda _: STANDING, 2, (0, False, 1, 0)),
    "certain": (lambda _: STANDING, 3, (1, True, 1, 0)),
    "moves": (lambda number: [plate(CAR, 300 + 9 * number)], 6, (1, True, 1, 0)),
    "grows slowly": (lambda number: [plate(CAR, 300, height=24 * 1.1**number)], 6, (1, True, 1, 0)),
    "grows fast": (lambda number: [plate(CAR, 300, height=24 * 1.2**number)], 6, (0, False, 1, 0)),
    "leaves": (lambda number: [plate(CAR, 300, height=24 / 1.2**number)], 6, (1, True, 1, 0)),
    "is missed now": (lambda number: STANDING if number < 5 else [], 6, (0, False, 0, 1)),
    "unsure": (lambda number: [noise(300, 300, number)], 7, (0, False, 1, 0)),
    "unsure for long": (lambda number: [noise(300, 300, number)], 8, (1, True, 1, 0)),
    "two": (lambda _: BOTH, 3, (2, True, 2, 0)),
    "two that overlap": (lambda _: [plate(CAR, 300), plate(OTHER, 390)], 3, (0, True, 2, 0)),
    "one was missed": (lambda number: BOTH if number < 1 else STANDING, 3, (1, True, 1, 1)),
    "one is missed now": (lambda number: BOTH if number < 2 else STANDING, 3, (1, True, 1, 1)),
    "a new one": (lambda number: STANDING if number < 2 else BOTH, 3, (1, False, 0, 0)),
    "many": (lambda _: [plate(text, 300 + 150 * place) for place, text in enumerate(TEXTS[:9])], 3, (9, True, 0, 0)),
}
"""Plates by the number of the frame, how many frames there were, and what is known of the next one: how many plates are
settled, whether it can wait, and around how many that were seen or missed it is looked at."""


@pytest.mark.parametrize(("frame_of", "frames", "known"), SCENES.values(), ids=SCENES)
def test_of_the_next_frame_only_what_would_tell_something_new_is_looked_at_and_read(
    frame_of: Seen, frames: int, known: tuple[int, bool, int, int]
) -> None:
    tracks = tracker_after(frame_of, frames).tracks
    last = T0 + (frames - 1) / RATE
    focus = focus_after(tracks, frames)
    waits = can_wait(tracks, last + 0.07, last, last - 1 / RATE)
    assert (len(focus.settled), waits, len(focus.only), len(focus.missed)) == known
    assert not can_wait(tracks, last + 0.1, last, last), "a live camera's next frame"
    assert not can_wait(tracks, last - 0.07, last, last), "time went back"


@pytest.mark.parametrize(("scene", "since_whole"), [("two", 0.3), ("one is missed now", 0.2)])
def test_the_whole_frame_is_looked_at_often(scene: str, since_whole: float) -> None:
    frame_of, frames, _ = SCENES[scene]
    focus = focus_after(tracker_after(frame_of, frames).tracks, frames, since_whole)
    assert (focus.only, focus.missed) == ((), ())


def test_a_settled_plate_is_expected_where_it_moves_to() -> None:
    tracks = tracker_after(lambda number: [plate(CAR, 300 + 9 * number)], 6).tracks
    (box,) = focus_after(tracks, 6).settled
    assert box.centre[0] == pytest.approx(300 + 9 * 6, abs=1)


def test_a_plate_that_was_never_read_cannot_wait_until_it_has_left() -> None:
    def until(step: float, read: bool) -> float:
        def frame_of(number: int) -> list[Plate]:
            seen = plate(CAR, 300 + step * number)
            return [seen if read else not_read(seen)]

        (track,) = tracker_after(frame_of, 4).tracks
        return expect(track, 1 / RATE, (720, 800)).until - T0

    assert until(0, read=False) == pytest.approx(PATIENCE)
    assert 0.5 < until(90, read=False) < 0.8, "its middle is at 570 after 0.3 s"
    assert until(90, read=True) > 1


def test_a_settled_plate_is_read_again_after_a_while() -> None:
    tracks = tracker_after(lambda _: STANDING, 3).tracks
    last = T0 + 2 / RATE
    later = [plan_focus(tracks, last + seconds, last, last) for seconds in (0.0, 0.4, 0.6, -0.1)]
    assert [len(focus.settled) for focus in later] == [1, 1, 0, 0]


def sparing(frames: FrameOf, seconds: float, rate: float = RATE) -> tuple[list[PlateEvent], float]:
    """The events of an invented video of which settled plates are not read, and the share of plates that were read."""
    cars = CarEvents(Camera("gate"))
    events, seen = [], []
    for index in range(round(seconds * rate)):
        time = T0 + index / rate
        settled = cars.focus(time).settled
        plates = [
            not_read(each) if any(overlap(each.box, box) >= 0.4 for box in settled) else each
            for each in frames(index / rate)
        ]
        seen += plates
        events += cars.update(plates, time)
    return events + cars.finish(), sum(each.reading is not NOT_READ for each in seen) / len(seen)


def not_read(seen: Plate) -> Plate:
    return replace(seen, reading=NOT_READ, logits=None)


def shakes(time: float) -> list[Plate]:
    x, y = np.random.default_rng(round(time * 100)).uniform(-12, 12, 2)
    return [plate(CAR, 300 + x, 300 + y), plate(OTHER, 700 + x, 300 + y)]


def many(time: float) -> list[Plate]:
    return [plate(text, 100 + 150 * (place % 6) + 5 * time, 60 * (1 + place // 6)) for place, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    ("frames", "seconds", "texts", "most_read"),
    [
        (lambda _: STANDING, 40, [CAR], 0.21),
        (lambda time: [plate(CAR if time < 3.05 else OTHER, 300)], 6, [CAR, OTHER], 0.35),
        (shakes, 5, [CAR, OTHER], 0.9),
        (lambda time: approaching(CAR, time if time < 0.45 else time + 0.5, speed=8), 2, [CAR], 0.9),
        (many, 3, TEXTS, 0.3),
    ],
    ids=["stands", "is followed by another", "shakes", "jumps", "many"],
)
def test_no_car_is_lost_although_few_plates_are_read(
    frames: FrameOf, seconds: float, texts: list[str], most_read: float
) -> None:
    events, read = sparing(frames, seconds)
    finals = [event for event in events if event.stage == "final"]
    assert sorted(event.plate for event in finals) == sorted(texts)
    assert read <= most_read
    assert all(event.frames.read <= event.frames.seen for event in finals)
    was_read, seen = (sum(getattr(event.frames, name) for event in finals) for name in ("read", "seen"))
    assert was_read == pytest.approx(read * seen, abs=1)
