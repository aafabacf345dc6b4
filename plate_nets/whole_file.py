"""Files that are there whole or not at all."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".writing-"
"""How the name of a file begins that is being written, or whose writer was killed."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A new name beside ``path`` to write to, in folders that are made; it becomes ``path`` where the block ends well.

    Nobody sees a part of it, and writers side by side do not disturb each other. It is on disk when this returns. Where
    the block raises, an older file stays.

    Raises:
        OSError: the disk is full, or may not be written; its ``filename`` is ``path``, its ``strerror`` says why.
    """
    aside = path.with_name(f"{UNFINISHED}{uuid.uuid4().hex}.part")  # torch wants a suffix
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield aside
            sync(aside)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        if error.filename not in (None, aside, str(aside)):  # the block's own: it read something else
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    sync_folder(path)


def write_whole(path: Path, content: bytes) -> None:
    """Bytes -> a whole file, as `whole_file` writes it, with its errors."""
    with whole_file(path) as fresh:
        fresh.write_bytes(content)


def sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, on disk when this returns."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def sync_folder(path: Path) -> None:
    """Have the name of a file on disk, where its file system can do that."""
    with contextlib.suppress(OSError):
        sync(path.parent)
