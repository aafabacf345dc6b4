"""Notices that a starting server will never be ready, so that nobody waits for it until the start's time is over."""

import time
from collections.abc import Callable

import psutil

_FAILED_LOAD = "failed to load '"
"""What Triton logs about a model that does not load. It then exits, but not always on an overloaded machine."""
ENDS_WITHIN = 30.0
"""Seconds that Triton has to exit by itself after that; it waits until the other models have loaded."""
_PERIOD = 60.0
"""Seconds over which the server's work is judged."""
LEAST_WORK = 2.0
"""CPU seconds of a server that still starts; one that waits for nothing takes less than half of it."""


class StartWatch:
    """Judges a start by the server's log and by the CPU time of its processes.

    Args:
        pid: the process whose descendants are the server and its stubs.
        log: returns the server's log so far.
        clock: returns a time in seconds that never goes back.
    """

    def __init__(self, pid: int, log: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self._pid = pid
        self._log = log
        self._clock = clock
        self._failed_at: float | None = None
        self._judged_at, self._length, self._work = clock(), 0, 0.0

    def load_failed(self) -> bool:
        """Whether a model failed to load, and the server has not ended by itself in the time that it has for that."""
        if self._failed_at is None and _FAILED_LOAD in self._log():
            self._failed_at = self._clock()
        return self._failed_at is not None and self._clock() - self._failed_at > ENDS_WITHIN

    def hangs(self) -> bool:
        """Whether the server logged nothing and hardly computed for a whole period."""
        if self._clock() - self._judged_at < _PERIOD:
            return False
        length, work = len(self._log()), cpu_seconds(self._pid)
        hangs = length == self._length and work - self._work < LEAST_WORK
        self._judged_at, self._length, self._work = self._clock(), length, work
        return hangs


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process and its living descendants so far, seconds; 0 if it has ended."""
    total = 0.0
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.Error:
        return total
    for process in family:
        try:
            times = process.cpu_times()
        except psutil.Error:  # it ended meanwhile
            continue
        total += times.user + times.system
    return total
