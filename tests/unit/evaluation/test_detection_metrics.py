import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from plate_nets.evaluation.detection_metrics import (
    Detections,
    average_precision,
    found,
    judged,
    match,
    mean_average_precision,
    precision_recall,
    recall_by_height,
)
from plate_nets.evaluation.report import detection_figures
from plate_nets.recognition.overlap import inside, iou
from plate_nets.types import Boxes, Scores

NONE = np.empty((0, 4), np.float32)


def boxes(*rows: tuple[float, float, float, float]) -> Boxes:
    return np.array(rows, np.float32).reshape(-1, 4)


def scores(*values: float) -> Scores:
    return np.array(values, np.float32)


PLATE = (10.0, 10.0, 50.0, 20.0)
NEAR = (10.0, 10.0, 50.0, 18.0)  # IoU 0.8 with PLATE
OTHER = (100.0, 100.0, 140.0, 110.0)


def test_metrics_without_boxes_or_labels() -> None:
    assert iou(NONE, boxes(PLATE)).shape == (0, 1)
    assert match(NONE, boxes(PLATE)).shape == (0,)
    np.testing.assert_array_equal(match(boxes(PLATE), NONE), [-1])
    assert average_precision([]) == 0.0
    assert average_precision([Detections(NONE, scores(), boxes(PLATE))]) == 0.0
    assert average_precision([Detections(boxes(PLATE), scores(0.9), NONE)]) == 0.0
    assert found([], 0.5).shape == (0,)
    assert recall_by_height([], 0.5) == []


corner = st.floats(0, 100, width=32)
side = st.floats(0.125, 50, width=32)
box = st.tuples(corner, corner, side, side).map(lambda v: (v[0], v[1], v[0] + v[2], v[1] + v[3]))


@given(first=st.lists(box, max_size=5), second=st.lists(box, max_size=5))
def test_iou_is_cocos(first: list[tuple[float, ...]], second: list[tuple[float, ...]]) -> None:
    a, b = (np.array(rows, np.float32).reshape(-1, 4) for rows in (first, second))
    cocos = (np.hstack((rows[:, :2], rows[:, 2:].astype(float) - rows[:, :2])) for rows in (a, b))
    expected = np.reshape(mask.iou(*cocos, [0] * len(b)), (len(a), len(b)))
    np.testing.assert_allclose(iou(a, b), expected, atol=1e-6)


def test_boxes_without_area_overlap_nothing() -> None:
    point = boxes((5, 5, 5, 5))
    np.testing.assert_array_equal(iou(point, point), [[0]])


def test_each_label_is_matched_once_by_the_best_score() -> None:
    np.testing.assert_array_equal(match(boxes(NEAR, PLATE, OTHER), boxes(OTHER, PLATE)), [1, -1, 0])
    np.testing.assert_array_equal(match(boxes(NEAR, PLATE, OTHER), boxes(OTHER, PLATE), 0.9), [-1, 1, 0])


def test_precision_and_recall_follow_falling_scores() -> None:
    pictures = [
        Detections(boxes(PLATE, OTHER), scores(0.9, 0.6), boxes(PLATE)),
        Detections(boxes(OTHER), scores(0.8), boxes(OTHER, PLATE)),
    ]
    curve = precision_recall(pictures)
    np.testing.assert_allclose(curve.scores, [0.9, 0.8, 0.6])
    np.testing.assert_allclose(curve.precision, [1, 1, 2 / 3])
    np.testing.assert_allclose(curve.recall, [1 / 3, 2 / 3, 2 / 3])
    # precision is 1 at the recalls 0, 0.01, ..., 0.66 and 0 above
    assert average_precision(pictures) == pytest.approx(67 / 101)


def some_boxes(rng: np.random.Generator, most: int) -> Boxes:
    corners = rng.uniform(0, 900, (rng.integers(0, most + 1), 2))
    return np.hstack([corners, corners + rng.uniform(8, 120, corners.shape)]).astype(np.float32)


def some_pictures(seed: int) -> list[Detections]:
    """Found boxes around labelled ones, around ignored regions, and anywhere."""
    rng = np.random.default_rng(seed)
    pictures = []
    for _ in range(30):
        truth, ignored = some_boxes(rng, 4), some_boxes(rng, 1)
        there = np.vstack([truth, ignored])
        shown = np.vstack(
            [there + np.tile(rng.normal(0, 4, (len(there), 2)), 2).astype(np.float32), some_boxes(rng, 2)]
        )
        pictures.append(Detections(shown, -np.sort(-rng.uniform(0, 1, len(shown))).astype(np.float32), truth, ignored))
    return pictures


