"""Files that are there whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".writing-"
"""How the name of a file begins that is being written, or whose writer was killed."""


@contextmanager
def whole_file(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """A new name beside ``path`` to write to, in folders that are made; it becomes ``path`` where the block ends well.

    Nobody sees a part of it, and writers side by side do not disturb each other. Where the block raises, an older file
    stays.

    Args:
        path: takes the place of an older file.
        durable: on disk when this returns (``fsync``).

    Raises:
        OSError: the disk is full, or may not be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{UNFINISHED}{uuid.uuid4().hex}.part")  # torch wants a suffix
    try:
        yield aside
        if durable:
            with aside.open("rb") as file:
                os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
