"""The detector's rows -> boxes of plates and vehicles in pixels of the frame."""

from typing import get_args
from unittest.mock import Mock

import numpy as np
import pytest

from plate_nets.common.errors import InputError
from plate_nets.networks.runtimes.detector import NEGLIGIBLE
from plate_nets.recognition.detection import DetectionSettings, PlateDetector, distinct, select
from plate_nets.types import Detail


def network_of(*rows: tuple[float, ...]):  # type: ignore[no-untyped-def]
    answer = np.array(rows, np.float32).reshape(1, -1, 6)
    return lambda picture: answer


def test_boxes_come_in_pixels_of_the_frame_highest_score_first() -> None:
    # the input for a 1280x720 frame is 640x384, so everything is halved
    network = network_of((100, 50, 40, 10, 0.6, 1), (300, 200, 60, 20, 0.9, 1), (10, 10, 40, 10, 0.1, 1))
    boxes, scores = PlateDetector(network).detect(np.zeros((720, 1280, 3), np.uint8))
    np.testing.assert_allclose(boxes, [[540, 380, 660, 420], [160, 90, 240, 110]], atol=1e-3)
    np.testing.assert_allclose(scores, [0.9, 0.6])
    assert boxes.dtype == scores.dtype == np.float32


def test_the_network_gets_the_letterboxed_frame() -> None:
    seen: list[tuple[int, ...]] = []

    def network(picture: np.ndarray) -> np.ndarray:
        seen.append(picture.shape)
        return np.zeros((1, 5, 6), np.float32)

    found = PlateDetector(network, DetectionSettings(long_side=416)).detect(np.zeros((300, 400, 3), np.uint8))
    assert seen == [(1, 320, 416, 3)]
    assert [each.shape for each in found] == [(0, 4), (0,)]


def test_the_score_is_objectness_times_class_score() -> None:
    rows = np.array([[50, 50, 20, 10, 0.8, 0.5, 0.25], [90, 90, 20, 10, 0.8, 0.1, 0.2]], np.float32)
    boxes, scores = select(rows, DetectionSettings(proposal=0.3))
    np.testing.assert_allclose(boxes, [[40, 45, 60, 55]])
    np.testing.assert_allclose(scores, [0.4])


def test_the_best_of_overlapping_boxes_is_kept() -> None:
    centres_and_scores = ((50, 50, 0.7), (52, 50, 0.9), (50, 80, 0.5), (53, 51, 0.6))
    rows = np.array([[x, y, 40, 10, score, 1] for x, y, score in centres_and_scores], np.float32)
    boxes, scores = select(rows, DetectionSettings())
    np.testing.assert_allclose(scores, [0.9, 0.5])
    np.testing.assert_allclose(boxes[0], [32, 45, 72, 55])


def test_the_number_of_detections_is_limited() -> None:
    rows = np.array([[50 * n + 25, 20, 40, 10, 0.5 + n / 1000, 1] for n in range(400)], np.float32)
    boxes, scores = select(rows, DetectionSettings())
    assert len(boxes) == len(scores) == 300
    assert scores[0] == pytest.approx(0.899)
    assert (np.diff(scores) <= 0).all()


def test_boxes_are_clipped_to_the_frame_and_those_in_the_grey_dropped() -> None:
    network = network_of((0, 10, 40, 10, 0.9, 1), (320, 378, 40, 10, 0.8, 1))
    boxes, _ = PlateDetector(network).detect(np.zeros((720, 1280, 3), np.uint8))
    np.testing.assert_allclose(boxes, [[0, 10, 40, 30]], atol=1e-3)


@pytest.mark.parametrize(
    ("hw", "fast", "balanced", "far"),
    [
        ((480, 640), 640, 640, 640),
        ((720, 1280), 640, 640, 1280),
        ((900, 1600), 640, 704, 1280),
        ((1080, 1920), 640, 864, 1280),
        ((1920, 1080), 640, 864, 1280),
        ((4320, 7680), 640, 864, 1280),
        ((840, 1493), 640, 640, 1280),
        ((840, 1494), 640, 672, 1280),
        ((1, 1600), 640, 704, 1280),
        ((1, 1), 640, 640, 640),
    ],
)
def test_the_input_follows_the_picture(hw: tuple[int, int], fast: int, balanced: int, far: int) -> None:
    sides = [DetectionSettings(detail=detail).side_for(hw) for detail in get_args(Detail)]
    assert sides == [fast, balanced, far]
    assert DetectionSettings().side_for(hw) == balanced
    assert DetectionSettings(long_side=416, detail="far").side_for(hw) == 416


@pytest.mark.parametrize("hw", [(1, 1), (1, 500), (500, 1), (3, 2), (33, 7)])
def test_tiny_frames(hw: tuple[int, int]) -> None:
    detector = PlateDetector(lambda picture: np.zeros((1, 9, 6), np.float32))
    assert [len(found) for found in detector.detect(np.zeros((*hw, 3), np.uint8))] == [0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"long_side": 31},
        {"long_side": 10**9},
        {"detail": "sharp"},
        {"score_threshold": 1.0},
        {"score_threshold": -0.1},
        {"iou_threshold": 0.0},
        {"max_detections": 0},
        {"crop_margin": -0.1},
        {"crop_margin": float("nan")},
    ],
)
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        DetectionSettings(**wrong)  # type: ignore[arg-type]


def test_a_network_without_a_head_for_vehicles_is_not_asked_again() -> None:
    sides = []

    def network(pictures: np.ndarray) -> np.ndarray:
        sides.append(max(pictures.shape[1:3]))
        return np.array([[[320, 180, 200, 50, 0.9, 1.0]]], np.float32)

    detector, frame = PlateDetector(network), np.zeros((360, 640, 3), np.uint8)
    boxes, _, vehicles = detector.detect_both(frame)
    assert len(detector.with_large_vehicles(frame, boxes, vehicles)) == 0
    assert sides == [640]


@pytest.mark.parametrize(
    ("proposal", "vehicle_threshold", "least"), [(0.1, 0.08, 0.08), (0.05, 0.3, 0.05), (0.1, 0.0, NEGLIGIBLE)]
)
def test_rows_that_can_be_neither_plate_nor_vehicle_are_not_asked_for(
    proposal: float, vehicle_threshold: float, least: float
) -> None:
    network = Mock(side_effect=AssertionError("vehicles are asked for"))
    network.both.return_value = np.zeros((1, 0, 6), np.float32), np.zeros((1, 0, 9), np.float32)
    settings = DetectionSettings(proposal=proposal, vehicle_threshold=vehicle_threshold)
    boxes, _, vehicles = PlateDetector(network, settings).detect_both(np.zeros((360, 640, 3), np.uint8))
    assert len(boxes) == len(vehicles) == 0
    assert [call.args[1] for call in network.both.call_args_list] == [least]


def test_boxes_of_a_car_that_differ_only_outside_the_frame_are_one() -> None:
    rows = np.array([[0, 0, 90, 60, 0.9, 0], [0, 0, 100, 64, 0.6, 0], [120, 0, 200, 60, 0.5, 1]], np.float32)
    assert distinct(rows).tolist() == rows[[0, 2]].tolist()
    assert distinct(rows[:0]).shape == (0, 6)
