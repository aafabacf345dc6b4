"""A file that grows line by line, and that others may move away."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from plate_nets.common.atomic_files import sync_folder
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError, SinkError

_LONGEST_LINE = 1 << 20
"""Bytes at the end of a file that are searched for the end of its last whole line."""
_LOCKED = 5.0
"""Seconds to wait for another process that is writing."""


class LineFile(Closing):
    """Appends whole lines to a file; a line torn by a crash or a full disk is removed.

    Before each write it checks that the path is still the same file. If it was moved or deleted, as logrotate does, the
    path is opened or created again. Processes may share a file.

    Args:
        path: of a regular file, created if missing.
        kind: what the file is, for messages.
        begins: how the first line of every such file begins; a file with another first line is not touched.
        header: the first line of a new file; empty: none.

    Raises:
        InputError: it cannot be opened, or is not one of our files.
    """

    def __init__(self, path: Path, kind: str, begins: str, header: str = "") -> None:
        self._path = path
        self._kind = kind
        self._begins = begins.encode()
        self._header = header
        self._file: BinaryIO | None = self._open()
        if header:
            with contextlib.suppress(SinkError):  # on a full disk the header comes with the first line
                self.append("")

    def append(self, text: str) -> None:
        """Write lines; when this returns, they are safely on disk.

        Raises:
            SinkError: they cannot be written; nothing of them remains.
        """
        try:
            file = self._current()
            with _locked(file):
                end = self._cut(file)
                try:
                    _write(file, (text if end else self._header + text).encode())
                    os.fsync(file.fileno())
                except OSError:
                    with contextlib.suppress(OSError):
                        file.truncate(end)
                    raise
        except OSError as error:
            self.close()  # when it is reopened, a torn rest is searched for again
            raise SinkError(f"{self._path}: {error.strerror}") from error
        except InputError as error:
            raise SinkError(str(error)) from error

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _current(self) -> BinaryIO:
        if self._file is not None and not is_at(os.fstat(self._file.fileno()), self._path):
            self.close()
        if self._file is None:
            self._file = self._open()
        return self._file

    def _open(self) -> BinaryIO:
        check_regular(self._path)
        try:
            file = self._path.open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from error
        try:
            with _locked(file):
                self._cut(file)
            sync_folder(self._path)
        except OSError as error:
            file.close()
            raise InputError(f"{self._path}: {error.strerror}") from error
        except InputError:
            file.close()
            raise
        return file

    def _cut(self, file: BinaryIO) -> int:
        """Remove a torn last line, of our own files only -> the end of the file."""
        size = file.seek(0, os.SEEK_END)
        if not self._begins.startswith(_read(file, len(self._begins), 0)):
            raise InputError(f"{self._path}: expected {self._kind}, got another first line; choose another name")
        if not size or _read(file, 1, size - 1) == b"\n":
            return size
        before = max(0, size - _LONGEST_LINE)
        last = _read(file, _LONGEST_LINE, before).rfind(b"\n")
        if last < 0 and before:
            raise InputError(f"{self._path}: expected {self._kind}, got a last line over 1 MiB; choose another name")
        file.truncate(before + last + 1)
        return before + last + 1


def is_at(status: os.stat_result, path: Path) -> bool:
    """Whether an opened file, by its ``fstat``, is still the one at a path."""
    try:
        return os.path.samestat(status, path.stat())
    except FileNotFoundError:
        return False


def check_regular(path: Path) -> None:
    """Raise InputError if a path leads to a device, a pipe or a folder, or cannot be examined."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: expected a regular file")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def _read(file: BinaryIO, size: int, start: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _write(file: BinaryIO, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def _locked(file: BinaryIO) -> Iterator[None]:
    """Keep other processes of ours from writing to the file."""
    from filelock import lock_descriptor, unlock_descriptor  # here: commands without the extra import this module too

    deadline = time.monotonic() + _LOCKED
    while not lock_descriptor(file.fileno(), blocking=False):
        if time.monotonic() > deadline:
            raise OSError(errno.EAGAIN, "another process has it locked")
        time.sleep(0.01)
    try:
        yield
    finally:
        unlock_descriptor(file.fileno())
