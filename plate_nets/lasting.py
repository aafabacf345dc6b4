"""Threads that last: an exception ends a turn of theirs, never the thread."""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from plate_nets.errors import PlateError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds after a turn that failed; they double from one to the next, and are cut by up to a half at random."""
_WELL_AFTER = 60.0
"""Seconds after which a turn that has not ended yet counts as one that works."""

_log = logging.getLogger(__name__)


class LastingThread(threading.Thread):
    """A daemon thread that takes one turn after another; after one that raises it pauses, and goes on.

    An error of ours (`PlateError`) means "not now". Any other exception is a fault of the program: its traceback goes
    to Python's log, it is counted, and `failing` names it.

    Args:
        name: in health, metrics and the log; of every thread that does the same for the same thing.
        turn: a piece of work -> whether there is more; False ends the thread.
        ending: while it is set, a turn that fails is the last one.
        failed: gets what the first of several turns in a row raised.
        well: called when a turn ends well after one that failed.
        last: called when the thread ends.
        first_pause: seconds.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], bool],
        *,
        ending: threading.Event | None = None,
        failed: Callable[[Exception], None] | None = None,
        well: Callable[[], None] | None = None,
        last: Callable[[], None] | None = None,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.failures = 0
        """Turns that raised."""
        self.faults = 0
        """Of these the turns that raised what is no error of ours."""
        self._turn = turn
        self._ending = ending or threading.Event()
        self._failed = failed
        self._well = well
        self._last = last
        self._first_pause = first_pause
        self._error: Exception | None = None
        self._began: float | None = None
        """When the present turn did; None in a pause."""

    @property
    def error(self) -> Exception | None:
        """Why the last turn failed; None where it did not, or where the present one has worked for a minute."""
        began = self._began
        works = began is not None and time.monotonic() - began > _WELL_AFTER
        return None if works else self._error

    def run(self) -> None:
        """Take turns."""
        pause = self._first_pause
        while True:
            self._began = began = time.monotonic()
            try:
                more = self._turn()
            except Exception as error:
                self._began = None
                if time.monotonic() - began > _WELL_AFTER:
                    pause = self._first_pause
                self._note(error)
                if self._ending.wait(pause * random.uniform(0.5, 1)):
                    break
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = self._first_pause
                if self._error is not None:
                    self._error = None
                    self._call(self._well)
                if not more:
                    break
        self._call(self._last)

    def _note(self, error: Exception) -> None:
        first = self._error is None
        self._error = error
        self.failures += 1
        if not isinstance(error, PlateError):
            self.faults += 1
            _log.error("%s: %s", self.name, cause(error), exc_info=error)
        if first and self._failed is not None:
            failed = self._failed
            self._call(lambda: failed(error))

    def _call(self, told: Callable[[], None] | None) -> None:
        """Whoever is told shall not end the thread either."""
        if told is None:
            return
        try:
            told()
        except Exception as error:
            _log.error("%s: %s", self.name, cause(error), exc_info=error)


def cause(error: Exception) -> str:
    """Why a turn failed, in words for health: those of our own errors, and no path or password of any other."""
    if isinstance(error, PlateError):
        return str(error)
    what = error.strerror if isinstance(error, OSError) and error.strerror else "a fault of ours"
    return f"{what} ({type(error).__name__}); the log has its traceback"


def faults() -> dict[str, int]:
    """How many turns failed by a fault, by the names of the threads that live."""
    counts: Counter[str] = Counter()
    for each in _living():
        counts[each.name] += each.faults
    return dict(counts)


def failing() -> dict[str, str]:
    """Threads whose last turn failed by a fault, and why."""
    errors = {each.name: each.error for each in _living()}
    return {name: cause(error) for name, error in errors.items() if error and not isinstance(error, PlateError)}


def _living() -> list[LastingThread]:
    return [each for each in threading.enumerate() if isinstance(each, LastingThread)]
