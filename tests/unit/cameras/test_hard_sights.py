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


def told(reader: LocalReader, frames: Sequence[Frame], times: int = 1) -> list[PlateEvent]:
    """The events of a camera at 10 frames/s that sees each frame so many times, also of cars without a text."""
    cars = CarEvents(Camera("gate"), CarSettings(unread=True))
    plates = [reader.read(each, evidence=True) for each in frames]
    shown = [each for each in plates for _ in range(times)]
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
