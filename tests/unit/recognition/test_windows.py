"""Windows of a frame in one input of the detector, and the way back."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.recognition.reader import Focus
from plate_nets.recognition.windows import TILE_HW, place, to_frame, windows_around
from plate_nets.types import Box
from tests.frames import Placed, compose

HW = (720, 1280)
BOXES: dict[str, tuple[float, float, float, float]] = {
    "far": (600, 300, 630, 308),
    "near": (300, 500, 560, 560),
    "in a corner": (1220, 690, 1290, 730),
    "outside": (-90, 100, -10, 120),
}


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_windows_are_parts_of_the_frame_around_their_plates(box: tuple[float, float, float, float]) -> None:
    (window,) = windows_around(np.array([box], np.float32), HW)
    (left, top), (right, bottom) = window.start, window.end
    assert 0 <= left < right <= HW[1] and 0 <= top < bottom <= HW[0]
    inside = np.clip(box, 0, (HW[1], HW[0]) * 2)
    assert left <= inside[0] <= inside[2] <= right and top <= inside[1] <= inside[3] <= bottom
    assert window.tile_hw <= TILE_HW


def test_boxes_return_to_the_frame_and_parts_of_plates_are_told_apart() -> None:
    boxes = np.array(list(BOXES.values())[:3], np.float32)
    windows = windows_around(boxes, HW)
    (x, y), (h, w) = (0, 96), windows[2].tile_hw
    found = np.array([[65, 44, 95, 52], [160, 40, 200, 60], [x + w - 60, y + h - 30, x + w, y + h]], np.float32)
    moved, whole = to_frame(found, windows, HW)
    assert whole.tolist() == [True, False, True]
    np.testing.assert_allclose(moved[0], BOXES["far"], atol=1)
    np.testing.assert_allclose(moved[2, 2:], (1280, 720), atol=1)


def test_a_frame_smaller_than_a_window_is_one_window() -> None:
    frame = compose(48, 100)
    windows = windows_around(np.array([[10, 10, 60, 20]], np.float32), (48, 100))
    assert windows[0].tile_hw == (48, 100)
    np.testing.assert_array_equal(place(frame, windows)[0, :48, :100], frame)


PLATES = [Placed("A123BC77", 100 + 400 * (place % 3), 60 + 320 * (place // 3)) for place in range(5)]


def test_plates_are_found_around_the_places_where_they_are_expected(reader: LocalReader) -> None:
    frame = compose(*HW, PLATES)
    expected = tuple(each.box for each in PLATES)
    plates = reader.look(frame, Focus(only=expected)).plates
    assert [plate.reading.text for plate in plates] == ["A123BC77"] * 5
    assert (iou(stacked(expected), stacked(plate.box for plate in plates)).max(axis=1) > 0.7).all()


@pytest.mark.parametrize(("expected", "looks"), [(PLATES[0].box, 1), (Box(600, 600, 760, 634), 2)])
def test_the_whole_frame_is_looked_at_if_a_plate_is_not_where_it_is_expected(
    reader: LocalReader, expected: Box, looks: int
) -> None:
    asked = []

    @contextmanager
    def note(stage: str) -> Iterator[None]:
        asked.append(stage)
        yield

    plates = reader.look(compose(*HW, PLATES[:1]), Focus(only=(expected,)), stages=note).plates
    assert [plate.reading.text for plate in plates] == ["A123BC77"]
    assert asked.count("network") == looks
