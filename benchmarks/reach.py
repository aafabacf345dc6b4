"""The ratios that the project holds itself to, each from sides that are measured in turn in one run.

The sides take turns for `ROUNDS` rounds, so that a machine that slows down slows all of them; a ratio is the median of
its rounds' ratios.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.callers import CLIENT_CHAIN, InputKind, Subject, subject
from benchmarks.frames import FULL_HD, Picture, drawn_picture
from benchmarks.in_process import InProcess, bare_networks
from benchmarks.load import Load, closed_load
from benchmarks.report import Report
from benchmarks.runs import figures
from benchmarks.target import OTHER_WIRINGS, Target
from plate_nets.contract import PLATE_RECOGNITION, YOLO
from plate_nets.errors import ServerError
from plate_nets.serving.settings import NetworkSettings, thread_count

ROUNDS = 6
BARE = "bare "
CASES = ((1, 1), (4, 1), (4, 4), (16, 4), (4, 8))
"""Plates and requests at once, in which the wirings are compared."""

Rounds = Mapping[str, Sequence[Load]]
"""Name of a side -> what came of it in each round."""


@dataclass(frozen=True)
class Side:
    """One thing that is timed: who asks, about what, how many at once."""

    subject: Subject
    picture: Picture
    concurrency: int = 1


def measure_reach(
    target: Target, report: Report, progress: Progress, repository: Path, wirings: bool, frames: int, seconds: float
) -> None:
    """Measures all and puts ``sides`` and ``reach`` into the report; ``seconds`` are those of each side, all rounds.

    Raises:
        ServerError: the server failed; what was measured before is in the report.
        WeightsError: the networks are not converted here, for the sides without a server.
    """
    rows: list[dict[str, Any]] = []

    def keep(*more: dict[str, Any]) -> None:
        rows.extend(more)
        report.set("reach", rows)

    if target.start_seconds is not None:
        keep(reached("start to ready", target.start_seconds, 10.0, "all models, warm-up included", unit="s"))
    if target.processes is not None:
        keep(*measure_memory(target, frames, progress))

    local = InProcess(repository, thread_count(NetworkSettings(), instances=1))
    sides = _sides(target, local)
    others: list[str] = []
    if wirings:
        others = [*OTHER_WIRINGS, CLIENT_CHAIN]
        target.need(OTHER_WIRINGS, load=True)
        sides |= _wiring_sides(target, (PLATE_RECOGNITION.name, *others))
    for rounds in interleave(sides, seconds, progress):
        report.set("sides", {name: figures(_together(loads)) for name, loads in rounds.items()})
        report.set("reach", [*rows, *ratios(rounds), *wiring_ratios(rounds, others)])


def interleave(sides: Mapping[str, Side], seconds: float, progress: Progress) -> Iterator[Rounds]:
    """Each side in turn, for `ROUNDS` rounds -> the loads of each so far, after each round.

    Raises:
        ServerError: a side could not be measured.
    """
    rounds: dict[str, list[Load]] = {name: [] for name in sides}
    for _ in progress.track(range(ROUNDS), description=f"{len(sides)} sides in turn"):
        for name, side in sides.items():
            load = closed_load(side.subject, [side.picture], side.concurrency, seconds / ROUNDS)
            if load.stopped or not load.good:
                raise ServerError(f"{name}: {load.stopped or 'no answer in its time'}")
            rounds[name].append(load)
        yield rounds


def ratios(rounds: Rounds) -> list[dict[str, Any]]:
    """The sides of `_sides` -> rows of the table of ratios."""
    bare = sorted(name for name in rounds if name.startswith(BARE))
    large, large_raw = p50(rounds, "served 1920x1080"), p50(rounds, "served raw 1920x1080")
    one, none = p50(rounds, "served, 1 plate"), p50(rounds, "served raw, 0 plates")
    four, alone = (frames_per_s(rounds, name) for name in ("served, 1 plate, 4 at once", "served, 1 plate"))
    return [
        _ratio("served over in process", one, p50(rounds, "in process, 1 plate"), 1.20, "p50, encoded, 1 plate"),
        _ratio("served over the bare networks", one, p50(rounds, *bare), 1.6, f"p50; {', '.join(bare)}"),
        _ratio("no plate over yolo alone", none, p50(rounds, "yolo raw, 0 plates"), 1.10, "p50, both served and raw"),
        _ratio("16 plates over 1", p50(rounds, "served, 16 plates"), one, 2.0, "p50, encoded"),
        _ratio("frames/s, 4 at once over 1", four, alone, 1.5, "encoded, 1 plate", most=False),
        _ratio("encoded over raw, 1920x1080", large, large_raw, None, "p50, 1 plate"),
    ]


def wiring_ratios(rounds: Rounds, others: Sequence[str]) -> list[dict[str, Any]]:
    """Sides named ``wiring, case`` -> the production wiring over the best other one, a row a case."""
    rows = []
    for plates, askers in CASES if others else ():
        case = _case(plates, askers)
        best = min(others, key=lambda name: statistics.median(p50(rounds, f"{name}, {case}")))
        own, other = (p50(rounds, f"{name}, {case}") for name in (PLATE_RECOGNITION.name, best))
        reach = 1.15 if askers == 1 else 1.0
        rows.append(_ratio(f"BLS over the best other, {case}", own, other, reach, f"p50, encoded; {best}"))
    return rows


def measure_memory(target: Target, frames: int, progress: Progress) -> list[dict[str, Any]]:
    """Half of the frames and the other half, mixed and 4 at once -> rows on the server's memory after each.

    Raises:
        ServerError: the server failed.
    """
    assert target.processes is not None
    pictures = [drawn_picture(plates) for plates in (0, 1, 4, 16)]
    after: list[int] = []
    for half in progress.track(range(2), description=f"memory over {frames} frames"):
        for kind in (InputKind.encoded, InputKind.raw):
            asked = subject(target.url, PLATE_RECOGNITION.name, kind)
            load = closed_load(asked, pictures, 4, seconds=frames, frames=frames // 4)
            if load.stopped or len(load.good) < frames // 4:
                failed = [sample.error for sample in load.samples if sample.error]
                raise ServerError(f"memory, half {half + 1}: {load.stopped or (failed or ['too slow'])[0]}")
        after.append(target.processes.pss())
    growth = (after[1] - after[0]) / after[0] if after[0] else 0.0
    how = f"PSS of all its processes after {frames} frames of 0, 1, 4, 16 plates, encoded and raw, 4 at once"
    return [
        reached("memory of the server", after[1] / 1e9, 1.5, how, unit="GB"),
        reached(
            f"its growth over the last {frames // 2}", growth * 100, 1.0, f"from {after[0] / 1e6:.0f} MB", unit="%"
        ),
    ]


def reached(
    what: str, value: float, reach: float | None, detail: str, unit: str = "", most: bool = True
) -> dict[str, Any]:
    """A measured value beside its reach -> a row of the table, JSON-ready; ``most``: met at the reach and below."""
    met = None if reach is None else value <= reach if most else value >= reach
    return {
        "what": what,
        "value": value,
        "reach": reach,
        "at_most": most,
        "met": met,
        "unit": unit,
        "detail": detail,
    }


def p50(rounds: Rounds, *names: str) -> list[float]:
    """Median latency of each round, ms, added up over sides."""
    each = [[statistics.median(load.milliseconds) for load in rounds[name]] for name in names]
    return [sum(values) for values in zip(*each, strict=True)]


def frames_per_s(rounds: Rounds, name: str) -> list[float]:
    """Throughput of each round."""
    return [len(load.good) / load.seconds for load in rounds[name]]


def _ratio(
    what: str, over: Sequence[float], under: Sequence[float], reach: float | None, detail: str, most: bool = True
) -> dict[str, Any]:
    each = [a / b for a, b in zip(over, under, strict=True)]
    spread = f"{min(each):.2f} to {max(each):.2f} over the rounds"
    return reached(what, statistics.median(each), reach, f"{detail}; {spread}", most=most)


def _sides(target: Target, local: InProcess) -> dict[str, Side]:
    none, one, many = (drawn_picture(plates) for plates in (0, 1, 16))
    large = drawn_picture(1, FULL_HD)
    encoded, raw = (subject(target.url, PLATE_RECOGNITION.name, kind) for kind in (InputKind.encoded, InputKind.raw))
    return {
        "served, 1 plate": Side(encoded, one),
        "in process, 1 plate": Side(lambda: local, one),
        **{f"{BARE}{name}": Side(caller, one) for name, caller in bare_networks(local, one).items()},
        "served raw, 0 plates": Side(raw, none),
        "yolo raw, 0 plates": Side(subject(target.url, YOLO.name, InputKind.raw), none),
        "served, 16 plates": Side(encoded, many),
        "served, 1 plate, 4 at once": Side(encoded, one, 4),
        "served 1920x1080": Side(encoded, large),
        "served raw 1920x1080": Side(raw, large),
    }


def _wiring_sides(target: Target, wirings: Sequence[str]) -> dict[str, Side]:
    return {
        f"{name}, {_case(plates, askers)}": Side(
            subject(target.url, name, InputKind.encoded), drawn_picture(plates), askers
        )
        for plates, askers in CASES
        for name in wirings
    }


def _case(plates: int, askers: int) -> str:
    return f"{plates} plate{'s' * (plates != 1)}, {askers} at once"


def _together(loads: Sequence[Load]) -> Load:
    whole = Load()
    for load in loads:
        whole.samples.extend(load.samples)
        whole.seconds += load.seconds
        whole.client_cpu += load.client_cpu
    return whole
