"""Plates found and cut out by the shipped networks: corners, boxes around them, and pictures without any."""

from unittest.mock import Mock

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.recognition.corners import CornerFinder, CornerSettings
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.geometry import normalized
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import Focus
from plate_nets.recognition.rectification import RectificationSettings, straighten
from plate_nets.types import Box, Frame, Plate
from tests.frames import Placed, compose, overlap
from tests.vehicles import bus_reader

PLACED = [Placed("A123BC77", 40, 60), Placed("M456OP199", 380, 120), Placed("K777AA97", 200, 320)]
CAR = compose(480, 640, PLACED)


def texts(plates: list[Plate]) -> set[str]:
    return {plate.reading.text for plate in plates} - {""}


def enlarged(frame: Frame, width: int) -> Frame:
    scale = width / frame.shape[1]
    return np.asarray(cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC), np.uint8)


def test_a_plate_that_fills_a_full_hd_picture_is_read(reader: LocalReader) -> None:
    box = PLACED[0].box
    close = CAR[int(box.ymin) - 6 : int(box.ymax) + 6, int(box.xmin) - 6 : int(box.xmax) + 6]
    assert texts(reader.read(enlarged(close, 1920))) == {PLACED[0].text}


@pytest.mark.parametrize("width", [120, 300, 600])
@pytest.mark.parametrize("placed", PLACED, ids=lambda placed: placed.text)
def test_the_tight_crop_of_a_plate_is_read(reader: LocalReader, placed: Placed, width: int) -> None:
    box = placed.box
    crop = CAR[int(box.ymin) : round(box.ymax), int(box.xmin) : round(box.xmax)]
    assert texts(reader.read(enlarged(crop, width))) == {placed.text}


@pytest.mark.parametrize("hw", [(100, 300), (400, 1280)])
def test_a_wide_picture_without_a_plate_has_no_text(reader: LocalReader, hw: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (*hw, 3), np.uint8)
    assert texts(reader.read(np.asarray(cv2.GaussianBlur(noise, (0, 0), 3), np.uint8))) == set()


def test_a_vehicle_that_fills_the_picture_is_found_for_a_near_plate_without_one() -> None:
    near = compose(480, 640, [Placed("A123BC77", 200, 300)])
    short_sighted = bus_reader(640)
    whole, smaller = (reader.scene(near) for reader in (bus_reader(), short_sighted))
    assert [plate.vehicle for plate in smaller.plates] == list(smaller.vehicles)
    assert smaller.vehicles[0].type == "bus"
    assert smaller.vehicles[0].box.sides == pytest.approx(whole.vehicles[0].box.sides, abs=10)

    far = compose(960, 1280, [Placed("A123BC77", 600, 500, 70)])
    assert short_sighted.scene(far).vehicles == (), "only a near plate is worth another look"
    assert short_sighted.scene(np.full_like(near, 110)).vehicles == ()


def warped(frame: Frame, matrix: np.ndarray) -> Frame:
    h, w = frame.shape[:2]
    return np.asarray(cv2.warpPerspective(frame, matrix, (w, h), borderValue=(110, 110, 110)), np.uint8)


def turn(degrees: float) -> np.ndarray:
    """A rotation around the centre of `CAR`."""
    return np.vstack((cv2.getRotationMatrix2D((320, 240), -degrees, 1), (0, 0, 1)))


def test_corners_lie_on_the_plates_and_boxes_around_them(reader: LocalReader) -> None:
    plates = {plate.reading.text: plate for plate in reader.read(CAR)}
    for placed in PLACED:
        plate = plates[placed.text]
        box = placed.box
        expected = (box.xmin, box.ymin, box.xmax, box.ymin, box.xmax, box.ymax, box.xmin, box.ymax)
        assert plate.corners == pytest.approx(expected, abs=0.2 * box.height)
        assert overlap(plate.box, box) > 0.8
        xs, ys = plate.corners[::2], plate.corners[1::2]
        assert (plate.box.xmin, plate.box.ymax) == pytest.approx((min(xs), max(ys)))


@pytest.mark.parametrize("degrees", [-14, 14])
def test_turned_plates_are_read_and_their_corners_turn_with_them(reader: LocalReader, degrees: float) -> None:
    matrix = turn(degrees)
    plates = {plate.reading.text: plate for plate in reader.read(warped(CAR, matrix))}
    for placed in PLACED:
        start = matrix[:2] @ (placed.x, placed.y, 1)
        assert plates[placed.text].corners[:2] == pytest.approx(start, abs=0.25 * placed.box.height)


@pytest.mark.parametrize("shift", [(-90, 0), (0, -72), (-60, -70), (170, 100)])
def test_a_plate_cut_by_the_border_is_unread_or_right(reader: LocalReader, shift: tuple[int, int]) -> None:
    moved = warped(CAR, np.array([[1, 0, shift[0]], [0, 1, shift[1]], [0, 0, 1]], float))
    plates = reader.read(moved)
    assert texts(plates) <= {placed.text for placed in PLACED}
    for plate in plates:
        assert 0 <= plate.box.xmin < plate.box.xmax <= 640 and 0 <= plate.box.ymin < plate.box.ymax <= 480
        assert np.isfinite(plate.corners).all()


