"""Files from users: regular files only, with the size checked before they are read."""

import errno
import os
import select
import stat
from pathlib import Path

from plate_nets.common.errors import InputError, InputTooLarge

MAX_TEXT = 1 << 20
"""Bytes of a file written by hand: settings, keys, schemes."""
MAX_TABLE = 256 << 20
"""Bytes of a table or of JSON lines: millions of labels."""
MAX_DEPTH = 20
"""Nesting levels of a YAML or TOML document; ours have six."""
MAX_VALUES = 20_000
"""Values in such a document, keys included: about 700 cameras with regions."""
_MAX_SECRET = 64 << 10
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # Windows has neither, nor pipes and terminals among its files
_NO_TERMINAL = getattr(os, "O_NOCTTY", 0)


def read_file(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the bytes of a file, at most as many as it has when it is opened.

    A pipe, a device or a socket is never read: it could block or never end. A file that grows meanwhile is cut at the
    size it had.

    Raises:
        OSError: it is missing, does not open, or is not a regular file.
        InputTooLarge: it has more than ``max_bytes`` bytes; nothing was read.
    """
    handle, size = _open(path)
    with os.fdopen(handle, "rb") as file:
        if size > max_bytes:
            raise InputTooLarge(f"expected a file of at most {max_bytes} bytes, got {size}")
        return file.read(size)


def read_secret(path: str | os.PathLike[str], pause: float = 10) -> str:
    """Return the text of a file or of a pipe, such as the shell's ``<(...)``, which keeps a secret off the disk.

    Raises:
        InputError: as `read_text`; or nothing comes through the pipe for ``pause`` seconds.
    """
    try:
        if not Path(path).is_fifo():
            return read_text(path)
        handle = os.open(path, os.O_RDONLY | _NO_WAIT)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    text = b""
    with os.fdopen(handle, "rb", buffering=0) as pipe:
        while len(text) <= _MAX_SECRET:
            if not select.select([pipe], [], [], pause)[0]:
                raise InputError(f"{path}: nothing came through the pipe for {pause:g} s")
            if not (part := pipe.read(_MAX_SECRET)):
                return text.decode("utf-8", "replace")
            text += part
    raise InputTooLarge(f"{path}: expected at most {_MAX_SECRET} bytes through a pipe")


def read_text(path: str | os.PathLike[str], max_bytes: int = MAX_TEXT) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark.

    Raises:
        InputError: it does not open, has more than ``max_bytes`` bytes, or is not UTF-8; the message names the file.
    """
    try:
        return read_file(path, max_bytes).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except InputTooLarge as error:
        raise InputTooLarge(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8, got an invalid byte at {error.start}") from error


def check_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, for libraries that open it themselves.

    Raises:
        OSError: it is missing, does not open, is not a regular file, or is empty.
    """
    handle, size = _open(path)
    os.close(handle)
    if not size:  # like files in /proc, some of which block when they are read
        raise OSError(errno.ENODATA, "is empty", os.fspath(path))
    return Path(path)


def _open(path: str | os.PathLike[str]) -> tuple[int, int]:
    try:
        # Otherwise a pipe would wait for its writer, and a terminal could become the controlling one
        handle = os.open(path, os.O_RDONLY | _NO_WAIT | _NO_TERMINAL)
    except ValueError as error:  # a NUL, or not text
        raise OSError(errno.EINVAL, "is not a file name") from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is not a file", os.fspath(path))
    return handle, found.st_size
