"""Where the milliseconds of one encoded 1280x720 frame with one plate go, from the picture's bytes to its text."""

import itertools
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.callers.caller import InputKind, caller_factory
from benchmarks.callers.in_process import STAGES, InProcess
from benchmarks.callers.pictures import drawn_picture
from benchmarks.server.server import MeasuredServer
from benchmarks.server.statistics import difference
from plate_nets.contract import LPRNET, PLATE_RECOGNITION, STN, YOLO
from plate_nets.errors import ServerError
from plate_nets.python_backend.settings import NetworkSettings, thread_count

ROUNDS = 5
WARM_UP = 5
WITHIN = {
    YOLO.name: ("decode", "letterbox", "detector", "NMS", "corners", "crop"),
    STN.name: ("stn",),
    LPRNET.name: ("lprnet",),
}
"""The stages that run inside each model; the others run inside `plate_recognition`."""


def measure_stages(server: MeasuredServer, repository: Path, seconds: float, progress: Progress) -> dict[str, Any]:
    """The stages called in this process and the served frame, in turn -> ``title`` and ``rows``, JSON-ready.

    Raises:
        ServerError: the server failed, or its statistics are not open to us.
        WeightsError: the networks are not converted here.
    """
    picture = drawn_picture(1)
    local = InProcess(repository, thread_count(NetworkSettings(), instances=1))
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
        for _ in progress.track(range(ROUNDS), description="stages and the served frame in turn"):
            for _ in _for(seconds / ROUNDS / 2):
                started = time.perf_counter()
                caller(picture)
                seen.append((time.perf_counter() - started) * 1000)
            for _ in _for(seconds / ROUNDS / 2):
                for stage, value in local.stages(picture).items():
                    spent[stage].append(value * 1000)
        after = server.statistics()
    finally:
        caller.close()
    assert after is not None
    alone = {stage: statistics.mean(values) for stage, values in spent.items()}
    wire = server.url.partition("://")[0].upper()
    rows = attribute(alone, difference(before, after), statistics.mean(seen), wire)
    return {"title": "One encoded 1280x720 frame with one plate, one request at a time", "rows": rows}


def attribute(
    alone: Mapping[str, float], models: Mapping[str, Mapping[str, Any]], served: float, wire: str
) -> Sequence[dict[str, Any]]:
    """Stages in this process, Triton's times of each model and the client's mean, all ms -> rows whose parts add up.

    What a model needs beyond its own stages is hand-over to it: queue, copies, its stub's work around the network,
    and the cache that it finds cold where another process worked before. What `plate_recognition` needs beyond its own
    stages and the models it asks is hand-over between them; what the client waits beyond Triton is the wire.
    """
    rows = [_row(stage, value, "called in this process", True) for stage, value in alone.items()]
    whole = models[PLATE_RECOGNITION.name]["total_ms"]
    inner = 0.0
    for name, stages in WITHIN.items():
        total = models[name]["total_ms"]
        inner += total
        own = sum(alone[stage] for stage in stages)
        rows.append(
            _row(f"hand-over within {name}", total - own, f"Triton's {total:.2f} less {' + '.join(stages)}", True)
        )
    rows.append(
        _row(
            "hand-over around the models",
            whole - inner - alone["CTC"],
            f"Triton's {whole:.2f} less its models, CTC",
            True,
        )
    )
    rows.append(_row(wire, served - whole, f"client's mean of {served:.2f} less Triton's {whole:.2f}", True))
    rows.append(_row("whole", served, "client's mean", False))
    rows.append(_row("all stages in this process", sum(alone.values()), "sum of the first eight", False))
    return rows


def _for(seconds: float) -> Iterator[None]:
    """Turns for so long, three at least."""
    deadline = time.perf_counter() + seconds
    for turn in itertools.count():
        if turn >= 3 and time.perf_counter() > deadline:
            return
        yield


def _row(stage: str, ms: float, how: str, part: bool) -> dict[str, Any]:
    return {"stage": stage, "ms": ms, "how": how, "part": part}