def coco_precision(pictures: Sequence[Detections]) -> Any:
    """COCO's own tool: (10, 101), overlap thresholds by recalls."""

    def annotations(image: int, boxes: Boxes, **more: Any) -> list[dict[str, Any]]:
        sizes = boxes[:, 2:] - boxes[:, :2]
        rows = np.hstack([boxes[:, :2], sizes]).astype(float).tolist()
        return [{"image_id": image, "category_id": 1, "bbox": row, "area": row[2] * row[3], **more} for row in rows]

    there, shown = [], []
    for image, picture in enumerate(pictures):
        there += annotations(image, picture.truth, iscrowd=0) + annotations(image, picture.ignored, iscrowd=1)
        for row, score in zip(annotations(image, picture.boxes), picture.scores, strict=True):
            shown.append(row | {"score": float(score)})
    with contextlib.redirect_stdout(io.StringIO()):
        labels = COCO()
        labels.dataset = {
            "images": [{"id": image} for image in range(len(pictures))],
            "categories": [{"id": 1}],
            "annotations": [row | {"id": number} for number, row in enumerate(there, start=1)],
            "info": {},
        }
        labels.createIndex()
        evaluation = COCOeval(labels, labels.loadRes(shown), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"][:, :, 0, 0, -1]


@pytest.mark.parametrize("seed", range(3))
def test_average_precision_equals_cocos(seed: int) -> None:
    pictures = some_pictures(seed)
    expected = coco_precision(pictures)
    assert average_precision(pictures) == pytest.approx(expected[0].mean(), abs=1e-12)
    assert mean_average_precision(pictures) == pytest.approx(expected.mean(), abs=1e-12)
    assert 0.05 < mean_average_precision(pictures) < 0.95, "otherwise this would prove little"


def test_recall_by_height() -> None:
    pictures = [Detections(boxes(PLATE), scores(0.4), boxes(PLATE, (0, 50, 40, 70), (60, 50, 99, 69)))]
    assert recall_by_height(pictures, 0.3, edges=(0, 15)) == [(0, 15, 1, 1.0), (15, float("inf"), 2, 0.0)]
    assert recall_by_height(pictures, 0.5, edges=(0, 15))[0] == (0, 15, 1, 0.0)


def test_inside_is_the_share_of_the_first_box() -> None:
    np.testing.assert_allclose(inside(boxes(PLATE, NEAR), boxes(NEAR, OTHER)), [[0.8, 0.0], [1.0, 0.0]])
    assert inside(boxes(PLATE), NONE).shape == (1, 0)


@pytest.mark.parametrize(
    ("region", "kept"),
    [
        (OTHER, False),
        ((0, 0, 200, 200), False),  # a large region absorbs every box in it
        ((100, 100, 140, 105), False),  # half of the box is in it
        ((100, 100, 140, 104), True),
        (PLATE, True),
    ],
)
def test_a_box_in_an_ignored_region_is_neither_right_nor_wrong(
    region: tuple[float, float, float, float], kept: bool
) -> None:
    picture = Detections(boxes(OTHER, PLATE), scores(0.9, 0.5), boxes(PLATE), boxes(region))
    np.testing.assert_array_equal(judged(picture)[1], [kept, True])
    assert average_precision([picture]) == pytest.approx(0.5 if kept else 1.0)
    assert found([picture], 0.5).all()
    values = detection_figures([picture], 0.5)
    assert (values["precision"], values["recall"]) == (0.5 if kept else 1.0, 1.0)


def test_a_label_is_matched_before_a_region_and_a_region_matches_several_boxes() -> None:
    picture = Detections(boxes(PLATE, NEAR, NEAR), scores(0.9, 0.8, 0.7), boxes(PLATE), boxes(PLATE))
    np.testing.assert_array_equal(judged(picture)[1], [True, False, False])
    # at an overlap of 0.9, the two remaining boxes are entirely in the region
    np.testing.assert_array_equal(judged(picture, 0.9)[1], [True, False, False])
