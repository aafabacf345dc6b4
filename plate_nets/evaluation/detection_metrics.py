"""How well boxes are found: matching, precision and recall, and average precision as defined by COCO.

We do not use `pycocotools`: the curves, the recall by height and the results at one score need the matches too, and
its `COCOeval` needs label files, which is more code than the mean over 101 recalls. A test compares both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.overlap import inside, iou
from plate_nets.types import Boxes, Scores

IOU_THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""0.5, 0.55, ..., 0.95: COCO's overlap thresholds."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Detections:
    boxes: Boxes
    """(N, 4) xyxy px, found."""
    scores: Scores
    """(N,), highest first."""
    truth: Boxes
    """(M, 4) xyxy px, labelled."""
    ignored: Boxes = field(default_factory=lambda: np.empty((0, 4), np.float32))
    """(K, 4) xyxy px, regions where a found box is neither right nor wrong: unlabelled plates."""


@dataclass(frozen=True)
class Curve:
    """Precision and recall over falling score thresholds, each (K,), one point per found box."""

    scores: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


def match(boxes: Boxes, truth: Boxes, threshold: float = 0.5) -> NDArray[np.intp]:
    """Found boxes (N, 4), highest score first -> index of the labelled box (M, 4) that each one hits, or -1, (N,).

    In order of score, each takes the free labelled box that it overlaps most, from ``threshold`` on (COCO's rule).
    """
    overlap = iou(boxes, truth)
    hits = np.full(len(boxes), -1, np.intp)
    for row in range(len(boxes)):
        if overlap.shape[1] == 0:
            break
        best = int(overlap[row].argmax())
        if overlap[row, best] >= threshold:
            hits[row] = best
            overlap[:, best] = -1
    return hits


def judged(picture: Detections, threshold: float = 0.5) -> tuple[Flags, Flags]:
    """A picture -> which found boxes are right, (N,), and which count at all: those not only in an ignored region.

    As COCO treats crowds: a box that hits no label is dropped if at least ``threshold`` of its own area lies in one
    region, and a region may take several boxes (`ignore` and `iscrowd` of pycocotools' COCOeval).
    """
    hits = match(picture.boxes, picture.truth, threshold) >= 0
    return hits, hits | ~(inside(picture.boxes, picture.ignored) >= threshold).any(axis=1)


def precision_recall(pictures: Sequence[Detections], threshold: float = 0.5) -> Curve:
    """Pictures -> precision and recall at every score, at an overlap of ``threshold``."""
    flags = [judged(picture, threshold) for picture in pictures] or [(np.empty(0, bool), np.empty(0, bool))]
    hits, counted = (np.concatenate(each) for each in zip(*flags, strict=True))
    scores = np.concatenate([p.scores for p in pictures] or [np.empty(0, np.float32)]).astype(np.float64)[counted]
    labelled = sum(len(picture.truth) for picture in pictures)
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(hits[counted][order])
    return Curve(scores=scores[order], precision=right / np.arange(1, len(order) + 1), recall=right / max(labelled, 1))


def average_precision(pictures: Sequence[Detections], threshold: float = 0.5) -> float:
    """Pictures -> area under precision over recall, 0..1: the mean precision at 101 recalls 0, 0.01, ..., 1 (COCO)."""
    curve = precision_recall(pictures, threshold)
    if not len(curve.scores):
        return 0.0
    envelope = np.maximum.accumulate(curve.precision[::-1])[::-1]
    index = np.searchsorted(curve.recall, np.linspace(0, 1, 101) - 1e-9)
    return float(np.mean([envelope[i] if i < len(envelope) else 0.0 for i in index]))


def mean_average_precision(pictures: Sequence[Detections]) -> float:
    """Pictures -> AP@0.5:0.95, the mean of `average_precision` over `IOU_THRESHOLDS`."""
    return float(np.mean([average_precision(pictures, threshold) for threshold in IOU_THRESHOLDS]))


def found(pictures: Sequence[Detections], score: float) -> Flags:
    """Pictures -> for each labelled box, in order, whether a box with a score of at least ``score`` hits it."""
    flags = []
    for picture in pictures:
        hits = match(picture.boxes[picture.scores >= score], picture.truth)
        flags.append(np.isin(np.arange(len(picture.truth)), hits))
    return np.concatenate(flags or [np.empty(0, bool)])


def recall_by_height(
    pictures: Sequence[Detections], score: float, edges: Sequence[float] = (0, 6, 8, 10, 13, 16, 20, 30, 50)
) -> list[tuple[float, float, int, float]]:
    """Pictures -> rows ``from, to, plates, recall`` over the plate's height in px, at an overlap of 0.5."""
    flags = found(pictures, score)
    height = np.concatenate([p.truth[:, 3] - p.truth[:, 1] for p in pictures] or [np.empty(0, np.float32)])
    rows = []
    for low, high in zip(edges, (*edges[1:], np.inf), strict=True):
        within = (height >= low) & (height < high)
        if within.any():
            rows.append((float(low), float(high), int(within.sum()), float(flags[within].mean())))
    return rows
