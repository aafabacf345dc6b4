"""One load on one wiring -> its figures, and a grid of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.callers import InputKind, subject
from benchmarks.frames import Picture
from benchmarks.load import Load, closed_load, open_load
from benchmarks.server_side import difference
from benchmarks.target import Target
from benchmarks.variants.contract import PLATE_TEXT

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Run:
    """What is to be measured: a wiring under a closed load (``concurrency``) or an open one (``rate`` a second)."""

    wiring: str
    kind: InputKind
    pictures: Sequence[Picture]
    concurrency: int | None
    rate: float | None = None
    seconds: float = 5.0

    @property
    def plates(self) -> int | None:
        """On each picture, None where it differs or is not known."""
        counts = {picture.plates for picture in self.pictures}
        return counts.pop() if len(counts) == 1 else None


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """Latencies -> p50, p90, p99, mean and largest, ms; empty where there is none."""
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


def measure(target: Target, run: Run) -> dict[str, Any]:
    """Run a load -> its figures, those of the server's processes and of each of its models.

    ``server`` is null where its processes cannot be seen, ``models`` where its statistics are not open to us. Both
    count the warm-up of the load in.
    """
    asked = subject(target.url, run.wiring, run.kind, target.control_key)
    processes = target.processes
    before, cpu = target.statistics(), processes.cpu_seconds() if processes else 0.0
    if run.rate is not None:
        load = open_load(asked, run.pictures, run.rate, run.seconds)
    else:
        load = closed_load(asked, run.pictures, run.concurrency or 1, run.seconds)
    server = None
    if processes:
        spent = processes.cpu_seconds() - cpu
        server = {
            "cpu_seconds": spent,
            "cpu_ms_per_frame": spent * 1000 / max(1, len(load.good) + load.warm_up),
            "pss_bytes": processes.pss(),
        }
    after = None if load.stopped else target.statistics()
    return {
        "wiring": run.wiring,
        "input": run.kind.value,
        "protocol": target.url.partition("://")[0],
        "pictures": sorted({picture.name for picture in run.pictures}),
        "plates": run.plates,
        "concurrency": run.concurrency,
        "rate": run.rate,
        **figures(load),
        "server": server,
        "models": None if before is None or after is None else difference(before, after),
    }


def grid(
    wirings: Sequence[str],
    kinds: Sequence[InputKind],
    pictures: Sequence[Sequence[Picture]],
    concurrency: Sequence[int],
    rate: float | None,
    seconds: float,
) -> Iterator[Run]:
    """All combinations; the wirings of one combination follow each other, so that they see the same machine.

    With a ``rate`` the load is open and the concurrencies do not apply.
    """
    for kind in kinds:
        for group in pictures:
            for askers in (None,) if rate is not None else concurrency:
                for wiring in wirings:
                    if wiring == PLATE_TEXT.name and (kind is not InputKind.raw or not group[0].plates):
                        continue  # it takes crops
                    yield Run(wiring, kind, group, askers, rate, seconds)
