"""Frames -> crops of their plates: the detector's boxes, the corners in them, and crops along the corners."""

import math
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.corners import CornerFinder, distinct, rescored
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.geometry import clip, crop_plates
from plate_nets.recognition.overlap import inside, iou, stacked
from plate_nets.recognition.quads import Quads, cut_at_one_end, lines_of
from plate_nets.recognition.reader import Focus
from plate_nets.recognition.rectification import box_quads, crop_rectified, quad_boxes
from plate_nets.recognition.stages import Stages
from plate_nets.recognition.vehicles import rows_of
from plate_nets.types import Boxes, Crops, Frame, Lines, PlateCrops, Scores, VehicleRows

_TIGHT_CROP_ASPECTS, _TIGHT_CROP_WIDTH = (1.9, 7.0), 640
"""Width over height, and the maximum width in pixels, of a picture that may be the crop of a plate: the detector knows
plates by their surroundings. Of 386 such crops of four countries it finds 102; as whole pictures CornerNet finds 345,
of which 300 get the right text and 10 a wrong one. Of 820 such windows of photos without a plate, 0.25 get a box and
none gets a text."""
_LARGE = 0.4
"""Width of a very large plate, as a share of the picture's."""
_TIGHT_CROP_SCORE = 0.98
"""The score of such a picture before CornerNet corrects it."""
_EXPECTED, _PART = 0.4, 0.5
"""The minimum overlap (IoU) of a box with the plate that is expected there, whose speed is known, and the minimum share
of another box that lies in this plate, and so belongs to it."""
_NO_BOXES: Boxes = np.empty((0, 4), np.float32)


class FoundPlates(NamedTuple):
    """The plates of a frame of a video."""

    new: tuple[PlateCrops[Crops], Boxes, Scores, VehicleRows]
    """As from `PlateFinder.find`."""
    settled: Boxes
    """(M, 4) xyxy, those that are not new."""
    scores: Scores
    """(M,) the detector's, of these."""


