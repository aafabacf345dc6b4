"""A decoded picture of a video with its times, converted to BGR only when needed."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.reader import FrameLimits, check_size
from plate_nets.recognition.square_pixels import Stretch
from plate_nets.types import Frame

LUMA_SIZE = (180, 320)
"""Height and width of the motion gate's input."""

_PLANAR_8_BIT = frozenset(
    ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "nv21", "gray", "gray8")
)
"""Pixel formats whose first plane is the luma, one byte per pixel."""
_TURNS = {90: cv2.ROTATE_90_COUNTERCLOCKWISE, 180: cv2.ROTATE_180, -180: cv2.ROTATE_180, -90: cv2.ROTATE_90_CLOCKWISE}
_LIMITS = FrameLimits()


@dataclass(frozen=True)
class VideoFrame:
    picture: av.VideoFrame
    time: float
    """When it was taken, Unix seconds."""
    position: float
    """Seconds of the source's own time since its first picture."""
    arrived: float
    """When it was decoded, monotonic clock."""
    pixel: Fraction = Fraction(1)
    """The width of its pixels in heights, before it is turned upright."""
    enlarged: Stretch | None = None
    """The size and the square pixels of a larger stream, of which this picture stands for one."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels, upright."""
        if self.enlarged:
            return self.enlarged.own
        h, w = self.picture.height, self.picture.width
        return (w, h) if self._is_on_its_side else (h, w)

    @cached_property
    def stretch(self) -> Stretch:
        """How to give it square pixels, upright."""
        return self.enlarged or Stretch.of_pixels(
            self.size, 1 / self.pixel if self._is_on_its_side else self.pixel, _LIMITS
        )

    def luma(self) -> NDArray[np.uint8]:
        """Its brightness at `LUMA_SIZE` (180, 320), 0..255, upright; every n-th pixel, without averaging."""
        if self.picture.format.name in _PLANAR_8_BIT:
            plane = self.picture.planes[0]
            full = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        else:
            full = _array(self.picture, "gray")
        h, w = self.picture.height, self.picture.width
        rows, columns = (
            (np.arange(count) * size + size // 2) // count for count, size in zip(LUMA_SIZE, (h, w), strict=True)
        )
        small = _bytes(full[rows[:, None], columns])
        if self._turn is None:
            return small
        return _bytes(cv2.resize(cv2.rotate(small, self._turn), LUMA_SIZE[::-1], interpolation=cv2.INTER_NEAREST))

    def bgr(self) -> Frame:
        """The frame (H, W, 3), upright, in its own pixels.

        Raises:
            InputTooLarge: more pixels than a reader accepts; checked before the conversion.
            InputError: it is too small.
        """
        check_size("frame", *self.size, _LIMITS)
        frame = _array(self.picture, "bgr24")
        upright = frame if self._turn is None else _bytes(cv2.rotate(frame, self._turn))
        return _bytes(cv2.resize(upright, self.size[::-1])) if self.enlarged else upright

    @property
    def _is_on_its_side(self) -> bool:
        return self._turn in (cv2.ROTATE_90_CLOCKWISE, cv2.ROTATE_90_COUNTERCLOCKWISE)

    @property
    def _turn(self) -> int | None:
        return _TURNS.get(self.picture.rotation)


def _array(picture: av.VideoFrame, pixel_format: str) -> NDArray[np.uint8]:
    return _bytes(picture.to_ndarray(format=pixel_format))


def _bytes(array: NDArray[Any] | cv2.typing.MatLike) -> NDArray[np.uint8]:
    return np.asarray(array, np.uint8)
