"""How a server behaves under more load than it can carry: goodput, and how it refuses the rest."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.callers.caller import CallerFactory
from benchmarks.callers.pictures import Picture
from benchmarks.load import closed_load, open_load
from plate_nets.common.error_codes import find_answer
from plate_nets.common.errors import ServerError, ServerOverloaded

SATURATING = 8
"""Callers of the closed load whose goodput counts as the maximum."""
FACTOR = 4.0


@dataclass(frozen=True)
class Overload:
    """Frames per second that a server answers: at its best, and under overload."""

    maximum: float
    offered: float
    goodput: float
    refused: int
    """Requests refused by a full queue."""
    failed: tuple[str, ...]
    """Other errors, without repetitions."""
    refusal_ms: tuple[float, float]
    """Median and 95th percentile of the time until a refusal."""
    answer_ms: tuple[float, float]
    """The same for answers."""

    @property
    def ratio(self) -> float:
        """Goodput under overload over the maximum."""
        return self.goodput / self.maximum

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, with the ratio."""
        return asdict(self) | {"ratio": self.ratio}

    def __str__(self) -> str:
        return (
            f"maximum {self.maximum:.1f} frames/s; offered {self.offered:.1f}, answered {self.goodput:.1f} "
            f"(ratio {self.ratio:.2f}), refused {self.refused} in {self.refusal_ms[0]:.0f} ms (p95 "
            f"{self.refusal_ms[1]:.0f}); answers took {self.answer_ms[0]:.0f} ms (p95 {self.answer_ms[1]:.0f})"
        )


def measure_overload(factory: CallerFactory, pictures: Sequence[Picture], seconds: float) -> Overload:
    """A closed load for the maximum, then an open one of `FACTOR` times as much, each for ``seconds``.

    Raises:
        ServerError: a load ended early; the message says why.
    """
    best = closed_load(factory, pictures, SATURATING, seconds)
    if best.stopped or not best.good:
        raise ServerError(f"the load that measures the maximum ended early: {best.stopped or 'no answer'}")
    maximum = len(best.good) / best.seconds
    load = open_load(factory, pictures, FACTOR * maximum, seconds)
    if load.stopped:
        raise ServerError(f"the overload ended early: {load.stopped}")
    faults = [(find_answer(sample.error)[0].error, sample) for sample in load.samples if sample.error is not None]
    refused = [sample.seconds * 1000 for error, sample in faults if error is ServerOverloaded]
    return Overload(
        maximum=maximum,
        offered=len(load.samples) / seconds,
        goodput=len(load.good) / load.seconds,
        refused=len(refused),
        failed=tuple(sorted({sample.error or "" for error, sample in faults if error is not ServerOverloaded})),
        refusal_ms=_middle_and_tail(refused),
        answer_ms=_middle_and_tail(load.milliseconds),
    )


def _middle_and_tail(milliseconds: Sequence[float]) -> tuple[float, float]:
    return (float(np.median(milliseconds)), float(np.percentile(milliseconds, 95))) if milliseconds else (0.0, 0.0)
