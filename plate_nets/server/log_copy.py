"""A server's log on its way to standard error, whose newest part is kept to say why the server failed."""

import contextlib
import os
from collections import deque

from plate_nets.lasting import LastingThread

_CHUNK = 4096
_KEPT = 64
"""Chunks: the newest 256 kB, or less where the log comes in short lines."""
_LAST_WORDS = 1.0
"""Seconds that what was written last has to come through."""


class LogCopy:
    """A pipe: what is written to `file` goes to a file descriptor, until all who may write have closed it."""

    def __init__(self, target: int) -> None:
        read, write = os.pipe()
        self.file = os.fdopen(write, "wb", buffering=0)
        self._source = os.fdopen(read, "rb", buffering=0)
        self._target = os.fdopen(os.dup(target), "wb", buffering=0)
        self._kept: deque[bytes] = deque(maxlen=_KEPT)
        self._thread = LastingThread("log", self._copy, last=self._close)
        self._thread.start()

    def _copy(self) -> bool:
        chunk = self._source.read(_CHUNK)
        if chunk:
            self._kept.append(chunk)
            with contextlib.suppress(OSError):  # nobody reads it any more, which shall not end the server
                self._target.write(chunk)
        return bool(chunk)

    def _close(self) -> None:
        self._source.close()
        self._target.close()

    def text(self) -> str:
        """What is kept; of a server that has ended to its last word."""
        self._thread.join(_LAST_WORDS)
        return b"".join(self._kept).decode("utf-8", "replace")
