"""Frames -> boxes of plates: letterbox, network, selection of its rows, boxes in the frame's pixels."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import InputError
from plate_nets.recognition.geometry import STRIDE, Letterbox, clip
from plate_nets.recognition.stages import Stages
from plate_nets.runtimes.rows import best_rows, row_scores
from plate_nets.types import DEFAULT_DETAIL, Boxes, Detail, Frame, Scores

DetectorNetwork = Callable[[NDArray[np.uint8]], NDArray[np.float32]]
"""The network: (1, h, w, 3) BGR -> (1, A, 6) cx, cy, w, h in px of the input, objectness, class score; all rows, or
those with an objectness of 0.001 and more (`runtimes.detector.NEGLIGIBLE`)."""


LEAST_SIDE = 640
"""Long side of the network's input, px, for pictures from near, whatever their size."""

_DETAILS: dict[Detail, tuple[float, int]] = {"fast": (0.0, LEAST_SIDE), "balanced": (0.5, 960), "far": (1.0, 1280)}
"""The input's long side as a share of the picture's, and the most px of it."""


@dataclass(frozen=True)
class DetectionSettings:
    """Numbers of the detector.

    ``long_side``: px of the network's input; 0: by ``detail``.
    ``detail``: with "fast" the input is 640 px long, with "balanced" half as long as the picture, but 640 to 960 px,
    with "far" as long as the picture, but 640 to 1280 px. So with "balanced" a picture of up to 1280 px is looked at
    as with "fast". See docs/explanation/performance.md, by `python -m training.detector.smallest_plate`.
    ``proposal``: least score of a box of the detector alone. In it corners are looked for, and what the corner network
    sees there corrects the score, see `corners.rescored`.
    ``score_threshold``: least score of a plate, by both networks. The correction is made so that 0.15 suits.
    ``iou_threshold``: of two boxes that overlap more, the lower score goes. YOLOv5's own value; plates hardly overlap.
    ``max_detections``: the most a frame answers.
    ``crop_margin``: what an upright crop, of a plate whose corners are not found, holds around the box on each side,
    as a share of its height. With such crops alone, plates of ru_dev found
    and read exactly, by `python -m training.detector.crop_margin`: 189 of 201 at 0, 190 from 0.05 to 0.15, 187 at 0.2,
    175 at 0.3 (weights a little older); the middle of the plateau is taken.
    """

    long_side: int = 0
    proposal: float = 0.1
    score_threshold: float = 0.15
    iou_threshold: float = 0.45
    max_detections: int = 300
    crop_margin: float = 0.1
    detail: Detail = DEFAULT_DETAIL

    def __post_init__(self) -> None:
        for name, valid, expected in (
            ("long_side", self.long_side == 0 or self.long_side >= STRIDE, f"0 or at least {STRIDE}"),
            ("detail", self.detail in _DETAILS, f"one of {', '.join(_DETAILS)}"),
            ("proposal", 0 <= self.proposal < 1, "0 to below 1"),
            ("score_threshold", 0 <= self.score_threshold < 1, "0 to below 1"),
            ("iou_threshold", 0 < self.iou_threshold <= 1, "above 0 to 1"),
            ("max_detections", self.max_detections >= 1, "at least 1"),
            ("crop_margin", 0 <= self.crop_margin <= 1, "0 to 1"),
        ):
            if not valid:
                raise InputError(f"detection settings: {name}: expected {expected}, got {getattr(self, name)}")

    def side_for(self, hw: tuple[int, int]) -> int:
        """The size of a picture, px -> the long side of the network's input, px."""
        if self.long_side:
            return self.long_side
        share, most = _DETAILS[self.detail]
        return min(max(int(share * max(hw)) // STRIDE * STRIDE, LEAST_SIDE), most)


class PlateDetector:
    """Finds the plates of a frame with a given network; for one caller at a time."""

    def __init__(self, network: DetectorNetwork, settings: DetectionSettings | None = None) -> None:
        self.network = network
        self.settings = settings or DetectionSettings()
        self._pixels: NDArray[np.uint8] | None = None

    def detect(self, frame: Frame, stages: Stages = nullcontext) -> tuple[Boxes, Scores]:
        """A frame that `images.load_picture` accepts -> boxes that may show plates and their scores, highest first.

        Its stages are ``letterbox``, ``network`` and ``select``.

        Returns:
            (N, 4) boxes xyxy in pixels of the frame, clamped to it, and (N,) scores 0..1.
        """
        hw = (frame.shape[0], frame.shape[1])
        letterbox = Letterbox(hw, self.settings.side_for(hw))
        with stages("letterbox"):
            self._pixels = letterbox.place(frame, self._pixels)
        with stages("network"):
            rows = self.network(self._pixels)
        with stages("select"):
            found, scores = select(rows[0], self.settings)
            boxes = clip(letterbox.to_frame(found), hw)
            visible = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        return boxes[visible], scores[visible]


def select(rows: NDArray[np.float32], settings: DetectionSettings) -> tuple[Boxes, Scores]:
    """Rows of the network (A, 5 + classes) -> boxes (N, 4) xyxy in pixels of its input and scores, highest first.

    A score is objectness times the best class score; non-maximum suppression ignores the class.
    """
    kept = best_rows(rows, settings.proposal, settings.iou_threshold)[: settings.max_detections]
    sizes = rows[kept, 2:4]
    corners = rows[kept, 0:2] - sizes / 2
    return np.concatenate((corners, corners + sizes), axis=1), row_scores(rows[kept])
