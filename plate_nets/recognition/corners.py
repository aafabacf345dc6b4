"""Boxes of plates -> their four corners, by a small network that looks at a window around each box.

The first window is upright and wide enough to include what a misplaced box cuts off. Each further window follows the
corners found so far, so that the plate lies straight and large in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.geometry import normalized
from plate_nets.recognition.quads import Quad, Quads
from plate_nets.recognition.rectification import (
    RectificationSettings,
    box_quads,
    parallelogram,
    quad_boxes,
    usable,
    warp_quad,
)
from plate_nets.types import WINDOW_HEIGHT, WINDOW_WIDTH, Boxes, Frame, Scores

CornerNetwork = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Windows (N, 3, 64, 128) RGB -> (N, 10): the corners in pixels of the window, the logarithm of their expected
error, and a correction to the log-odds of a plate."""

FIRST_WIDTH = 1.5
"""Width of the first window as a multiple of the box's width, or of twice its height if that is larger."""
_BESIDE_X, _BESIDE_Y = 16.0, 16.0
"""Where the plate begins in a further window, pixels from the window's edges."""


@dataclass(frozen=True)
class CornerSettings:
    """Settings of `CornerFinder`.

    ``looks``: the maximum number of windows per plate. On ru_dev, with boxes shifted by half, 95 % of the corners are
    within 0.37 of the plate's height after one look and within 0.17 after two.
    ``chunk``: the maximum number of windows per call of the network.
    ``largest_error``: corners with a larger expected error, in plate heights, are rejected: there is no plate, or it is
    turned by 90 degrees. On ru_dev such a plate has 0.16 and all others at most 0.08; of 62 boxes that the detector
    finds on 70 photos without plates, half have more than 0.13.
    ``settled``: corners with at most this expected error, in plate heights, get no further look; 0: all get one.
    With 0.06, half of ru_dev needs one look, and 0.951 of its plates are read, the same as with two looks at every
    plate. With 0.07, 0.941 are read, and with one look at every plate 0.936.
    ``convincing``: if the first look expects at most this error, in plate heights, the score is not lowered. On ru_dev
    this holds for 192 of 204 plates. Of 243 photos without plates, 0.058 have such a box; none of these gets a text.
    """

    looks: int = 2
    chunk: int = 32
    largest_error: float = 0.12
    settled: float = 0.06
    convincing: float = 0.085


@dataclass(frozen=True)
class FoundCorners:
    """The corners found in N boxes.

    Attributes:
        quads: (N, 4, 2) the corners, in pixels of the frame.
        errors: (N,) their expected error, as a share of the plate's height.
        odds: (N,) corrections to the detector's log-odds of a plate.
    """

    quads: Quads
    errors: NDArray[np.float32]
    odds: NDArray[np.float32]

    def rows(self, kept: NDArray[np.intp]) -> "FoundCorners":
        return FoundCorners(self.quads[kept], self.errors[kept], self.odds[kept])


class CornerFinder:
    """Finds the corners of plates with a given network."""

    def __init__(self, network: CornerNetwork, settings: CornerSettings = CornerSettings()) -> None:
        self.network = network
        self.settings = settings

    def find(self, frame: Frame, boxes: Boxes) -> FoundCorners:
        """Boxes (N, 4) xyxy in pixels of a frame -> the corners of the plates in them.

        A box without area, or without usable corners, gets its own corners and an error of 1. The odds are those of the
        first look.
        """
        upright = box_quads(boxes)
        quads, errors, odds = upright.copy(), np.ones(len(boxes), np.float32), np.zeros(len(boxes), np.float32)
        rows, windows = np.arange(len(boxes)), [first_window(box) for box in boxes]
        for look in range(self.settings.looks):
            found, expected, added = self._look(frame, windows)
            if look == 0:
                odds = np.where(expected <= self.settings.convincing, np.maximum(added, 0), added)
            good = usable(found, _SHAPES)
            taken = good & (expected <= self.settings.largest_error)
            quads[rows] = np.where(taken[:, None, None], found, upright[rows])
            errors[rows] = np.where(taken, expected, 1.0)
            again = good & (expected > self.settings.settled)
            rows, windows = rows[again], [next_window(quad) for quad in found[again]]
            if not len(rows):
                break
        return FoundCorners(quads, errors, odds)

    def _look(self, frame: Frame, windows: list[Quad]) -> tuple[Quads, NDArray[np.float32], NDArray[np.float32]]:
        """Windows -> corners (N, 4, 2) in pixels of the frame, expected errors (N,), corrections to the odds (N,)."""
        quads, rest = [np.empty((0, 4, 2), np.float32)], [np.empty((0, 2), np.float32)]
        for start in range(0, len(windows), self.settings.chunk):
            chunk = windows[start : start + self.settings.chunk]
            answer = np.array(self.network(cut_windows(frame, chunk)))
            with np.errstate(invalid="ignore", over="ignore"):  # `usable` drops what is not finite
                points = answer[:, :8].reshape(-1, 4, 2)
                quads.append(np.stack([from_window(p, window) for p, window in zip(points, chunk, strict=True)]))
                rest.append(answer[:, 8:])
        error, plate = np.concatenate(rest).astype(np.float32).T
        odds = np.clip(np.nan_to_num(plate), -_MOST_ODDS, _MOST_ODDS)
        return np.concatenate(quads).astype(np.float32), np.exp(np.clip(error, -10, 3)), odds


