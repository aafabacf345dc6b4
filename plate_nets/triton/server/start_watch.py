"""Notices that a starting server will never be ready, so that nobody waits for it until the start's time is over."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from plate_nets.triton.server.faults import FAILED_LOAD, ending, last_words, not_healthy
from plate_nets.triton.server.installation import PROGRAM
from plate_nets.triton.server.stubs import stub_model

ENDS_WITHIN = 30.0
"""Seconds that Triton has to exit by itself after a model did not load; it waits until the other models have loaded."""
_PERIOD = 60.0
"""Seconds over which the server's work is judged."""
LEAST_WORK = 2.0
"""CPU seconds of a server that still starts; one that waits for nothing takes less than half of it."""


_ADVICE = {
    "SIGKILL": "if memory ran out, `dmesg` says so; stop other programs, or give the machine more",
    "SIGBUS": "if /dev/shm is full, free some of it; start a container with --shm-size 1g",
    "code 127": "install the library or program that is missing",
}
_OTHER_ADVICE = "start it again with --log FILE to see the whole log"


@dataclass(frozen=True)
class Death:
    """A model's process that ended by itself."""

    model: str | None
    """None if it ended before anybody saw which one it is."""
    code: int
    """Its exit code, or 128 + the number of the signal that ended it."""

    def described(self, log: str) -> str:
        """What happened, the last line that it wrote into the server's log, and what to do."""
        end = ending(self.code)
        advice = next((text for word, text in _ADVICE.items() if end.endswith(word)), _OTHER_ADVICE)
        model = f"the model {self.model}" if self.model else "a model"
        said = last_words(log) or "it said nothing"
        return f"a process of {model} {end} before the server was ready: {said}; {advice}"


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
        self._models: dict[int, str] = {}
        self._zombies: set[int] = set()
        self._death: Death | None = None

    def death(self) -> Death | None:
        """The first process of a model that ended by itself; Triton does not notice, and would wait for it.

        The server itself ends a stub whose model raised an exception, and waits for it, so such a stub vanishes. One
        that ended by itself stays a zombie: it counts once two checks in a row find it.
        """
        zombies = set()
        for process in server_children(self._pid):
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    zombies.add(process.pid)
                elif model := stub_model(process):
                    self._models[process.pid] = model
            except psutil.Error:  # it vanished
                continue
        for pid in zombies & self._zombies:
            code = exit_code(pid)
            if self._death is None and code and not_healthy(self._log()):
                self._death = Death(self._models.get(pid), code)
        self._zombies = zombies
        return self._death

    def load_failed(self) -> bool:
        """Whether a model failed to load, and the server has not ended by itself in the time that it has for that."""
        if self._failed_at is None and FAILED_LOAD in self._log():
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


def server_of(guard: int) -> psutil.Process | None:
    """The guard's process -> the server, if it runs."""
    try:
        return next((each for each in psutil.Process(guard).children() if each.name() == PROGRAM), None)
    except psutil.Error:
        return None


def server_children(guard: int) -> list[psutil.Process]:
    """The guard's process -> the processes that its server has started and not waited for."""
    try:
        return server.children() if (server := server_of(guard)) else []
    except psutil.Error:
        return []


def exit_code(pid: int) -> int:
    """A zombie -> its exit code, or 128 + the number of the signal that ended it; 0 if it has vanished."""
    try:
        status = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").split()[-1])
    except OSError:
        return 0
    return 128 + (status & 0x7F) if status & 0x7F else status >> 8


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
