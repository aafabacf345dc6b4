"""Runs one load on one variant of the pipeline, and grids of them -> figures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.callers.caller import InputKind, caller_factory
from benchmarks.callers.pictures import Picture
from benchmarks.load import Load, closed_load, open_load
from benchmarks.server.server import MeasuredServer
from benchmarks.server.statistics import difference

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Run:
    """What to measure: a variant under a closed load (``concurrency``) or an open one (``rate`` per second)."""

    variant: str
    kind: InputKind
    pictures: Sequence[Picture]
    concurrency: int | None
    rate: float | None = None
    seconds: float = 5.0

    @property
    def plates(self) -> int | None:
        """Plates on each picture; None if they differ or are unknown."""
        counts = {picture.plates for picture in self.pictures}
        return counts.pop() if len(counts) == 1 else None


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """Latencies -> p50, p90, p99, mean and maximum, ms; empty without latencies."""
    if not milliseconds:
        return {}
    values = np.percentile(milliseconds, PERCENTILES)
    return {
        **{f"p{percent}_ms": float(value) for percent, value in zip(PERCENTILES, values, strict=True)},
        "mean_ms": float(np.mean(milliseconds)),
        "max_ms": float(np.max(milliseconds)),
    }


def figures(load: Load) -> dict[str, Any]:
    """A load -> its figures, JSON-ready."""
    good = load.good
    errors: dict[str, int] = {}
    for sample in load.samples:
        if sample.error is not None:
            errors[sample.error] = errors.get(sample.error, 0) + 1
    seconds = load.seconds or float("inf")
    return {
        "frames": len(good),
        "errors": errors,
        "stopped": load.stopped,
        "seconds": load.seconds,
        **latency(load.milliseconds),
        "frames_per_s": len(good) / seconds,
        "plates_per_s": sum(sample.plates for sample in good) / seconds,
        "client_cpu_share": load.client_cpu / seconds,
    }


def measure(server: MeasuredServer, run: Run) -> dict[str, Any]:
    """Run a load -> its figures, those of the server's processes and of each of its models.

    ``server`` is null if its processes are not visible, ``models`` if its statistics are not accessible. Both include
    the warm-up of the load.
    """
    factory = caller_factory(server.url, run.variant, run.kind, server.control_key)
    processes = server.processes
    before, cpu = server.statistics(), processes.cpu_seconds() if processes else 0.0
    if run.rate is not None:
        load = open_load(factory, run.pictures, run.rate, run.seconds)
    else:
        load = closed_load(factory, run.pictures, run.concurrency or 1, run.seconds)
    spent_by_server = None
    if processes:
        spent = processes.cpu_seconds() - cpu
        spent_by_server = {
            "cpu_seconds": spent,
            "cpu_ms_per_frame": spent * 1000 / max(1, len(load.good) + load.warm_up),
            "pss_bytes": processes.pss(),
        }
    after = None if load.stopped else server.statistics()
    return {
        "variant": run.variant,
        "input": run.kind.value,
        "protocol": server.url.partition("://")[0],
        "pictures": sorted({picture.name for picture in run.pictures}),
        "plates": run.plates,
        "concurrency": run.concurrency,
        "rate": run.rate,
        **figures(load),
        "server": spent_by_server,
        "models": None if before is None or after is None else difference(before, after),
    }


def grid(
    variants: Sequence[str],
    kinds: Sequence[InputKind],
    pictures: Sequence[Sequence[Picture]],
    concurrency: Sequence[int],
    rate: float | None,
    seconds: float,
) -> Iterator[Run]:
    """All combinations; the variants of one combination follow each other, so that conditions are the same.

    With a ``rate`` the load is open and the concurrencies do not apply.
    """
    for kind in kinds:
        for group in pictures:
            for callers in (None,) if rate is not None else concurrency:
                for variant in variants:
                    yield Run(variant, kind, group, callers, rate, seconds)
