"""Ends a model's process that hangs. The supervisor notices the death and reloads the model.

If one of several instances hangs, nothing else notices: the others answer the probe, and Triton sends the hanging one
no further request.
"""

import faulthandler
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from plate_nets.common.threads import LastingThread

_STDERR = 2
_LEAST = 0.001


@dataclass(frozen=True)
class WatchdogSettings:
    """When a model counts as hanging."""

    stalled_after: float = 60.0
    """Maximum seconds for one piece of work; 0: no limit. Even on a busy machine, work takes far less."""


class Watchdog:
    """Watches the work of this process, one piece at a time.

    Work that takes longer ends the process at once, with the stacks of all threads in the server's log. `faulthandler`
    does this in its own thread without the GIL, so it also ends native code that holds the GIL, if it has run for
    `beat` seconds or follows other work.
    """

    def __init__(self, settings: WatchdogSettings, beat: float = 1.0) -> None:
        self._allowed = settings.stalled_after
        self._beat = beat
        self._began: float | None = None
        if self._allowed > 0:
            LastingThread("watchdog", self._watch).start()

    @contextmanager
    def working(self) -> Iterator[None]:
        self._began = time.monotonic()
        try:
            yield
        finally:
            self._began = None

    def _watch(self) -> bool:
        began = self._began
        if began is None:  # so that a container which is paused while idle does not count as hanging
            faulthandler.cancel_dump_traceback_later()
        else:
            left = began + self._allowed - time.monotonic()
            faulthandler.dump_traceback_later(max(left, _LEAST), exit=True, file=_STDERR)
        time.sleep(self._beat)
        return True
