"""The pictures of events, as they were stored."""

from contextlib import suppress
from pathlib import Path

from plate_nets.common.errors import InputError
from plate_nets.common.intake.files import read_file

_LARGEST = 32 << 20
"""Bytes of a picture."""


def stored_picture(folder: Path | None, name: str | None) -> bytes | None:
    """The folder of the events' pictures, and the name of one -> the picture, if it is stored and not deleted yet."""
    if folder is not None and name:
        with suppress(OSError, InputError):  # deleted, because it was old
            return read_file(folder / name, _LARGEST)
    return None
