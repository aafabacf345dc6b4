"""Windows around the places of a frame where plates are expected: they fill one small input of the detector."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.geometry import GREY, resize
from plate_nets.types import Boxes, Frame

TILE_HW = (96, 160)
"""Height and width of a window in the detector's input."""
_ACROSS, _DOWN = 2, 2
PER_INPUT = _ACROSS * _DOWN
"""The maximum number of windows of one input. With four, it has a quarter of the pixels of the input for a whole frame
of 16:9; with one or two, it is only as large as these."""
_WIDTHS = 3.0
"""Width of a window in widths of its plate: the detector knows plates by what is around them."""
_EDGE = 2.0
"""Pixels from the window's edge within which a box may be the part of a plate."""


@dataclass(frozen=True)
class Window:
    """A part of a frame: its left and top, its right and bottom, in whole pixels."""

    start: tuple[int, int]
    end: tuple[int, int]

    @property
    def tile_hw(self) -> tuple[int, int]:
        """Its size in the detector's input; it is never enlarged."""
        w, h = self.end[0] - self.start[0], self.end[1] - self.start[1]
        scale = min(1.0, TILE_HW[0] / h, TILE_HW[1] / w)
        return max(1, round(scale * h)), max(1, round(scale * w))


def windows_around(boxes: Boxes, hw: tuple[int, int]) -> list[Window]:
    """Boxes (N, 4) xyxy of plates in a frame of this height and width -> N windows within the frame."""
    sizes = boxes[:, 2:] - boxes[:, :2]
    scale = np.maximum(1.0, _WIDTHS * sizes.max(axis=1) / TILE_HW[1])[:, None]
    limit = np.array(hw[::-1])
    size = np.minimum(np.ceil(scale * TILE_HW[::-1]), limit)
    start = np.clip(np.round((boxes[:, :2] + boxes[:, 2:] - size) / 2), 0, limit - size)
    return [
        Window((left, top), (right, bottom))
        for left, top, right, bottom in np.concatenate((start, start + size), axis=1).astype(int).tolist()
    ]


def place(frame: Frame, windows: Sequence[Window]) -> NDArray[np.uint8]:
    """At most `PER_INPUT` windows of a frame -> the detector's input (1, h, w, 3) BGR."""
    h, w = TILE_HW
    down = -(-len(windows) // _ACROSS)
    placed = np.full((1, down * h, min(len(windows), _ACROSS) * w, 3), GREY, np.uint8)
    for number, window in enumerate(windows):
        (left, top), (right, bottom) = window.start, window.end
        tile_h, tile_w = window.tile_hw
        x, y = _corner(number)
        placed[0, y : y + tile_h, x : x + tile_w] = resize(frame[top:bottom, left:right], window.tile_hw)
    return placed


def to_frame(boxes: Boxes, windows: Sequence[Window], hw: tuple[int, int]) -> tuple[Boxes, NDArray[np.bool_]]:
    """Boxes (N, 4) xyxy in pixels of the input of `place` -> in pixels of the frame, and whether each is whole: (N,).

    A box is whole if it ends within one window, or at the edge of the frame.
    """
    moved, whole = boxes.copy(), np.zeros(len(boxes), np.bool_)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    for number, window in enumerate(windows):
        corner, start, end = np.array(_corner(number)), np.array(window.start), np.array(window.end)
        tile = np.array(window.tile_hw[::-1])
        rows = ((centres >= corner) & (centres < corner + tile)).all(axis=1)
        first, last = boxes[rows, :2] - corner, boxes[rows, 2:] - corner
        whole[rows] = (((first > _EDGE) | (start == 0)) & ((last < tile - _EDGE) | (end == hw[::-1]))).all(axis=1)
        factor = (end - start) / tile
        moved[rows] = np.concatenate((start + factor * first, start + factor * last), axis=1)
    return moved, whole


def _corner(number: int) -> tuple[int, int]:
    """The left and the top of a window in the input."""
    down, across = divmod(number, _ACROSS)
    return across * TILE_HW[1], down * TILE_HW[0]
