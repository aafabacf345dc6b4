"""Whether the confidence is calibrated: of texts with a confidence of 0.9, are nine in ten right?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plate_nets.evaluation.reading_metrics import ReadPlate, Share

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.97, 1.0)
"""Confidences at which a new bin begins; narrow bins where most plates are."""
_CERTAIN = 1e-4
"""Confidences are clipped to this distance from 0 and 1, so that one wrong text does not outweigh thousands."""


@dataclass(frozen=True)
class ConfidenceBin:
    """Texts in one range of confidence: how many, their mean confidence, and how many are right."""

    low: float
    high: float
    confidence: float
    right: Share


def reliability(plates: Sequence[ReadPlate]) -> list[ConfidenceBin]:
    """Plates with all their texts, sure or not -> the non-empty bins, lowest confidence first.

    Evaluate with a decoder whose minimum confidence is 0.
    """
    outcomes = [(plate.reading.confidence, plate.exact) for plate in plates if plate.text and plate.reading]
    bins = []
    for low, high in pairwise(EDGES):
        inside = [(c, right) for c, right in outcomes if low <= c < high or c == high == EDGES[-1]]
        if inside:
            share = Share(sum(right for _, right in inside), len(inside))
            bins.append(ConfidenceBin(low, high, float(np.mean([c for c, _ in inside])), share))
    return bins


def calibration_error(bins: Sequence[ConfidenceBin]) -> float:
    """The mean distance between confidence and the share of right texts, 0..1 (Guo et al., 2017: expected error)."""
    count = sum(each.right.count for each in bins)
    return sum(each.right.count * abs(each.confidence - each.right.value) for each in bins) / max(count, 1)


def log_loss(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Confidences, 0..1, and whether their texts are right -> the mean of -log of what each outcome was given.

    Less is better.
    """
    given = [(min(max(confidence, _CERTAIN), 1 - _CERTAIN), right) for confidence, right in outcomes]
    return -sum(math.log(p if right else 1 - p) for p, right in given) / max(len(given), 1)
