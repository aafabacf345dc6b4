"""Whether the score of events is calibrated, and what each gate costs: cars without a text, wrong texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from plate_nets.evaluation.calibration import ConfidenceBin, bins_of

GATES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
EDGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
BANDS = (0.0, 10.0, 12.0, 14.0, 17.0, 20.0, 1000.0)
"""px of the plate's box in the best frame."""


@dataclass(frozen=True)
class FinalText:
    """The final result for a car: the probability of the best text, reported or not, and whether it is right.

    ``height``: of the plate's box in the best frame, px.
    """

    probability: float
    right: bool
    height: float


@dataclass(frozen=True)
class GateCost:
    """A gate and its cost: the share of readable cars without their text, and wrong texts per thousand cars.

    ``reported``: texts of any car; ``wrong``: how many of them are wrong.
    """

    gate: float
    reported: int
    wrong: int
    wrong_per_thousand: float
    unreported: float


def gate_costs(texts: Sequence[FinalText], cars: int) -> list[GateCost]:
    """Final texts, and the number of readable cars -> the cost of each of `GATES`."""
    rows = []
    for gate in GATES:
        reported = [text for text in texts if text.probability >= gate]
        wrong = sum(not text.right for text in reported)
        unreported = 1 - min(1.0, (len(reported) - wrong) / max(cars, 1))
        rows.append(GateCost(gate, len(reported), wrong, 1000 * wrong / max(cars, 1), unreported))
    return rows


def event_reliability(texts: Sequence[FinalText]) -> list[ConfidenceBin]:
    """Final texts -> for each range of probabilities, how many were right."""
    return bins_of([(text.probability, text.right) for text in texts], EDGES)


def right_by_height(texts: Sequence[FinalText], sure: float) -> list[tuple[float, float, int, int, int]]:
    """Final texts -> rows by height: from and to (px), cars, texts reported at this gate, right ones."""
    rows = []
    for low, high in pairwise(BANDS):
        inside = [text for text in texts if low <= text.height < high]
        reported = [text for text in inside if text.probability >= sure]
        if inside:
            rows.append((low, high, len(inside), len(reported), sum(text.right for text in reported)))
    return rows
