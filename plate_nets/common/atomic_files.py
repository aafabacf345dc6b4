"""Files and folders that are written in full or not at all."""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".writing-"
"""Name prefix of a file that is being written, or whose writer was killed."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A new name beside ``path`` to write to; it becomes ``path`` when the block succeeds. Folders are created.

    Nobody sees a partial file, and concurrent writers do not disturb each other. The file is on disk when this returns.
    If the block raises, an older file stays.

    Raises:
        OSError: the disk is full or read-only, or ``path`` is a device, a pipe or a folder; its ``filename`` is
            ``path``, its ``strerror`` says why.
    """
    if path.exists() and not path.is_file():  # a rename would put a file in place of a device
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    aside = path.with_name(f"{UNFINISHED}{uuid.uuid4().hex}.part")  # torch needs a suffix
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield aside
            with aside.open("r+b") as written:  # Windows flushes only what it may write
                os.fsync(written.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        if error.filename not in (None, aside, str(aside)):  # from the block itself, about another file
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    sync_folder(path)


def write_whole(path: Path, content: bytes) -> None:
    """Write bytes as a whole file; see `whole_file`, also for errors."""
    with whole_file(path) as fresh:
        fresh.write_bytes(content)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder beside ``path`` to fill; it becomes ``path`` when the block succeeds, otherwise it is removed.

    Raises:
        OSError: ``path`` already exists, or the disk cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    aside = path.with_name(f"{UNFINISHED}{uuid.uuid4().hex}")
    try:
        aside.mkdir(parents=True)
        yield aside
        aside.rename(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sync_folder(path: Path) -> None:
    """Flush the name of a file to disk, if its file system supports that; Windows opens no folder."""
    with contextlib.suppress(OSError):
        opened = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
