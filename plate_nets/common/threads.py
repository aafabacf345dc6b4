"""Threads that survive exceptions: an exception ends one turn, never the thread."""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from plate_nets.common.errors import PlateError, SinkError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds to pause after a failed turn; the pause doubles each time, and is shortened by up to a half at random. If the
other side said when to ask again (`SinkError.retry_after`), that is the pause."""
_WELL_AFTER = 60.0
"""Seconds after which a turn that is still running counts as working."""

_log = logging.getLogger(__name__)


class LastingThread(threading.Thread):
    """A daemon thread that takes one turn after another; after a turn that raises, it pauses and continues.

    A `PlateError` means "not now". Any other exception is a bug: its traceback goes to Python's log, it is counted,
    and `failing` names it.

    Args:
        name: shown in health, metrics and the log; shared by threads that do the same for the same thing.
        turn: does a piece of work and returns whether there is more; False ends the thread.
        ending: while it is set, a failed turn is the last one.
        failed: called with the first error of several failed turns in a row.
        recovered: called when a turn succeeds after a failed one.
        ended: called when the thread ends.
        first_pause, longest_pause: seconds.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], bool],
        *,
        ending: threading.Event | None = None,
        failed: Callable[[Exception], None] | None = None,
        recovered: Callable[[], None] | None = None,
        ended: Callable[[], None] | None = None,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.failures = 0
        """Turns that raised."""
        self.faults = 0
        """Turns that raised anything but a `PlateError`."""
        self._turn = turn
        self._ending = ending or threading.Event()
        self._failed = failed
        self._at_recovery = recovered
        self._at_end = ended
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._error: Exception | None = None
        self._began: float | None = None
        """Start of the present turn; None in a pause."""

    @property
    def error(self) -> Exception | None:
        """Why the last turn failed; None if it did not, or if the present one has been working for a minute."""
        began = self._began
        works = began is not None and time.monotonic() - began > _WELL_AFTER
        return None if works else self._error

    def run(self) -> None:
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
                asked = error.retry_after if isinstance(error, SinkError) else None
                if self._ending.wait(asked or pause * random.uniform(0.5, 1)):
                    break
                pause = min(2 * pause, self._longest_pause)
            else:
                pause = self._first_pause
                if self._error is not None:
                    self._error = None
                    self._call(self._at_recovery)
                if not more:
                    break
        self._call(self._at_end)

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

    def _call(self, callback: Callable[[], None] | None) -> None:
        """Call an observer; it must not end the thread either."""
        if callback is None:
            return
        try:
            callback()
        except Exception as error:
            _log.error("%s: %s", self.name, cause(error), exc_info=error)


def cause(error: Exception) -> str:
    """Why a turn failed, as text for health: the message of our own errors, but no path or password of any other."""
    if isinstance(error, PlateError):
        return str(error)
    what = error.strerror if isinstance(error, OSError) and error.strerror else "an internal error"
    return f"{what} ({type(error).__name__}); the log has its traceback"


def faults() -> dict[str, int]:
    """The number of turns that failed because of a bug, by the names of the living threads."""
    counts: Counter[str] = Counter()
    for each in _living():
        counts[each.name] += each.faults
    return dict(counts)


def failing() -> dict[str, str]:
    """Threads whose last turn failed because of a bug, and why."""
    errors = {each.name: each.error for each in _living()}
    return {name: cause(error) for name, error in errors.items() if error and not isinstance(error, PlateError)}


def _living() -> list[LastingThread]:
    return [each for each in threading.enumerate() if isinstance(each, LastingThread)]
