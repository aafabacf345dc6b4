"""The version folders of one model. Triton serves the highest number.

Version 1 is the release's own, written by the converters; it always stays, so you can always go back.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plate_nets.common.errors import SwapError
from plate_nets.networks.runtimes.networks import RELEASED

_SCRATCH = ".swapping-"


def versions(folder: Path) -> list[int]:
    """A model's folder -> the numbers of its versions, lowest first."""
    return sorted(int(path.name) for path in folder.glob("[1-9]*") if path.name.isdecimal() and path.is_dir())


def latest(folder: Path) -> int:
    """A model's folder -> the version that a server serves.

    Raises:
        SwapError: there is none.
    """
    found = versions(folder)
    if not found:
        raise SwapError(f"{folder}: no version; run `python -m converters` first")
    return found[-1]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock for changing this model's versions, as only one process can; remove what a killed one left.

    Raises:
        SwapError: another process holds it, or the folder does not exist.
    """
    import fcntl  # as in guard.py

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise SwapError(f"{folder}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in folder.glob(f"{_SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    except BlockingIOError as error:
        raise SwapError(f"{folder}: another swap is already in progress here") from error
    finally:
        os.close(handle)


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the versions, on their file system; Triton ignores folders without a number.

    Raises:
        SwapError: the folder is not writable, or the disk is full.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as name:
            yield Path(name)
    except OSError as error:
        # `shutil.copytree` has a list of what it could not copy, and why
        why = error.args[0][0][-1] if isinstance(error, shutil.Error) else error.strerror
        raise SwapError(f"{folder}: cannot be written: {why}; a swap needs a writable repository") from error


def add(prepared: Path, folder: Path) -> int:
    """Move a complete folder into place as the model's next version, atomically; return its number."""
    version = max(versions(folder), default=0) + 1
    prepared.rename(folder / str(version))
    return version


def remove(folder: Path, version: int) -> None:
    """Remove one version, atomically."""
    with scratch_folder(folder) as bin_:
        (folder / str(version)).rename(bin_ / str(version))


def prune(folder: Path, keep: int) -> list[int]:
    """Remove all versions except the latest, the ``keep`` before it and version 1; return the removed ones."""
    old = [version for version in versions(folder)[:-1] if version != RELEASED]
    gone = old[: max(0, len(old) - keep)]
    for version in gone:
        shutil.rmtree(folder / str(version))
    return gone
