"""Whether the confidence means what it says: of texts given with 0.9, are nine of ten right?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plate_nets.evaluation.reading_metrics import ReadPlate, Share

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.97, 1.0)
"""Confidences at which a new bin begins; narrow where nearly all plates are."""


@dataclass(frozen=True)
class ConfidenceBin:
    """Texts of one range of confidence: how many, their mean confidence, and how many are right."""

    low: float
    high: float
    confidence: float
    right: Share


def reliability(plates: Sequence[ReadPlate]) -> list[ConfidenceBin]:
    """Plates with every text they have, sure or not -> the bins that have any, lowest confidence first.

    So evaluate with a decoder that asks for no confidence.
    """
    return bins_of([(plate.reading.confidence, plate.exact) for plate in plates if plate.text and plate.reading])


def bins_of(given: Sequence[tuple[float, bool]], edges: Sequence[float] = EDGES) -> list[ConfidenceBin]:
    """Confidences, 0..1, and whether their texts are right -> the bins that have any, lowest confidence first."""
    bins = []
    for low, high in pairwise(edges):
        inside = [(c, right) for c, right in given if low <= c < high or c == high == edges[-1]]
        if inside:
            share = Share(sum(right for _, right in inside), len(inside))
            bins.append(ConfidenceBin(low, high, float(np.mean([c for c, _ in inside])), share))
    return bins


def calibration_error(bins: Sequence[ConfidenceBin]) -> float:
    """The mean distance of confidence and share right over all texts, 0..1 (Guo et al., 2017: expected error)."""
    count = sum(each.right.count for each in bins)
    return sum(each.right.count * abs(each.confidence - each.right.value) for each in bins) / max(count, 1)
