"""Where a server's log goes: a file, standard error, or a file without a name."""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from plate_nets.common.errors import ServerStartError
from plate_nets.triton.server.log_copy import LogCopy

STANDARD_ERROR = Path("-")
"""A log that goes to this process's standard error."""
_STDERR = 2
_LONGEST = 16 << 20
"""Bytes of a log without a name, which no logrotate can handle."""


class ServerLog:
    """The log of one server, from its start on.

    ``path``: a file to append to, `STANDARD_ERROR`, or None: a file without a name, which ends with the last process
    that has it open.

    Raises:
        ServerStartError: the file cannot be opened.
    """

    def __init__(self, path: Path | None) -> None:
        self._copy = LogCopy(_STDERR) if path == STANDARD_ERROR else None
        self._is_named = path is not None
        try:
            self.file = self._copy.file if self._copy else path.open("ab+") if path else _without_name()
        except OSError as error:
            raise ServerStartError(f"the server's log {path or ''}: {error.strerror}") from error
        self._start = 0 if self._copy else os.fstat(self.file.fileno()).st_size

    def handed_over(self) -> None:
        """The server has its end of the log now."""
        if self._copy:
            self.file.close()

    def drain(self) -> None:
        """Wait a moment for the last lines of a server that has exited."""
        if self._copy:
            self._copy.drain()

    def text(self) -> str:
        """The log so far, or its newest part if it goes to standard error."""
        if self._copy:
            return self._copy.text()
        size = os.fstat(self.file.fileno()).st_size
        return os.pread(self.file.fileno(), size - self._start, self._start).decode("utf-8", "replace")

    def trim(self) -> None:
        """Truncate a long log that has no name."""
        if not self._is_named and os.fstat(self.file.fileno()).st_size > _LONGEST:
            os.ftruncate(self.file.fileno(), 0)

    def close(self) -> None:
        self.file.close()


def _without_name() -> BinaryIO:
    import fcntl  # here, because programs that start no server import this module on Windows too

    file = tempfile.TemporaryFile("wb+")  # noqa: SIM115
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)  # for trim
    return file
