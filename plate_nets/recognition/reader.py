"""The interface of all readers of plates, local or remote. Clients import this without OpenCV."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.types import Box, Frame, Plate, Scene


@dataclass(frozen=True)
class FrameLimits:
    """Limits for pictures; others are refused before they are decoded."""

    max_bytes: int = 64 << 20
    """Of an encoded picture. 64 MiB are enough for a JPEG of any size within `max_pixels`."""
    max_pixels: int = 50_000_000
    """Height times width. 50 megapixels are 150 MB once decoded; the limit protects memory, not accuracy."""
    min_side: int = 8
    """Pixels of the shorter side; a smaller picture cannot show a plate."""


class Reader(Protocol):
    """A picture -> its plates: `LocalReader` in this process, or `PlateClient` from a server."""

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8, as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP, BMP,
                HEIC or AVIF file.
            evidence: also return the ``logits`` of each plate and the ``characters`` of its reading.

        Raises:
            InputError: the picture cannot be accepted (InputTooLarge: because of its size); the message says what was
                expected.
            PlateError: it cannot be read for another reason.
        """


@runtime_checkable
class SceneReader(Reader, Protocol):
    """A reader that also finds vehicles."""

    def scene(self, image: Frame | bytes, *, evidence: bool = False) -> Scene:
        """A picture -> its plates, each with its vehicle, and its vehicles. Otherwise like `Reader.read`."""


@dataclass(frozen=True)
class Focus:
    """What is known of a frame of a video before it is read."""

    settled: tuple[Box, ...] = ()
    """Where plates are expected of which another reading would tell nothing new."""
    only: tuple[Box, ...] = ()
    """Where all plates are expected, if it is enough to look around these. If one of them is not found, the whole frame
    is looked at too."""
    missed: tuple[Box, ...] = ()
    """Where else to look then, found or not."""

    @property
    def is_whole(self) -> bool:
        """Whether the whole frame is looked at."""
        return not self.only and not self.missed


@runtime_checkable
class VideoReader(Reader, Protocol):
    """A reader that can use what is known of a frame."""

    def look(self, frame: Frame, focus: Focus, *, vehicles: bool = False) -> Scene:
        """A frame -> its plates with evidence, and its vehicles if requested. Otherwise like `Reader.read`.

        A settled plate is found, but not read: it has no corners and no logits, and its reading is `types.NOT_READ`.
        """


class GatedReader(Reader, Protocol):
    """A reader whose callers can set the minimum confidence of a text."""

    def read(self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None) -> list[Plate]:
        """Like `Reader.read`. ``sure``: the minimum confidence of a text; by default the reader's own.

        Raises:
            InputError: also if ``sure`` is not between 0 and 1.
        """


class VehicleReader(GatedReader, Protocol):
    """A reader whose callers can also request the vehicle of each plate."""

    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        """Like `GatedReader.read`. ``vehicles``: also find the ``vehicle`` of each plate."""


def check_frame(image: object) -> Frame:
    """Check that an argument is a frame -> the same, contiguous in memory.

    Raises:
        InputError: it is not an array (H, W, 3) of uint8.
    """
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        got = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise InputError(f"image: expected bytes, or a BGR frame of uint8 (height, width, 3), got {got}")
    return np.ascontiguousarray(image)


def check_sure(sure: object) -> float:
    """Check the minimum confidence from a caller, a number or its text -> the number.

    Raises:
        InputError: it is not a number between 0 and 1.
    """
    number = math.nan
    with suppress(TypeError, ValueError):
        number = float(sure)  # type: ignore[arg-type]  # raises if it is not a number
    if not 0 < number < 1:
        raise InputError(f"sure: expected a probability between 0 and 1, got {sure!r}")
    return number


def check_bytes(where: str, count: int, limits: FrameLimits) -> None:
    """Raise InputTooLarge if an encoded picture of ``count`` bytes is over the limit."""
    if count > limits.max_bytes:
        raise InputTooLarge(f"{where}: expected at most {limits.max_bytes} bytes, got {count}")


def check_size(where: str, h: int, w: int, limits: FrameLimits) -> None:
    """Raise InputError, or its subclass InputTooLarge, if a frame of this height and width is not accepted."""
    if min(h, w) < limits.min_side:
        raise InputError(f"{where}: expected at least {limits.min_side} pixels a side, got {w}x{h} (width x height)")
    if h * w > limits.max_pixels:
        raise InputTooLarge(f"{where}: expected at most {limits.max_pixels} pixels, got {h * w} ({w}x{h})")
