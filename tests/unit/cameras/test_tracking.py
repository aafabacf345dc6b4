"""Which plate of a frame belongs to which plate of the frames before."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from plate_nets.cameras.tracking import Tracker
from plate_nets.types import Box, Plate
from tests.unit.cameras.traffic import FrameOf, approaching, noise, plate


def follow(frames: FrameOf, seconds: float, rate: float) -> dict[int, list[tuple[float, Plate]]]:
    """An invented video -> the plates of each track."""
    tracker, seen = Tracker(), dict[int, list[tuple[float, Plate]]]()
    for index in range(round(seconds * rate)):
        for track in tracker.update(list(frames(index / rate)), index / rate):
            if track.seen:
                seen.setdefault(track.number, []).append((index / rate, track.plate))
    return seen


def unread(time: float) -> list[Plate]:
    """A fast car whose plate cannot be read."""
    return [replace(noise(0, 0, round(time * 100)), box=seen.box) for seen in approaching("A123BC77", time, speed=11.0)]


@pytest.mark.parametrize("rate", [25, 8, 5])
@pytest.mark.parametrize(("frames", "seconds"), [(partial(approaching, "A123BC77"), 1.3), (unread, 1.6)])
def test_a_fast_car_is_one_track(frames: FrameOf, seconds: float, rate: float) -> None:
    assert len(follow(frames, seconds, rate)) == 1


@pytest.mark.parametrize(("rate", "most"), [(25, 1.02), (12, 1.05), (5, 1.25)])
def test_unreadable_cars_with_noisy_boxes_break_into_few_tracks(rate: float, most: float) -> None:
    rng = np.random.default_rng(0)

    def rough(time: float, speed: float, lane: float) -> list[Plate]:
        plates = []
        for seen in approaching("A123BC77", time, lane, speed) if rng.random() > 0.1 else []:
            height = seen.box.height * float(np.exp(rng.normal(0, 0.07)))
            x, y = rng.normal(0, 0.1, 2) * height
            off = Box(seen.box.xmin + x, seen.box.ymin + y, seen.box.xmax + x, seen.box.ymin + y + height)
            plates.append(Plate(off, seen.score, seen.reading))
        return plates

    drives = [(speed, lane) for speed in (4.0, 8.0, 12.0, 16.7) for lane in (1.5, 3.0, -3.0)]
    counts = [len(follow(partial(rough, speed=speed, lane=lane), 21 / speed, rate)) for speed, lane in drives]
    assert float(np.mean(counts)) <= most


@pytest.mark.parametrize(
    ("frames", "tracks"),
    [
        (lambda time: [plate("A123BC77", 300 + 100 * time, score=0.2 if 0.35 < time < 0.75 else 0.8)], [10]),
        (lambda _: [plate("A123BC77", 300, score=0.2)], []),
        (lambda time: [plate("A123BC77", 200 if time < 0.5 else 1000)], [10]),
        (lambda time: [plate("A123BC77" if time < 0.5 else "X900KO99", 300, peak=12.0)], [5, 5]),
    ],
    ids=["a low score continues one", "a low score begins none", "found by its text after a large move", "another car"],
)
def test_a_plate_is_in_the_track_of_its_car(frames: FrameOf, tracks: list[int]) -> None:
    assert [len(seen) for seen in follow(frames, 1, 10).values()] == tracks


def test_a_missed_plate_is_predicted_along_its_way() -> None:
    tracker = Tracker()
    for index in range(12):
        tracker.update(approaching("A123BC77", index / 25), index / 25)
    for index in range(12, 17):
        (track,) = tracker.update([], index / 25)
    (expected,) = approaching("A123BC77", 16 / 25)
    assert not track.seen
    assert track.box.xmin == pytest.approx(expected.box.xmin, abs=expected.box.height)
    assert track.box.ymax == pytest.approx(expected.box.ymax, abs=expected.box.height / 2)


def test_a_track_ends_with_a_frame_without_it_after_a_second() -> None:
    tracker = Tracker()
    frames = [([plate("A123BC77", 300)], 0.0), ([], 0.9), ([], 1.0)]
    assert [len(tracker.update(plates, time)) for plates, time in frames] == [1, 1, 0]


def test_frames_with_the_same_time_are_accepted() -> None:
    tracker = Tracker()
    for _ in range(3):
        (track,) = tracker.update([plate("A123BC77", 300)], 5.0)
    assert track.hits == 3 and math.isfinite(track.growth)
