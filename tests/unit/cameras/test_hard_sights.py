"""Rendered cars of which a camera sees too little, with the real reader: repetition never adds certainty."""

from collections.abc import Callable, Sequence

import cv2
import numpy as np
import pytest

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.stay import CarSettings
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame
from tests.clips import TEXT
from tests.frames import Placed, compose

STEP = 12
"""How far the car moves per frame, px."""
FRAMES = [compose(360, 640, [Placed(TEXT, 100 + STEP * number, 150)], seed=number) for number in range(6)]


def told(reader: LocalReader, frames: Sequence[Frame], times: int = 1, frozen: int = 0) -> list[PlateEvent]:
    """The events of a camera at 10 frames/s, including those of cars without a text.

    ``times``: how often it sees each frame. ``frozen``: how often it sees the last frame after that.
    """
    cars, plates = (
        CarEvents(Camera("gate"), CarSettings(unread=True)),
        [reader.read(each, evidence=True) for each in frames],
    )
    shown = [each for each in plates for _ in range(times)] + plates[-1:] * frozen
    events = [event for number, each in enumerate(shown) for event in cars.update(each, number / 10)]
    return events + cars.finish()


def cut_by_the_edge(frame: Frame, number: int) -> Frame:
    return np.ascontiguousarray(frame[:, 180 + STEP * number :])


def behind_a_post(frame: Frame, number: int) -> Frame:
    frame[100:220, 145 + STEP * number : 171 + STEP * number] = 60
    return frame


def behind_a_barrier(frame: Frame, number: int) -> Frame:
    x = 160 + STEP * number
    return np.asarray(cv2.line(frame, (x - 40, 360), (x + 90, 60), (90, 90, 200), 12), np.uint8)


def with_another_plate(frame: Frame, number: int) -> Frame:
    other = compose(360, 640, [Placed("X900KO99", 100 + STEP * number, 172)], seed=number)
    frame[172:] = other[172:]
    return frame


def blurred(frame: Frame) -> Frame:
    """As from a distance, so that no text of it is certain."""
    small = cv2.resize(frame, None, fx=0.3, fy=0.3, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(small, (0, 0), 1.2), np.uint8)


@pytest.mark.parametrize("spoil", [cut_by_the_edge, behind_a_post, behind_a_barrier, with_another_plate])
def test_a_half_visible_plate_gets_no_text_however_often_it_is_seen(
    reader: LocalReader, spoil: Callable[[Frame, int], Frame]
) -> None:
    assert {event.plate for event in told(reader, FRAMES)} == {TEXT}
    spoilt = [spoil(frame.copy(), number) for number, frame in enumerate(FRAMES)]
    for times in (1, 20):
        assert {event.plate for event in told(reader, spoilt, times)} <= {""}


def test_a_plate_on_a_screen_is_read(reader: LocalReader) -> None:
    screen = compose(360, 640, seed=5)
    screen[80:280, 140:500] = 20
    shown = []
    for frame in FRAMES:
        shown.append(screen.copy())
        shown[-1][90:270, 160:480] = cv2.resize(frame, (320, 180), interpolation=cv2.INTER_AREA)
    once, often = (told(reader, shown, times)[-1] for times in (1, 20))
    assert once.plate == often.plate == TEXT
    assert often.score == pytest.approx(once.score, abs=1e-3)


def test_the_order_of_frames_does_not_change_the_text(reader: LocalReader) -> None:
    far = [blurred(each) for each in FRAMES]
    mixed = [far[number] for number in (3, 0, 5, 1, 4, 2)]
    (forth,), (back,), (other,) = (
        [event for event in told(reader, frames) if event.stage == "final"] for frames in (far, far[::-1], mixed)
    )
    best = forth.candidates[0]
    for event in (back, other):
        assert event.plate == forth.plate and event.candidates[0].plate == best.plate
        assert event.candidates[0].score == pytest.approx(best.score, abs=0.02)


def test_repeated_frames_do_not_raise_the_certainty(reader: LocalReader) -> None:
    far = [blurred(each) for each in FRAMES]
    frozen, moving, last = told(reader, far, frozen=100)[-1], told(reader, far)[-1], told(reader, far[-1:])[-1]
    assert frozen.plate == moving.plate
    assert frozen.candidates[0].score <= max(moving.candidates[0].score, last.candidates[0].score) + 1e-3


def test_a_frame_repeated_a_thousand_times_counts_as_one_look(reader: LocalReader) -> None:
    once, often = (told(reader, [blurred(FRAMES[0])], times) for times in (1, 1000))
    assert [(event.plate, event.stage) for event in once] == [
        (event.plate, event.stage) for event in often if event.stage == "final"
    ]
    best, repeated = once[-1].candidates[0], often[-1].candidates[0]
    assert best.plate == repeated.plate and repeated.score == pytest.approx(best.score, abs=1e-6)
