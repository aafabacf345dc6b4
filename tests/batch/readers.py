"""Readers for the batch tests. They are sent to workers like the real one."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plate_nets.batch.readers import ReaderSettings
from plate_nets.common.errors import InputError, ServerUnavailable
from plate_nets.types import Box, Frame, Plate, Reading

BAD, GONE, DEADLY = b"bad", b"gone", b"deadly"
"""Photos that are refused, that find no server, and that kill the process that first reads them."""


@dataclass(frozen=True)
class FakeReaderSettings(ReaderSettings):
    """A reader that finds one plate per photo: its text is the photo's bytes, its confidence 0.9.

    ``seconds``: time per photo. ``killed``: a file that notes that `DEADLY` killed a process.
    """

    seconds: float = 0.0
    killed: Path | None = None
    version: str = "fake"

    @contextmanager
    def open(self) -> Iterator[tuple["FakeReader", str]]:
        """Return the reader."""
        yield FakeReader(self), self.version


@dataclass(frozen=True)
class FakeReader:
    """See `FakeReaderSettings`."""

    settings: FakeReaderSettings

    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        """A photo -> one plate."""
        assert isinstance(image, bytes)
        time.sleep(self.settings.seconds)
        if image == BAD:
            raise InputError("image: expected a picture")
        if image == GONE:
            raise ServerUnavailable("nobody there")
        if image == DEADLY and self.settings.killed and not self.settings.killed.exists():
            self.settings.killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        text = image.decode() if sure is None or sure <= 0.9 else ""
        reading = Reading(text, image.decode(), 0.9, (0.9,) * len(image), "private", "russia")
        return [Plate(Box(1, 2, 30, 10), 0.8, reading)]