def distinct(found: FoundCorners, scores: Scores, overlap: float = 0.45) -> NDArray[np.intp]:
    """Drop plates whose boxes led to the same corners -> the rows of the remaining ones, highest score first.

    ``overlap``: if two upright boxes overlap by more (IoU), the one with the lower score is dropped. YOLOv5's default.
    """
    boxes = quad_boxes(found.quads)
    sizes = np.concatenate((boxes[:, :2], boxes[:, 2:] - boxes[:, :2]), axis=1)
    kept = cv2.dnn.NMSBoxes(sizes.tolist(), scores.tolist(), 0.0, overlap) if len(boxes) else ()
    return np.sort(np.asarray(kept, np.intp).reshape(-1))


def rescored(scores: Scores, odds: NDArray[np.float32]) -> Scores:
    """The detector's scores (N,) and corrections to their log-odds (N,) -> corrected scores, 0..1."""
    sure = np.clip(scores, 1e-6, 1 - 1e-6)
    return np.asarray(1 / (1 + np.exp(-odds) * (1 - sure) / sure), np.float32)


_MOST_ODDS = 8.0
_SHAPES = RectificationSettings(least_height=1.0, least_aspect=0.5, largest_aspect=20.0)
"""The shapes that the finder itself accepts, wider than those for reading."""


def first_window(box: NDArray[np.float32]) -> Quad:
    """A box (4,) xyxy -> the upright window around it, (4, 2) in pixels of the frame."""
    xmin, ymin, xmax, ymax = (float(v) for v in box)
    half = max(FIRST_WIDTH * max(xmax - xmin, 2 * (ymax - ymin)), 4.0) / 2
    half_y = half * WINDOW_HEIGHT / WINDOW_WIDTH
    x, y = (xmin + xmax) / 2, (ymin + ymax) / 2
    window: Quad = box_quads(np.array([[x - half, y - half_y, x + half, y + half_y]], np.float32))[0]
    return window


def next_window(quad: Quad) -> Quad:
    """The corners found so far -> a parallelogram (4, 2) along them, in pixels of the frame."""
    flat = parallelogram(quad)
    along, down = flat[1] - flat[0], flat[3] - flat[0]
    x, y = along * (_BESIDE_X / (WINDOW_WIDTH - 2 * _BESIDE_X)), down * (_BESIDE_Y / (WINDOW_HEIGHT - 2 * _BESIDE_Y))
    return np.asarray(flat + np.stack((-x - y, x - y, x + y, -x + y)), np.float32)


def cut_windows(frame: Frame, windows: Sequence[Quad]) -> NDArray[np.float32]:
    """N windows (4, 2) of a frame -> the network's input: (N, 3, 64, 128) RGB, ``(value - 127.5) / 128``.

    Their areas are averaged exactly, as in training: of 444 foreign crops, 394 get the right text, and 390 with blocks.
    """
    hw = (WINDOW_HEIGHT, WINDOW_WIDTH)
    cut = [warp_quad(frame, window, hw, enlarge=cv2.INTER_LINEAR, blocks=False) for window in windows]
    return normalized(cut, hw)


def from_window(points: NDArray[np.float32], window: Quad) -> NDArray[np.float32]:
    """Points (K, 2) in pixels of a window, which is a parallelogram (4, 2) -> pixels of the frame."""
    share = points / np.array([WINDOW_WIDTH, WINDOW_HEIGHT], np.float32)
    along, down = window[1] - window[0], window[3] - window[0]
    return np.asarray(window[0] + share[:, :1] * along + share[:, 1:] * down, np.float32)


def to_window(points: NDArray[np.float32], window: Quad) -> NDArray[np.float32]:
    """Points (K, 2) in pixels of the frame -> pixels of a window, which is a parallelogram (4, 2) with an area."""
    axes = np.stack((window[1] - window[0], window[3] - window[0]), axis=1).astype(np.float64)
    share = np.linalg.solve(axes, (points - window[0]).T.astype(np.float64)).T
    return np.asarray(share * (WINDOW_WIDTH, WINDOW_HEIGHT), np.float32)
