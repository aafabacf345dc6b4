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


@pytest.mark.parametrize(
    ("limit", "steps", "named"),
    [
        (20, [(1, 2 * CHECKS), (40, 3 * CHECKS)], {3 * CHECKS: 40}),
        (20, [(1, CHECKS), *[(40, CHECKS - 1), (1, 1)] * 3], {}),
        (20, [(40, 1), (1, CHECKS), (50, 2 * CHECKS)], {}),
        (20, [(1, 1), (120, 2 * CHECKS)], {2 * CHECKS: 60}),
        (0, [(1, CHECKS), (40, CHECKS)], {}),
    ],
    ids=["lasting", "short peaks", "needed from the start", "far too much at the start", "unlimited"],
)
def test_only_lasting_growth_is_named_once(
    taker: Taker, limit: int, steps: list[tuple[int, int]], named: dict[int, int]
) -> None:
    """Each step takes so many MB for so many checks; the growth is named by the check with this number."""
    watch, found = GrowthWatch(limit * MEGABYTE), list[dict[str, int]]()
    for megabytes, count in steps:
        taker.take(megabytes)
        found += checks(watch, taker, count)
    grown = {number: each["stn"] / MEGABYTE for number, each in enumerate(found, start=1) if each}
    assert grown == pytest.approx(named, abs=5)


def test_a_process_that_ended_is_not_a_fault(taker: Taker) -> None:
    watch = GrowthWatch(1)
    taker.process.kill()
    taker.process.wait()
    assert not psutil.pid_exists(taker.process.pid)
    assert checks(watch, taker, 1) == [{}]