class PlateFinder:
    """Finds the plates of a frame and crops them from its own pixels."""

    def __init__(self, detector: PlateDetector, corners: CornerFinder) -> None:
        self.detector = detector
        self.corners = corners

    def find(
        self, frame: Frame, stages: Stages = nullcontext, vehicles: bool = False
    ) -> tuple[PlateCrops[Crops], Boxes, Scores, VehicleRows]:
        """A frame that `images.load_picture` accepts -> crops, boxes and scores of its plates.

        Its stages are those of `PlateDetector`, ``corners`` and ``crop``. If several boxes lead to the same corners,
        only the one with the highest score is kept. If it finds no plate, or a very large one, which may be a part, it
        looks for one that fills the picture. Finally, it treats a small wide picture as the crop of a plate.

        Returns:
            The crops; (N, 4) boxes xyxy in pixels of the frame and (N,) scores 0..1, highest score first; and the
            vehicles if requested. Each box surrounds the corners, clamped to the frame, which is closer to the labels
            of ru_dev than the detector's own box: AP50:95 0.778 against 0.650, with an AP50 of 0.9515 for both
            (`plates evaluate ru_dev --boxes detected`).
        """
        return self.find_new(frame, Focus(), stages, vehicles).new

    def find_new(self, frame: Frame, focus: Focus, stages: Stages = nullcontext, vehicles: bool = False) -> FoundPlates:
        """Like `find`, but uses what is known of a frame. Only the detector looks at settled plates.

        Such a plate gets the centre of the detector's box, and the expected size, which is known from corners.
        """
        boxes, scores, vehicle_rows = self._detect(frame, focus, stages, vehicles)
        height, width = frame.shape[:2]
        settled, settled_scores = _settled(boxes, scores, stacked(focus.settled).astype(np.float32))
        new = ~(inside(boxes, settled) >= _PART).any(axis=1)
        likely, likely_scores = boxes[new], scores[new]
        boxes, scores, quads = self._plates(frame, likely, likely_scores, stages)
        none = focus.is_whole and not len(boxes) and not len(settled)
        if none or (boxes[:, 2] - boxes[:, 0]).max(initial=0) > _LARGE * width:
            close, close_scores = self.detector.detect_close_up(frame, stages)
            if len(close):
                both = np.concatenate((likely, close)), np.concatenate((likely_scores, close_scores))
                boxes, scores, quads = self._plates(frame, *both, stages)
        least, largest = _TIGHT_CROP_ASPECTS
        if none and not len(boxes) and least * height <= width <= min(largest * height, _TIGHT_CROP_WIDTH):
            whole, score = np.array([[0, 0, width, height]], np.float32), np.array([_TIGHT_CROP_SCORE], np.float32)
            boxes, scores, quads = self._plates(frame, whole, score, stages, self.corners.settings.largest_error)
        around = clip(quad_boxes(quads), (height, width))
        cut = cut_at_one_end(quads, width)  # so its corners are unknown, and it gets no text, see `quads.doubtful`
        quads = np.where(cut[:, None, None], box_quads(around), quads)
        with stages("crop"):
            crops = self._crop(frame, boxes, quads)
        seen = (around[:, 2:] > around[:, :2]).all(axis=1)
        boxes = np.where(seen[:, None], around, boxes)
        if vehicles:
            plates = np.concatenate((boxes, settled))
            vehicle_rows = self.detector.with_large_vehicles(frame, plates, vehicle_rows, stages)
        return FoundPlates((crops, boxes, scores, vehicle_rows), settled, settled_scores)

    def _detect(self, frame: Frame, focus: Focus, stages: Stages, vehicles: bool) -> tuple[Boxes, Scores, VehicleRows]:
        """A frame -> boxes that may be plates, their scores, and its vehicles if requested, which need the whole
        frame."""
        if vehicles:
            return self.detector.detect_both(frame, stages)
        if not focus.is_whole:
            around = stacked((*focus.only, *focus.missed)).astype(np.float32)
            boxes, scores = self.detector.detect_around(frame, around, stages)
            if (iou(around[: len(focus.only)], boxes).max(axis=1, initial=0) >= _EXPECTED).all():
                return boxes, scores, rows_of(())
        return *self.detector.detect(frame, stages), rows_of(())

    def cut(self, frame: Frame, boxes: Boxes) -> PlateCrops[Crops]:
        """Boxes (N, 4) xyxy of a frame -> crops of the plates in them."""
        return self._crop(frame, boxes, self.corners.find(frame, boxes).quads)

    def _plates(
        self, frame: Frame, boxes: Boxes, scores: Scores, stages: Stages, largest_error: float = math.inf
    ) -> tuple[Boxes, Scores, Quads]:
        """Boxes that may be plates, and scores -> those that are plates, highest score first, and their corners.

        ``largest_error``: the maximum expected error of the corners, in plate heights.
        """
        with stages("corners"):
            found = self.corners.find(frame, boxes)
            scores = rescored(scores, found.odds)
            kept = distinct(found, scores)
            kept = kept[
                (scores[kept] >= self.detector.settings.score_threshold) & (found.errors[kept] <= largest_error)
            ]
            kept = kept[np.argsort(-scores[kept], kind="stable")]
            return boxes[kept], scores[kept], found.quads[kept]

    def _crop(self, frame: Frame, boxes: Boxes, quads: Quads) -> PlateCrops[Crops]:
        margin = self.detector.settings.crop_margin

        def crop(rows: NDArray[np.bool_], lines: Lines) -> Crops:
            return crop_rectified(frame, quads[rows], boxes[rows], lines[rows], margin)

        lines = lines_of(quads)
        upright = crop_plates(frame, boxes, margin)
        return PlateCrops(crop(lines > 0, lines), quads.reshape(-1, 8), crop(lines == 2, np.ones_like(lines)), upright)


def _settled(boxes: Boxes, scores: Scores, expected: Boxes) -> tuple[Boxes, Scores]:
    """The detector's boxes (N, 4) and where plates are expected (M, 4) -> the expected plates that it found there."""
    if not len(boxes) or not len(expected):
        return _NO_BOXES, np.empty(0, np.float32)
    overlaps = iou(expected, boxes)
    found = overlaps.max(axis=1) >= _EXPECTED
    rows = overlaps.argmax(axis=1)[found]
    step = (boxes[rows, :2] + boxes[rows, 2:] - expected[found, :2] - expected[found, 2:]) / 2
    return np.asarray(expected[found] + np.tile(step, 2), np.float32), scores[rows]
