"""Whether the score of events means what it says, and what each gate costs: cars without a text, wrong texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from plate_nets.evaluation.calibration import ConfidenceBin, bins_of

GATES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
EDGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
BANDS = (0.0, 10.0, 12.0, 14.0, 17.0, 20.0, 1000.0)
"""px of a plate's box in the best frame."""


@dataclass(frozen=True)
class LastWord:
    """What was thought of a car at last: the probability of the best text, told or not, and whether it is right.

    ``height``: of the plate's box in the best frame, px.
    """

    probability: float
    right: bool
    height: float


@dataclass(frozen=True)
class GateCost:
    """A gate, and what it costs: of the cars that can be read, those without their text; wrong texts a thousand cars.

    ``told``: texts of any car; ``wrong``: of them.
    """

    gate: float
    told: int
    wrong: int
    wrong_per_thousand: float
    untold: float


def gate_costs(words: Sequence[LastWord], cars: int) -> list[GateCost]:
    """What was thought of cars, and how many cars can be read -> the cost of each of `GATES`."""
    rows = []
    for gate in GATES:
        told = [word for word in words if word.probability >= gate]
        wrong = sum(not word.right for word in told)
        untold = 1 - min(1.0, (len(told) - wrong) / max(cars, 1))
        rows.append(GateCost(gate, len(told), wrong, 1000 * wrong / max(cars, 1), untold))
    return rows


def event_reliability(words: Sequence[LastWord]) -> list[ConfidenceBin]:
    """What was thought of cars -> for each range of probabilities, how many were right."""
    return bins_of([(word.probability, word.right) for word in words], EDGES)


def right_by_height(words: Sequence[LastWord], sure: float) -> list[tuple[float, float, int, int, int]]:
    """What was thought of cars -> rows by height: from and to (px), cars, texts told at this gate, right ones."""
    rows = []
    for low, high in pairwise(BANDS):
        inside = [word for word in words if low <= word.height < high]
        told = [word for word in inside if word.probability >= sure]
        if inside:
            rows.append((low, high, len(inside), len(told), sum(word.right for word in told)))
    return rows
