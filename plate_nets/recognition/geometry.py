"""Coordinates: frame <-> network input, boxes, crops.

Coordinates are continuous: pixel ``i`` covers ``i`` to ``i + 1``, so a frame reaches from 0 to its width, and scaling
is a plain factor. Sizes are ``h, w``; OpenCV's ``w, h`` stays within this module.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Boxes, Crops, Frame

STRIDE = 32
"""The sides of the network input are multiples of this, the coarsest stride of YOLOv5."""

_ALIASING = 1.25
"""A halved frame that shrinks by less than this is interpolated between four pixels, which skips hardly any."""

GREY = 114
"""The grey level that fills the rest of the input, as in YOLOv5's training."""


@dataclass(frozen=True)
class Letterbox:
    """The placement of a frame in the network's input: scaled evenly to a long side, at the top left, on grey.

    The input keeps the frame's aspect and is only padded to multiples of `STRIDE`: 720x1280 becomes 384x640.
    """

    frame_hw: tuple[int, int]
    long_side: int

    @property
    def inner_hw(self) -> tuple[int, int]:
        """Size of the scaled frame in pixels, at least 1."""
        height, width = self.frame_hw
        scale = self.long_side / max(height, width)
        return max(1, round(height * scale)), max(1, round(width * scale))

    @property
    def input_hw(self) -> tuple[int, int]:
        """Size of the network's input in pixels."""
        height, width = self.inner_hw
        return math.ceil(height / STRIDE) * STRIDE, math.ceil(width / STRIDE) * STRIDE

    def place(self, frame: Frame, into: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """A frame -> the network's input (1, h, w, 3) BGR, in the memory of ``into`` if that has the same shape."""
        inner_h, inner_w = self.inner_hw
        shape = (1, *self.input_hw, 3)
        placed = into if into is not None and into.shape == shape else np.empty(shape, np.uint8)
        placed[:, inner_h:] = GREY
        placed[:, :inner_h, inner_w:] = GREY
        inner = placed[0, :inner_h, :inner_w]
        if self.frame_hw == self.inner_hw:
            inner[:] = frame
            return placed
        halved = _halved(frame, self.inner_hw)
        close = halved is not frame and halved.shape[0] < _ALIASING * inner_h
        how = cv2.INTER_LINEAR if close else _interpolation(halved, self.inner_hw)
        cv2.resize(halved, (inner_w, inner_h), dst=inner, interpolation=how)
        return placed

    def to_frame(self, boxes: Boxes) -> Boxes:
        """Boxes (N, 4) xyxy in pixels of the network's input -> in pixels of the frame, not clipped."""
        # The size is rounded, so the two factors differ by up to half a pixel over the frame
        down = self.inner_hw[0] / self.frame_hw[0]
        across = self.inner_hw[1] / self.frame_hw[1]
        factors: NDArray[np.float64] = np.array([across, down, across, down])
        return (boxes / factors).astype(np.float32)


def _halved(frame: Frame, hw: tuple[int, int]) -> Frame:
    """Halve a frame as often as its sides are even and it stays at least as large as ``hw``.

    OpenCV averages blocks of four pixels ten times as fast as fractions of pixels: of one core, 1920x1080 to 960x540
    takes 0.5 ms, and straight to 864x486 6.6 ms.
    """
    height, width = frame.shape[:2]
    while height % 2 == width % 2 == 0 and height // 2 >= hw[0] and width // 2 >= hw[1]:
        height, width = height // 2, width // 2
        frame = np.asarray(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    return frame


def resize(frame: Frame, hw: tuple[int, int], enlarge: int = cv2.INTER_LINEAR) -> Frame:
    """Resize a frame: by averaging areas if it shrinks, with the interpolation ``enlarge`` if it grows."""
    if frame.shape[:2] == hw:
        return frame
    return np.asarray(cv2.resize(frame, (hw[1], hw[0]), interpolation=_interpolation(frame, hw, enlarge)), np.uint8)


def _interpolation(frame: Frame, hw: tuple[int, int], enlarge: int = cv2.INTER_LINEAR) -> int:
    shrinks = hw[0] * hw[1] < frame.shape[0] * frame.shape[1]
    return cv2.INTER_AREA if shrinks else enlarge


def expand(boxes: Boxes, margin: float) -> Boxes:
    """Boxes (N, 4) xyxy -> the same boxes, extended on all four sides by ``margin`` times their height."""
    pad = margin * (boxes[:, 3:4] - boxes[:, 1:2])
    return np.concatenate((boxes[:, :2] - pad, boxes[:, 2:] + pad), axis=1).astype(np.float32)


def clip(boxes: Boxes, hw: tuple[int, int]) -> Boxes:
    """Boxes (N, 4) xyxy -> their part within a frame of size ``hw``; boxes outside have no area."""
    height, width = hw
    return np.clip(boxes, 0, np.array([width, height, width, height])).astype(np.float32)


def crop_plates(frame: Frame, boxes: Boxes, margin: float) -> Crops:
    """Plates of a frame -> crops for the STN.

    Args:
        frame: (H, W, 3) BGR uint8.
        boxes: (N, 4) xyxy in pixels of the frame; may extend beyond it.
        margin: how far to extend a box on each side, as a share of its height.

    Returns:
        (N, 3, 24, 94) RGB float32, ``(value - 127.5) / 128``. Crops end at the border of the frame.
    """
    windows = _windows(expand(boxes, margin), frame.shape[:2])
    hw = (CROP_HEIGHT, CROP_WIDTH)
    return normalized([resize(frame[y0:y1, x0:x1], hw, enlarge=cv2.INTER_CUBIC) for y0, y1, x0, x1 in windows])


def normalized(pictures: Sequence[Frame], hw: tuple[int, int] = (CROP_HEIGHT, CROP_WIDTH)) -> NDArray[np.float32]:
    """N pictures (h, w, 3) BGR uint8 of size ``hw`` -> (N, 3, h, w) RGB float32, ``(value - 127.5) / 128``."""
    if len(pictures) == 0:
        return np.empty((0, 3, *hw), np.float32)
    # The same bits as numpy's, in a third of its time
    return np.asarray(cv2.dnn.blobFromImages(pictures, 1 / 128, hw[::-1], (127.5, 127.5, 127.5), swapRB=True))


def _windows(boxes: Boxes, hw: tuple[int, ...]) -> list[list[int]]:
    """Boxes -> the whole pixels ``top, bottom, left, right`` that cover them, within the frame, at least one pixel."""
    height, width = hw[0], hw[1]
    left = np.clip(np.floor(boxes[:, 0]), 0, width - 1)
    top = np.clip(np.floor(boxes[:, 1]), 0, height - 1)
    right = np.clip(np.ceil(boxes[:, 2]), left + 1, width)
    bottom = np.clip(np.ceil(boxes[:, 3]), top + 1, height)
    windows: list[list[int]] = np.stack((top, bottom, left, right), axis=1).astype(int).tolist()
    return windows