@pytest.mark.parametrize("narrow", [0.3, 0.15, 0.06])
def test_a_plate_seen_edge_on_is_unread_or_right(reader: LocalReader, narrow: float) -> None:
    edge_on = warped(CAR, np.diag((narrow, 1.0, 1.0)))
    assert texts(reader.read(edge_on)) <= {placed.text for placed in PLACED}


CROSSING = (20, 20, 100, 40, 100, 20, 20, 40)
ANSWERS = {
    "crossing": CROSSING,
    "a point": (50, 30) * 4,
    "a line": (20, 30, 100, 30, 100, 30, 20, 30),
    "mirrored": (100, 20, 20, 20, 20, 40, 100, 40),
    "far away": (1e9, 20, 2e9, 20, 2e9, 40, 1e9, 40),
    "no number": (np.nan,) * 8,
}


def test_both_networks_determine_the_plates_and_their_order() -> None:
    rows = np.array([[[100, 50, 40, 10, 0.9, 1], [100, 150, 40, 10, 0.3, 1], [100, 250, 40, 10, 0.8, 1]]], np.float32)
    told = np.array([[*CROSSING, 0, 0], [*CROSSING, 0, 5], [*CROSSING, 0, -5]], np.float32)  # in the detector's order
    finder = PlateFinder(PlateDetector(lambda picture: rows), CornerFinder(lambda windows: told[[0, 2, 1]]))
    (crops, found, *_), boxes, scores, _ = finder.find(np.zeros((720, 1280, 3), np.uint8))
    np.testing.assert_allclose(boxes, [[160, 290, 240, 310], [160, 90, 240, 110]], atol=1e-3)
    assert len(crops) == len(found) == 2 and scores.tolist() == pytest.approx([0.9845, 0.9], abs=1e-3)


def test_only_the_detector_looks_at_plates_that_are_expected() -> None:
    rows = np.array([[[100, 50, 40, 10, 0.9, 1], [112, 50, 16, 8, 0.3, 1], [100, 250, 40, 10, 0.8, 1]]], np.float32)
    asked = []

    def corners(windows: NDArray[np.float32]) -> NDArray[np.float32]:
        asked.append(len(windows))
        return np.full((len(windows), 10), np.nan, np.float32)

    finder = PlateFinder(PlateDetector(lambda picture: rows), CornerFinder(corners, CornerSettings(looks=1)))
    expected = (Box(158, 92, 234, 116), Box(158, 290, 168, 300), Box(600, 400, 680, 420))
    (_, boxes, *_), settled, scores = finder.find_new(np.zeros((720, 1280, 3), np.uint8), Focus(expected))
    np.testing.assert_allclose(boxes, [[160, 490, 240, 510]], atol=1e-3)
    np.testing.assert_allclose(settled, [[162, 88, 238, 112]], atol=1e-3)  # the expected size
    assert (asked, scores.tolist()) == ([1], pytest.approx([0.9]))


@pytest.mark.parametrize("corners", ANSWERS.values(), ids=ANSWERS)
def test_degenerate_corners_fall_back_to_the_detectors_box(corners: tuple[float, ...]) -> None:
    rows = np.array([[[100, 50, 40, 10, 0.9, 1]]], np.float32)
    answer = np.array([(*corners, np.log(0.01), 0.0)], np.float32)
    network = CornerFinder(lambda windows: np.repeat(answer, len(windows), axis=0))
    finder = PlateFinder(PlateDetector(lambda picture: rows), network)
    (crops, found, *_), boxes, scores, _ = finder.find(np.zeros((720, 1280, 3), np.uint8))
    np.testing.assert_allclose(boxes, [[160, 90, 240, 110]], atol=1e-3)
    np.testing.assert_allclose(found, [[160, 90, 240, 90, 240, 110, 160, 110]], atol=1e-3)
    assert crops.shape == (1, 3, 24, 94) and np.isfinite(crops).all() and scores.tolist() == pytest.approx([0.9])


def test_plates_with_the_shape_of_two_lines_are_also_cut_as_one() -> None:
    finder = PlateFinder(
        PlateDetector(lambda picture: np.zeros((1, 9, 6), np.float32)),
        CornerFinder(lambda windows: np.full((len(windows), 10), np.nan, np.float32)),
    )
    frame = np.random.default_rng(1).integers(0, 255, (100, 200, 3), np.uint8)
    crops, corners, as_one, upright = finder.cut(frame, np.array([[5, 5, 105, 30], [50, 40, 90, 60]], np.float32))
    none = finder.cut(frame, np.array([[5, 5, 105, 30]], np.float32)).as_one
    assert (len(crops), len(corners), len(as_one), len(upright), len(none)) == (2, 2, 1, 2, 0)
    straight = straighten(frame, corners[1].reshape(4, 2), 1, RectificationSettings())
    np.testing.assert_array_equal(as_one, normalized([straight]))
    assert (as_one[0] != crops[1]).any()


def test_a_frame_without_plates_has_empty_outputs_and_asks_no_other_network() -> None:
    corners = CornerFinder(Mock(side_effect=AssertionError("asked")))
    finder = PlateFinder(PlateDetector(lambda picture: np.zeros((1, 9, 6), np.float32)), corners)
    cut, *others = finder.find(np.zeros((48, 64, 3), np.uint8))
    assert [found.shape for found in cut] == [(0, 3, 24, 94), (0, 8), (0, 3, 24, 94), (0, 3, 24, 94)]
    assert [found.shape for found in others] == [(0, 4), (0,), (0, 6)]
