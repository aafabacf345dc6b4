"""How a server behaves under more load than it can carry: goodput, and how it refuses the rest."""

from collections.abc import Sequence
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


def measure_overload(factory: CallerFactory, pictures: Sequence[Picture], seconds: float) -> dict[str, Any]:
    """A closed load for the maximum, then an open one of `FACTOR` times as much, each for ``seconds`` -> JSON-ready.

    ``maximum``, ``offered`` and ``goodput`` are frames per second, ``ratio`` is goodput over maximum; ``refused``
    counts what a full queue refused, ``failed`` has the other errors, each once; ``refusal_ms`` and ``answer_ms`` are
    the median and the 95th percentile of the time until a refusal and an answer.

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
    goodput = len(load.good) / load.seconds
    return {
        "maximum": maximum,
        "offered": len(load.samples) / seconds,
        "goodput": goodput,
        "refused": len(refused),
        "failed": sorted({sample.error or "" for error, sample in faults if error is not ServerOverloaded}),
        "refusal_ms": _middle_and_tail(refused),
        "answer_ms": _middle_and_tail(load.milliseconds),
        "ratio": goodput / maximum,
    }


def _middle_and_tail(milliseconds: Sequence[float]) -> tuple[float, float]:
    return (float(np.median(milliseconds)), float(np.percentile(milliseconds, 95))) if milliseconds else (0.0, 0.0)
