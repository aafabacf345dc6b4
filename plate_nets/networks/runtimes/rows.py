"""Selects the best rows of a detector network."""

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Scores


def best_rows(rows: NDArray[np.float32], least: float, iou_threshold: float) -> NDArray[np.intp]:
    """Rows of the network (A, 5 + classes) -> the indices of those with a score above ``least`` that overlap no better
    one.

    Highest score first.
    """
    scores = row_scores(rows)
    likely = np.flatnonzero(scores > least)
    sizes = rows[likely, 2:4]
    boxes = np.concatenate((rows[likely, 0:2] - sizes / 2, sizes), axis=1)
    # As lists: OpenCV takes three times as long to convert arrays of float32
    kept = np.asarray(cv2.dnn.NMSBoxes(boxes.tolist(), scores[likely].tolist(), least, iou_threshold), np.intp)
    best: NDArray[np.intp] = likely[kept.reshape(-1)]
    return best


def row_scores(rows: NDArray[np.float32]) -> Scores:
    """Rows of the network (A, 5 + classes) -> their scores (A,)."""
    scores: Scores = rows[:, 4] * rows[:, 5:].max(axis=1)
    return scores
