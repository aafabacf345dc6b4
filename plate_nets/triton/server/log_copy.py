"""Copies a server's log to standard error and keeps the newest part, to explain why the server failed."""

import contextlib
import os
from collections import deque

from plate_nets.common.threads import LastingThread

_CHUNK = 4096
_KEPT = 64
"""Chunks: the newest 256 kB, or less if the log comes in short lines."""
_LAST_WORDS = 1.0
"""Seconds to wait for the last lines to arrive."""


class LogCopy:
    """A pipe: what is written to `file` is copied to a file descriptor, until all writers have closed it."""

    def __init__(self, target: int) -> None:
        read, write = os.pipe()
        self.file = os.fdopen(write, "wb", buffering=0)
        self._source = os.fdopen(read, "rb", buffering=0)
        self._target = os.fdopen(os.dup(target), "wb", buffering=0)
        self._kept: deque[bytes] = deque(maxlen=_KEPT)
        self._thread = LastingThread("log", self._copy, ended=self._close)
        self._thread.start()

    def _copy(self) -> bool:
        chunk = self._source.read(_CHUNK)
        if chunk:
            self._kept.append(chunk)
            with contextlib.suppress(OSError):  # a closed standard error must not end the server
                self._target.write(chunk)
        return bool(chunk)

    def _close(self) -> None:
        self._source.close()
        self._target.close()

    def drain(self) -> None:
        self._thread.join(_LAST_WORDS)

    def text(self) -> str:
        return b"".join(self._kept).decode("utf-8", "replace")
