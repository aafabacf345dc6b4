"""Full load for a long time: no error, no wrong answer, no growth, no false alarm of the supervisor."""

import os
import statistics
import time
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.server.processes import ServerProcesses
from tests.faults.beside import say
from tests.faults.load import Load
from tests.serve import Serve

CONCURRENCY = 8
MINUTES = float(os.environ.get("PLATES_SOAK_MINUTES", "60"))
"""Length in full."""
GROWTH = 0.01
"""Share of the memory after the warm-up, in full length; in less than a minute not every allocator settles."""
SHORT_GROWTH = 0.04
WARM_UP = 200
"""Requests before the time begins, of which every process of every model gets some."""
SLOWER = 1.2
KEPT = {"grpc": 0, "http": 5 * 96}
"""Bytes that Triton keeps for good for each answer without a plate: its HTTP server never frees an empty output
(docs/explanation/performance.md). The supervisor restarts a server that has grown too much."""
JUDGED_FROM = 10.0
"""Minutes; in less time there are too few requests to compare a p99."""


def p99(load: Load, begin: float, end: float) -> float:
    """The 99th percentile, in seconds, of the requests that began in this time."""
    return float(np.percentile([each.ended - each.began for each in load.answers if begin <= each.began < end], 99))


def growth(samples: Sequence[int]) -> float:
    """Memory over time -> by what share the last tenth exceeds the first."""
    tenth = max(1, len(samples) // 10)
    return statistics.median(samples[-tenth:]) / statistics.median(samples[:tenth]) - 1


def test_a_short_full_load(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    endure(serve, capsys, "http", 0.2, SHORT_GROWTH)


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60 + 300)
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_long_full_load(serve: Serve, capsys: pytest.CaptureFixture[str], protocol: str) -> None:
    endure(serve, capsys, protocol, MINUTES, GROWTH)


def endure(serve: Serve, capsys: pytest.CaptureFixture[str], protocol: str, minutes: float, allowed: float) -> None:
    """Load the server for so long. Its memory may grow by ``allowed`` of its size after the warm-up, and by `KEPT`."""
    seconds = minutes * 60
    part = seconds / 6  # ten of sixty minutes: the warm-up, and the times whose p99 are compared
    processes = ServerProcesses(serve.root)  # the supervisor, the guard, Triton and its stubs
    samples = []
    with Load(serve.addresses[protocol], CONCURRENCY) as load:
        load.wait_for_success(0.0, WARM_UP, 120)
        started = time.monotonic()
        while (now := time.monotonic()) < started + seconds:
            if now > started + part:
                samples.append(processes.without_files())
            time.sleep(1)
    first = p99(load, started, started + part)
    last = p99(load, started + seconds - part, started + seconds)
    kept = KEPT[protocol] * len(load.since(started + part)) / 2 / samples[0]  # every second picture has no plate
    say(
        capsys,
        f"{minutes:g} minutes, {protocol}, concurrency {CONCURRENCY}: {len(load.answers)} requests, "
        f"{len(load.failed())} failed, {len(load.wrong)} wrong; memory {samples[-1] / 2**20:.0f} MiB, "
        f"growth {growth(samples):+.2%}, of it {kept:.2%} forgotten by Triton; "
        f"p99 {first * 1000:.0f} ms at first, {last * 1000:.0f} ms at last",
    )
    assert not load.wrong
    assert not load.failed(), load.failed()[:3]
    assert not serve.events("heal") and not serve.events("restart")
    assert growth(samples) < allowed + kept
    if minutes >= JUDGED_FROM:
        assert last <= SLOWER * first
