"""A server's log on its way to standard error, whose newest part is kept to say why the server failed."""

import contextlib
import os
import threading
from collections import deque

_CHUNK = 4096
_KEPT = 64
"""Chunks: the newest 256 kB, or less where the log comes in short lines."""
_LAST_WORDS = 1.0
"""Seconds that what was written last has to come through."""


class LogCopy:
    """A pipe: what is written to `file` goes to a file descriptor, until all who may write have closed it."""

    def __init__(self, target: int) -> None:
        self._read, write = os.pipe()
        self.file = os.fdopen(write, "wb", buffering=0)
        self._target = os.dup(target)
        self._kept: deque[bytes] = deque(maxlen=_KEPT)
        self._thread = threading.Thread(target=self._copy, name="log", daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        with os.fdopen(self._read, "rb", buffering=0) as source, os.fdopen(self._target, "wb", buffering=0) as target:
            while chunk := source.read(_CHUNK):
                self._kept.append(chunk)
                with contextlib.suppress(OSError):  # nobody reads it any more, which shall not end the server
                    target.write(chunk)

    def text(self) -> str:
        """What is kept; of a server that has ended to its last word."""
        self._thread.join(_LAST_WORDS)
        return b"".join(self._kept).decode("utf-8", "replace")
