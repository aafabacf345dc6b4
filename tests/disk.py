"""A disk that a test can fill."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A file system in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filling = path / "filling"

    def fill(self, room: int = 0) -> None:
        """Use up every byte but ``room``."""
        with self._filling.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        os.truncate(self._filling, self._filling.stat().st_size - room)

    def free(self) -> None:
        """Free the space again."""
        self._filling.unlink()


@contextmanager
def small_disk(path: Path, megabytes: int = 1) -> Iterator[SmallDisk]:
    """A file system at a new folder. The test is skipped if it may not mount one."""
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", path], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a full disk needs root, who may mount one: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file that this process writes may become larger, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
