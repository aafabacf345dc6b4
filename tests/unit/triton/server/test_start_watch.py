"""A start that will never end well is noticed."""

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from plate_nets.triton.server import start_watch
from plate_nets.triton.server.start_watch import Death, StartWatch, cpu_seconds, exit_code
from tests.waiting import eventually

FAILED = "E1125 05:44:10.1 7 model_lifecycle.cc:642] failed to load 'lprnet' version 1: Internal: is not healthy"


class Start:
    """A log and a clock that tests move."""

    def __init__(self, pid: int) -> None:
        self.log, self.now = "", 0.0
        self.watch = StartWatch(pid, lambda: self.log, lambda: self.now)


@pytest.fixture
def idle() -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def busy() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process.pid
        process.kill()


def test_a_server_has_a_moment_to_end_by_itself_after_a_model_failed_to_load(idle: int) -> None:
    start = Start(idle)
    assert not start.watch.load_failed()
    start.log, start.now = FAILED, 10.0
    assert not start.watch.load_failed()
    start.now = 41.0
    assert start.watch.load_failed()


def test_a_server_that_neither_logs_nor_computes_for_a_minute_hangs(idle: int) -> None:
    start = Start(idle)
    start.now = 59.0
    assert not start.watch.hangs()
    for start.now in (61.0, 122.0):
        start.log += "loading\n"
        assert not start.watch.hangs()
    start.now = 183.0
    assert start.watch.hangs()


def test_a_server_that_computes_does_not_hang(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_watch, "LEAST_WORK", 0.2)
    start = Start(busy)
    assert eventually(lambda: cpu_seconds(busy) > 0.2, 60)
    start.now = 61.0
    assert not start.watch.hangs()


def test_a_process_that_ended_takes_no_time() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert cpu_seconds(process.pid) == 0.0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("kill -KILL $$", "was ended by SIGKILL before the server was ready: it said nothing; if memory ran out"),
        ("exit 127", "ended with code 127 before the server was ready: it said nothing; install the library"),
        ("exit 3", "ended with code 3 before the server was ready: it said nothing; start it again with --log FILE"),
    ],
)
def test_a_death_is_told_with_what_to_do(line: str, told: str) -> None:
    """tests/faults/test_start.py has one in a real start."""
    with subprocess.Popen(["sh", "-c", line]) as process:
        assert eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, 60)
        code = exit_code(process.pid)
    assert Death("yolo", code).described("").startswith(f"a process of the model yolo {told}")
