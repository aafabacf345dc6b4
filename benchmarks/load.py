"""Load on a server: closed (callers who send again once they are answered) or open (a Poisson process).

Every request is timed and kept, failed ones too. In an open load the time runs from when the request was due, so that a
server that falls behind cannot hide it.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from benchmarks.callers.caller import Caller, CallerFactory
from benchmarks.callers.pictures import Picture
from plate_nets.common.errors import PlateError, ServerOverloaded, ServerUnavailable

WARM_UP = 2
"""Requests of each caller before the clock starts, to open connections and allocate buffers."""
GIVE_UP = 10
"""Failed requests in a row, of all callers together, that end a load."""
MOST_OPEN = 64
"""Maximum requests in flight in an open load."""


@dataclass(frozen=True)
class Sample:
    seconds: float
    plates: int = 0
    error: str | None = None


@dataclass
class Load:
    samples: list[Sample] = field(default_factory=list)
    seconds: float = 0.0
    """From the first request to the last answer."""
    client_cpu: float = 0.0
    """CPU seconds of this process in that time: the callers' own share of the cores."""
    warm_up: int = 0
    """Requests before that time; nothing else is kept of them."""
    stopped: str | None = None
    """Why it ended early; None if it did not."""

    @property
    def good(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.error is None]

    @property
    def milliseconds(self) -> list[float]:
        """Latencies of the answered requests."""
        return [sample.seconds * 1000 for sample in self.good]


class _Recorder:
    """Collects the samples of all callers, and decides when to stop."""

    def __init__(self) -> None:
        self.load = Load()
        self.stop = threading.Event()
        self._failed = 0
        self._lock = threading.Lock()

    def fail(self, why: str) -> None:
        with self._lock:
            self.load.samples.append(Sample(0.0, error=why))
            self.load.stopped = self.load.stopped or why
            self.stop.set()

    def ask(self, caller: Caller, picture: Picture, due: float) -> None:
        """Send a request and record its result, timed from when it was due."""
        plates, error = 0, None
        try:
            plates = caller(picture)
        except PlateError as fault:
            error = fault
        seconds = time.perf_counter() - due
        with self._lock:
            self.load.samples.append(Sample(seconds, plates, None if error is None else str(error)))
            if isinstance(error, ServerOverloaded):
                return  # refused, which is what a healthy server does under too much load
            self._failed = 0 if error is None else self._failed + 1
            if isinstance(error, ServerUnavailable) or self._failed >= GIVE_UP:
                self.load.stopped = self.load.stopped or str(error)
                self.stop.set()


def closed_load(
    factory: CallerFactory, pictures: Sequence[Picture], concurrency: int, seconds: float, frames: int | None = None
) -> Load:
    """Load with ``concurrency`` callers for ``seconds``, or until ``frames`` were sent; they take the pictures in turn.

    A single caller runs in the calling thread. A missing server ends the load early; it never raises.
    """
    recorder = _Recorder()
    numbers = iter(range(frames)) if frames is not None else None

    def more(deadline: float) -> bool:
        if recorder.stop.is_set() or time.perf_counter() >= deadline:
            return False
        return numbers is None or next(numbers, None) is not None

    def work(caller: Caller, offset: int, begun: float) -> None:
        turn = offset
        while more(begun + seconds):
            recorder.ask(caller, pictures[turn % len(pictures)], time.perf_counter())
            turn += 1

    _run(recorder, factory, pictures, concurrency, work)
    return recorder.load


def open_load(factory: CallerFactory, pictures: Sequence[Picture], rate: float, seconds: float) -> Load:
    """Requests at ``rate`` per second on average, with exponentially distributed gaps.

    At most `MOST_OPEN` are in flight at once; one that has to wait is late, and its time includes that.
    """
    recorder = _Recorder()
    rng = np.random.default_rng(0)
    due = np.cumsum(rng.exponential(1 / rate, max(1, round(rate * seconds)))).tolist()
    turns = iter(enumerate(due))
    lock = threading.Lock()

    def work(caller: Caller, _: int, begun: float) -> None:
        while not recorder.stop.is_set():
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            index, offset = turn
            wait = begun + offset - time.perf_counter()
            if wait > 0 and recorder.stop.wait(wait):
                return
            recorder.ask(caller, pictures[index % len(pictures)], begun + offset)

    _run(recorder, factory, pictures, min(MOST_OPEN, len(due)), work, warm_up=1)
    return recorder.load


def _run(
    recorder: _Recorder,
    factory: CallerFactory,
    pictures: Sequence[Picture],
    concurrency: int,
    work: Callable[[Caller, int, float], None],
    warm_up: int = WARM_UP,
) -> None:
    """Let the callers warm up, then start them all at once, and time that; ``work`` gets the time of the start.

    Each lives in one thread, because NVIDIA's HTTP client cannot change threads.
    """
    marks: list[tuple[float, float]] = []

    def start() -> None:
        marks.append((time.perf_counter(), time.process_time()))

    ready = threading.Barrier(concurrency, action=start)

    def live(offset: int) -> None:
        try:
            caller = factory()
            try:
                for turn in range(warm_up):
                    with contextlib.suppress(ServerOverloaded):
                        caller(pictures[turn % len(pictures)])
                ready.wait()
                work(caller, offset, marks[0][0])
            finally:
                caller.close()
        except PlateError as error:
            recorder.fail(str(error))
            ready.abort()
        except threading.BrokenBarrierError:
            return

    if concurrency == 1:
        live(0)
    else:
        with ThreadPoolExecutor(concurrency) as pool:
            for each in [pool.submit(live, offset) for offset in range(concurrency)]:
                each.result()
    if marks:
        (started, cpu), load = marks[0], recorder.load
        load.warm_up = concurrency * warm_up
        load.seconds, load.client_cpu = time.perf_counter() - started, time.process_time() - cpu
