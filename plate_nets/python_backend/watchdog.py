"""Ends a model's process whose work hangs: of a death the supervisor knows, and loads the model anew.

Where one of several instances hangs, nothing else tells: the others answer the probe, and Triton gives the one that
hangs no further request.
"""

import faulthandler
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from plate_nets.lasting import LastingThread

_STDERR = 2
_LEAST = 0.001


@dataclass(frozen=True)
class WatchdogSettings:
    """When a model's work counts as hanging."""

    stalled_after: float = 60.0
    """Seconds of one piece of work; 0: never. Far more than any takes, be the machine ever so busy."""


class Watchdog:
    """Watches the work of this process, one piece at a time.

    Work that takes longer than the settings allow ends the process at once, with the stacks of all threads on standard
    error, which is the server's log. It is `faulthandler`'s own thread that does so, and that needs no GIL: native
    code that keeps it is ended too, if it has worked for `beat` seconds before or follows other work.
    """

    def __init__(self, settings: WatchdogSettings, beat: float = 1.0) -> None:
        self._allowed = settings.stalled_after
        self._beat = beat
        self._began: float | None = None
        if self._allowed > 0:
            LastingThread("watchdog", self._watch).start()

    @contextmanager
    def working(self) -> Iterator[None]:
        """While it is entered, the process works."""
        self._began = time.monotonic()
        try:
            yield
        finally:
            self._began = None

    def _watch(self) -> bool:
        began = self._began
        if began is None:  # a container that is paused while idle, and goes on an hour later, has not worked
            faulthandler.cancel_dump_traceback_later()
        else:
            left = began + self._allowed - time.monotonic()
            faulthandler.dump_traceback_later(max(left, _LEAST), exit=True, file=_STDERR)
        time.sleep(self._beat)
        return True
