"""Measures the project's target figures, from workloads that run in turn within one run.

They take turns for `ROUNDS` rounds, so that a machine that slows down slows all of them; a ratio is the median of its
rounds' ratios.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from benchmarks.callers.caller import CLIENT_CHAIN, CallerFactory, InputKind, caller_factory
from benchmarks.callers.in_process import InProcess, bare_networks
from benchmarks.callers.pictures import FULL_HD, Picture, drawn_picture
from benchmarks.load import Load, closed_load
from benchmarks.measures.loads import figures
from benchmarks.report.report import Report
from benchmarks.server.server import MeasuredServer
from benchmarks.variants.contract import VARIANTS
from plate_nets.common.errors import ServerError
from plate_nets.contract import PLATE_RECOGNITION, YOLO
from plate_nets.triton.backend.settings import NetworkSettings, thread_count

ROUNDS = 6
FRAMES = 2000
"""Frames that the memory test reads."""
BARE = "bare "
CASES = ((1, 1), (4, 1), (4, 4), (16, 4), (4, 8))
"""Plates, and concurrent requests, for which the variants are compared."""

Rounds = Mapping[str, Sequence[Load]]
"""Name of a workload -> its result in each round."""


@dataclass(frozen=True)
class Workload:
    """One timed workload: the caller, its pictures, and how many at once."""

    factory: CallerFactory
    picture: Picture
    concurrency: int = 1


def measure_targets(
    server: MeasuredServer,
    report: Report,
    progress: Progress,
    variants: bool,
    seconds: float,
) -> None:
    """Measure everything and put ``workloads`` and ``targets`` into the report; ``seconds``: per workload, all rounds.

    Raises:
        ServerError: the server failed; what was measured before is in the report.
        WeightsError: the networks are not converted here, for the workloads without a server.
    """
    rows: list[dict[str, Any]] = []

    def keep(*more: dict[str, Any]) -> None:
        rows.extend(more)
        report.set("targets", rows)

    if server.start_seconds is not None:
        keep(target_row("start to ready", server.start_seconds, 10.0, "all models, warm-up included", unit="s"))
    if server.processes is not None:
        keep(*measure_memory(server, progress))

    local = InProcess(thread_count(NetworkSettings(), instances=1))
    workloads = _workloads(server, local)
    others: list[str] = []
    if variants:
        others = [*VARIANTS, CLIENT_CHAIN]
        server.need(VARIANTS, load=True)
        workloads |= _variant_workloads(server, (PLATE_RECOGNITION.name, *others))
    for rounds in interleave(workloads, seconds, progress):
        report.set("workloads", {name: figures(_together(loads)) for name, loads in rounds.items()})
        report.set("targets", [*rows, *ratios(rounds), *variant_ratios(rounds, others)])


def interleave(workloads: Mapping[str, Workload], seconds: float, progress: Progress) -> Iterator[Rounds]:
    """Each workload in turn, for `ROUNDS` rounds -> the loads of each so far, after each round.

    Raises:
        ServerError: a workload could not be measured.
    """
    rounds: dict[str, list[Load]] = {name: [] for name in workloads}
    for _ in progress.track(range(ROUNDS), description=f"{len(workloads)} workloads in turn"):
        for name, workload in workloads.items():
            load = closed_load(workload.factory, [workload.picture], workload.concurrency, seconds / ROUNDS)
            if load.stopped or not load.good:
                raise ServerError(f"{name}: {load.stopped or 'no answer in its time'}")
            rounds[name].append(load)
        yield rounds


def ratios(rounds: Rounds) -> list[dict[str, Any]]:
    """The workloads of `_workloads` -> rows of the table of ratios."""
    bare = sorted(name for name in rounds if name.startswith(BARE))
    large, large_raw = p50(rounds, "served 1920x1080"), p50(rounds, "served raw 1920x1080")
    one, none = p50(rounds, "served, 1 plate"), p50(rounds, "served raw, 0 plates")
    four, alone = (frames_per_s(rounds, name) for name in ("served, 1 plate, 4 at once", "served, 1 plate"))
    return [
        _ratio("served over in process", one, p50(rounds, "in process, 1 plate"), 1.20, "p50, encoded, 1 plate"),
        _ratio("served over the bare networks", one, p50(rounds, *bare), 1.6, f"p50; {', '.join(bare)}"),
        _ratio("no plate over yolo alone", none, p50(rounds, "yolo raw, 0 plates"), 1.10, "p50, both served and raw"),
        _ratio("16 plates over 1", p50(rounds, "served, 16 plates"), one, 2.0, "p50, encoded"),
        _ratio("frames/s, 4 at once over 1", four, alone, 1.5, "encoded, 1 plate", at_most=False),
        _ratio("encoded over raw, 1920x1080", large, large_raw, None, "p50, 1 plate"),
    ]


def variant_ratios(rounds: Rounds, others: Sequence[str]) -> list[dict[str, Any]]:
    """Workloads named ``variant, case`` -> the production variant over the best other one, a row per case."""
    rows = []
    for plates, callers in CASES if others else ():
        case = _case(plates, callers)
        best = min(others, key=lambda name: statistics.median(p50(rounds, f"{name}, {case}")))
        own, other = (p50(rounds, f"{name}, {case}") for name in (PLATE_RECOGNITION.name, best))
        target = 1.15 if callers == 1 else 1.0
        rows.append(_ratio(f"BLS over the best other, {case}", own, other, target, f"p50, encoded; {best}"))
    return rows


def measure_memory(server: MeasuredServer, progress: Progress) -> list[dict[str, Any]]:
    """Half of `FRAMES`, then the other half, mixed and 4 at once -> rows on the server's memory after each.

    Raises:
        ServerError: the server failed.
    """
    assert server.processes is not None
    pictures = [drawn_picture(plates) for plates in (0, 1, 4, 16)]
    after: list[int] = []
    for half in progress.track(range(2), description=f"memory over {FRAMES} frames"):
        for kind in (InputKind.encoded, InputKind.raw):
            factory = caller_factory(server.url, PLATE_RECOGNITION.name, kind)
            load = closed_load(factory, pictures, 4, seconds=FRAMES, frames=FRAMES // 4)
            if load.stopped or len(load.good) < FRAMES // 4:
                failed = [sample.error for sample in load.samples if sample.error]
                raise ServerError(f"memory, half {half + 1}: {load.stopped or (failed or ['too slow'])[0]}")
        after.append(server.processes.pss())
    growth = (after[1] - after[0]) / after[0] if after[0] else 0.0
    how = f"PSS of all its processes after {FRAMES} frames of 0, 1, 4, 16 plates, encoded and raw, 4 at once"
    return [
        target_row("memory of the server", after[1] / 1e9, 1.5, how, unit="GB"),
        target_row(
            f"its growth over the last {FRAMES // 2}", growth * 100, 1.0, f"from {after[0] / 1e6:.0f} MB", unit="%"
        ),
    ]


def target_row(
    name: str, value: float, target: float | None, detail: str, unit: str = "", at_most: bool = True
) -> dict[str, Any]:
    """A measured value beside its target -> a row of the table; ``at_most``: whether the target is an upper limit."""
    met = None if target is None else value <= target if at_most else value >= target
    return {
        "what": name,
        "value": value,
        "target": target,
        "at_most": at_most,
        "met": met,
        "unit": unit,
        "detail": detail,
    }


def p50(rounds: Rounds, *names: str) -> list[float]:
    """Median latency of each round, ms, added up over workloads."""
    each = [[statistics.median(load.milliseconds) for load in rounds[name]] for name in names]
    return [sum(values) for values in zip(*each, strict=True)]


def frames_per_s(rounds: Rounds, name: str) -> list[float]:
    """Throughput of each round."""
    return [len(load.good) / load.seconds for load in rounds[name]]


def _ratio(
    name: str, over: Sequence[float], under: Sequence[float], target: float | None, detail: str, at_most: bool = True
) -> dict[str, Any]:
    each = [a / b for a, b in zip(over, under, strict=True)]
    spread = f"{min(each):.2f} to {max(each):.2f} over the rounds"
    return target_row(name, statistics.median(each), target, f"{detail}; {spread}", at_most=at_most)


def _workloads(server: MeasuredServer, local: InProcess) -> dict[str, Workload]:
    none, one, many = (drawn_picture(plates) for plates in (0, 1, 16))
    large = drawn_picture(1, FULL_HD)
    encoded, raw = (
        caller_factory(server.url, PLATE_RECOGNITION.name, kind) for kind in (InputKind.encoded, InputKind.raw)
    )
    return {
        "served, 1 plate": Workload(encoded, one),
        "in process, 1 plate": Workload(lambda: local, one),
        **{f"{BARE}{name}": Workload(caller, one) for name, caller in bare_networks(local, one).items()},
        "served raw, 0 plates": Workload(raw, none),
        "yolo raw, 0 plates": Workload(caller_factory(server.url, YOLO.name, InputKind.raw), none),
        "served, 16 plates": Workload(encoded, many),
        "served, 1 plate, 4 at once": Workload(encoded, one, 4),
        "served 1920x1080": Workload(encoded, large),
        "served raw 1920x1080": Workload(raw, large),
    }


def _variant_workloads(server: MeasuredServer, variants: Sequence[str]) -> dict[str, Workload]:
    return {
        f"{name}, {_case(plates, callers)}": Workload(
            caller_factory(server.url, name, InputKind.encoded), drawn_picture(plates), callers
        )
        for plates, callers in CASES
        for name in variants
    }


def _case(plates: int, callers: int) -> str:
    return f"{plates} plate{'s' * (plates != 1)}, {callers} at once"


def _together(loads: Sequence[Load]) -> Load:
    whole = Load()
    for load in loads:
        whole.samples.extend(load.samples)
        whole.seconds += load.seconds
        whole.client_cpu += load.client_cpu
    return whole
