"""Growth of memory, measured on real processes."""

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from plate_nets.triton.supervision.growth import CHECKS, GrowthWatch

MEGABYTE = 1 << 20

# Allocates as many megabytes as it is told, instead of those that it had
TAKER = """
import sys
for line in sys.stdin:
    held = None
    held = bytearray(b"x") * (int(line) << 20)
    print("done", flush=True)
"""


class Taker:
    """A process that allocates as much memory as it is told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def take(self, megabytes: int) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{megabytes}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def taker() -> Iterator[Taker]:
    running = Taker()
    running.take(1)
    yield running
    running.process.kill()
    running.process.communicate()


def checks(watch: GrowthWatch, taker: Taker, count: int) -> list[dict[str, int]]:
    return [watch.check({taker.process.pid: "stn"}) for _ in range(count)]


def test_only_lasting_growth_counts(taker: Taker) -> None:
    watch = GrowthWatch(20 * MEGABYTE)
    assert checks(watch, taker, 2 * CHECKS) == [{}] * 2 * CHECKS
    taker.take(40)
    *before, (last) = checks(watch, taker, CHECKS)
    assert before == [{}] * (CHECKS - 1)
    assert 35 * MEGABYTE < last["stn"] < 45 * MEGABYTE
    assert checks(watch, taker, 2 * CHECKS) == [{}] * 2 * CHECKS, "named once"


def test_a_short_peak_of_memory_is_not_growth(taker: Taker) -> None:
    watch = GrowthWatch(20 * MEGABYTE)
    checks(watch, taker, CHECKS)
    for _ in range(3):
        taker.take(40)
        assert checks(watch, taker, CHECKS - 1) == [{}] * (CHECKS - 1)
        taker.take(1)
        assert checks(watch, taker, 1) == [{}]


def test_memory_needed_from_the_start_is_not_growth(taker: Taker) -> None:
    watch = GrowthWatch(20 * MEGABYTE)
    taker.take(40)
    checks(watch, taker, 1)
    taker.take(1)
    checks(watch, taker, CHECKS)
    taker.take(50)
    assert checks(watch, taker, 2 * CHECKS) == [{}] * 2 * CHECKS


def test_growth_may_be_unlimited(taker: Taker) -> None:
    watch = GrowthWatch(0)
    checks(watch, taker, CHECKS)
    taker.take(40)
    assert checks(watch, taker, CHECKS) == [{}] * CHECKS


def test_a_process_that_ended_is_not_a_fault(taker: Taker) -> None:
    watch = GrowthWatch(1)
    taker.process.kill()
    taker.process.wait()
    assert not psutil.pid_exists(taker.process.pid)
    assert checks(watch, taker, 1) == [{}]


def test_far_too_much_memory_at_the_start_counts_as_growth(taker: Taker) -> None:
    watch = GrowthWatch(20 * MEGABYTE)
    assert checks(watch, taker, 1) == [{}]
    taker.take(120)
    assert any(checks(watch, taker, 2 * CHECKS))
