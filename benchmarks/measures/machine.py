"""The machine during a measurement: other work on it, and priorities."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.server.processes import ServerProcesses

_FIRST = -10


class Others:
    """Cores that all processes except this one and its children have kept busy since this was created."""

    def __init__(self) -> None:
        self._own = ServerProcesses(os.getpid())
        self._began = self._spent()

    def cores(self) -> float:
        """The average, including what a hypervisor took away."""
        now = self._spent()
        return max(0.0, now[1] - self._began[1]) / max(1e-3, now[0] - self._began[0])

    def _spent(self) -> tuple[float, float]:
        times = psutil.cpu_times()
        busy = sum(times) - times.idle - times.iowait - times.guest - times.guest_nice
        return time.perf_counter(), busy - self._own.cpu_seconds()


@contextmanager
def ahead_of_others() -> Iterator[bool]:
    """Give this process and its children priority over other sessions during the block -> whether that was allowed.

    Linux shares the cores between sessions first; "nice" counts only within one (sched(7), autogroup).
    """
    processes = [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]
    before = {file: nice for pid in processes if (nice := _nice(file := Path(f"/proc/{pid}/autogroup")))}
    allowed = [_write(file, str(_FIRST)) for file in before]
    try:
        yield all(allowed) and bool(allowed)
    finally:
        for file, nice in before.items():
            _write(file, nice)


def _nice(file: Path) -> str | None:
    """A session's nice value from a line such as ``/autogroup-17 nice 0``; None if the process ended or Linux keeps
    none."""
    try:
        return file.read_text(encoding="ascii").split()[-1]
    except (OSError, IndexError):
        return None


def _write(file: Path, nice: str) -> bool:
    try:
        file.write_text(nice, encoding="ascii")
    except OSError:  # it ended, or only root is allowed
        return False
    return True
