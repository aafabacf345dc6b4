"""Where the milliseconds of one encoded 1280x720 frame with one plate go, from the picture's bytes to its text."""

import itertools
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.progress import Progress

from benchmarks.callers.caller import InputKind, caller_factory
from benchmarks.callers.in_process import STAGES, InProcess
from benchmarks.callers.pictures import drawn_picture
from benchmarks.server.server import MeasuredServer
from benchmarks.server.statistics import difference
from plate_nets.common.errors import ServerError
from plate_nets.contract import LPRNET, PLATE_RECOGNITION, STN, YOLO
from plate_nets.triton.backend.settings import NetworkSettings, thread_count

ROUNDS = 5
WARM_UP = 5
WITHIN = {
    YOLO.name: ("decode", "letterbox", "detector", "NMS", "corners", "crop"),
    STN.name: ("stn",),
    LPRNET.name: ("lprnet",),
}
"""The stages that run inside each model; the others run inside `plate_recognition`."""
CALLS = {"detect": YOLO.name, "rectify": STN.name, "read": LPRNET.name}
"""The stages in which `plate_recognition` waits for a model, by the names of its metrics."""


def measure_stages(server: MeasuredServer, seconds: float, progress: Progress) -> dict[str, Any]:
    """The stages called in this process and the served frame, in turn -> ``title`` and ``rows``, JSON-ready.

    Raises:
        ServerError: the server failed, or its statistics are not open to us.
        WeightsError: the networks are not converted here.
    """
    picture = drawn_picture(1)
    local = InProcess(thread_count(NetworkSettings(), instances=1))
    spent: dict[str, list[float]] = {stage: [] for stage in STAGES.values()}
    seen: list[float] = []
    caller = caller_factory(server.url, PLATE_RECOGNITION.name, InputKind.encoded)()
    try:
        for _ in range(WARM_UP):
            caller(picture)
            local.stages(picture)
        before = server.statistics()
        if before is None:
            raise ServerError(f"{server.url}: its statistics need the control key")
        spent_before = server.stage_ms()
        for _ in progress.track(range(ROUNDS), description="stages and the served frame in turn"):
            for _ in _for(seconds / ROUNDS / 2):
                started = time.perf_counter()
                caller(picture)
                seen.append((time.perf_counter() - started) * 1000)
            for _ in _for(seconds / ROUNDS / 2):
                for stage, value in local.stages(picture).items():
                    spent[stage].append(value * 1000)
        after, spent_after = server.statistics(), server.stage_ms()
    finally:
        caller.close()
    assert after is not None
    alone = {stage: statistics.mean(values) for stage, values in spent.items()}
    wire = server.url.partition("://")[0].upper()
    calls = {stage: (spent_after[stage] - spent_before[stage]) / len(seen) for stage in CALLS if stage in spent_after}
    rows = attribute(alone, difference(before, after), calls, statistics.mean(seen), wire)
    return {"title": "One encoded 1280x720 frame with one plate, one request at a time", "rows": rows}


def attribute(
    alone: Mapping[str, float],
    models: Mapping[str, Mapping[str, Any]],
    calls: Mapping[str, float],
    served: float,
    wire: str,
) -> Sequence[dict[str, Any]]:
    """Attribute a served frame's time, all in ms -> rows whose parts add up to the client's mean.

    The time of a model beyond its own stages goes to its queue and copies, by Triton's clock, and to its stub, for
    waking up, Python and a cold cache. If `plate_recognition` waits longer for a model than Triton spends on it, the
    difference is the hop to the model and back. The time that the client waits beyond Triton's goes to the wire.

    Args:
        alone: the stages called in this process.
        models: Triton's times of each model, from `difference`.
        calls: how long `plate_recognition` waits in each of `CALLS`; without them, hops count to its stub.
        served: the client's mean.
        wire: the name of the protocol.
    """
    rows = [_row(stage, value, "called in this process", True) for stage, value in alone.items()]
    waits = {CALLS[stage]: waited for stage, waited in calls.items()}
    own = alone["CTC"]
    for name, stages in WITHIN.items():
        total = models[name]["total_ms"]
        rows += _around(name, models[name], sum(alone[stage] for stage in stages), " + ".join(stages))
        own += waits.get(name, total)
        if name in waits:
            how = f"{waits[name]:.2f} that {PLATE_RECOGNITION.name} waits less Triton's {total:.2f}"
            rows.append(_row(f"hop to {name}", waits[name] - total, how, True))
    rows += _around(PLATE_RECOGNITION.name, models[PLATE_RECOGNITION.name], own, "models, hops and CTC")
    whole = models[PLATE_RECOGNITION.name]["total_ms"]
    rows.append(_row(wire, served - whole, f"client's mean of {served:.2f} less Triton's {whole:.2f}", True))
    rows.append(_row("whole", served, "client's mean", False))
    rows.append(_row("all stages in this process", sum(alone.values()), f"sum of the first {len(alone)}", False))
    return rows


def _around(name: str, times: Mapping[str, Any], inside: float, of: str) -> Sequence[dict[str, Any]]:
    """Triton's times of a model, and the ms of the work inside its stub -> the rows for everything around that work."""
    total, infer = times["total_ms"], times["infer_ms"]
    return [
        _row(f"queue and copies of {name}", total - infer, f"Triton's {total:.2f} less {infer:.2f} in the stub", True),
        _row(f"stub of {name}", infer - inside, f"Triton's {infer:.2f} less {of}", True),
    ]


def _for(seconds: float) -> Iterator[None]:
    """Yield for this many seconds, at least three times."""
    deadline = time.perf_counter() + seconds
    for turn in itertools.count():
        if turn >= 3 and time.perf_counter() > deadline:
            return
        yield


def _row(stage: str, ms: float, how: str, part: bool) -> dict[str, Any]:
    return {"stage": stage, "ms": ms, "how": how, "part": part}
