"""What every reader of plates has in common, in this process or by a server; clients import it without OpenCV."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from plate_nets.errors import InputError, InputTooLarge
from plate_nets.types import Frame, Plate, Scene


@dataclass(frozen=True)
class FrameLimits:
    """Which frames are accepted; anything else is refused before it is decoded."""

    max_bytes: int = 64 << 20
    """Of an encoded picture. 64 MiB hold a JPEG of any size that `max_pixels` lets through."""
    max_pixels: int = 50_000_000
    """Height times width. 50 megapixels: 150 MB once decoded; a setting against memory, not accuracy."""
    min_side: int = 8
    """Pixels of the shorter side; less cannot hold a plate."""


class Reader(Protocol):
    """A picture -> its plates: `LocalReader` in this process, `PlateClient` by a server."""

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8 as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP or
                BMP file.
            evidence: the plates have their ``logits`` and the ``characters`` of their readings.

        Raises:
            InputError: the picture is not accepted (InputTooLarge: by its size); the message says what was expected.
            PlateError: it cannot be read for another reason.
        """
        ...


@runtime_checkable
class SceneReader(Reader, Protocol):
    """A reader that sees vehicles too."""

    def scene(self, image: Frame | bytes, *, evidence: bool = False) -> Scene:
        """A picture -> its plates, each with its vehicle, and its vehicles. As `Reader.read` otherwise."""
        ...


class GatedReader(Reader, Protocol):
    """A reader whose callers may say how sure a text must be."""

    def read(self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None) -> list[Plate]:
        """As `Reader.read`. ``sure``: the least confidence of a text; by default what the reader is set to.

        Raises:
            InputError: also where ``sure`` is not between 0 and 1.
        """
        ...


class VehicleReader(GatedReader, Protocol):
    """A reader whose callers may also ask for the vehicle of each plate."""

    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        """As `GatedReader.read`. ``vehicles``: each plate has its ``vehicle``, where it surely belongs to one."""
        ...


def check_frame(image: object) -> Frame:
    """What a caller gives as a frame -> the same, contiguous in memory.

    Raises:
        InputError: not an array (H, W, 3) of uint8.
    """
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        got = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise InputError(f"image: expected bytes, or a BGR frame of uint8 (height, width, 3), got {got}")
    return np.ascontiguousarray(image)


def check_sure(sure: object) -> float:
    """How probable a caller wants a text to be -> the same as a number; a text of a number will do.

    Raises:
        InputError: not a number between 0 and 1.
    """
    number = math.nan
    with suppress(TypeError, ValueError):
        number = float(sure)  # type: ignore[arg-type]  # what is no number raises
    if not 0 < number < 1:
        raise InputError(f"sure: expected a probability between 0 and 1, got {sure!r}")
    return number


def check_bytes(where: str, count: int, limits: FrameLimits) -> None:
    """Raises InputTooLarge where an encoded picture of so many bytes is not accepted."""
    if count > limits.max_bytes:
        raise InputTooLarge(f"{where}: expected at most {limits.max_bytes} bytes, got {count}")


def check_size(where: str, h: int, w: int, limits: FrameLimits) -> None:
    """Raises InputError, or its InputTooLarge, where a frame of this height and width is not accepted."""
    if min(h, w) < limits.min_side:
        raise InputError(f"{where}: expected at least {limits.min_side} pixels a side, got {w}x{h} (width x height)")
    if h * w > limits.max_pixels:
        raise InputTooLarge(f"{where}: expected at most {limits.max_pixels} pixels, got {h * w} ({w}x{h})")
