"""Frames -> plates cut out straight: the detector's boxes, the corners in them, and crops along these."""

from contextlib import nullcontext

import numpy as np

from plate_nets.recognition.corners import CornerFinder, distinct, rescored
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.geometry import clip
from plate_nets.recognition.quads import Quads
from plate_nets.recognition.rectification import RectificationSettings, crop_rectified, quad_boxes
from plate_nets.recognition.stages import Stages
from plate_nets.types import Boxes, Corners, Crops, Frame, Scores


class PlateFinder:
    """Finds the plates of a frame and cuts them out of its own pixels."""

    def __init__(
        self,
        detector: PlateDetector,
        corners: CornerFinder,
        rectification: RectificationSettings = RectificationSettings(),
    ) -> None:
        self.detector = detector
        self.corners = corners
        self.rectification = rectification

    def find(self, frame: Frame, stages: Stages = nullcontext) -> tuple[Crops, Boxes, Scores, Corners]:
        """A frame that `images.load_picture` accepts -> crops, boxes, scores and corners of its plates.

        Its stages are those of `PlateDetector`, ``corners`` and ``crop``. Of boxes that lead to the same corners the
        one with the highest score is left.

        Returns:
            (N, 3, 24, 94) crops for the STN, (N, 4) boxes xyxy in pixels of the frame, (N,) scores 0..1 and (N, 8)
            corners, highest score first. A box lies around the corners, clamped to the frame. Of the labelled boxes of
            ru_dev such boxes are nearer than the detector's own: AP50:95 0.778 and 0.650, AP50 0.9515 of both
            (`plates evaluate ru_dev --boxes detected`).
        """
        boxes, scores = self.detector.detect(frame, stages)
        with stages("corners"):
            found = self.corners.find(frame, boxes)
            scores = rescored(scores, found.odds)
            kept = distinct(found, scores)
            kept = kept[scores[kept] >= self.detector.settings.score_threshold]
            kept = kept[np.argsort(-scores[kept], kind="stable")]
            boxes, scores, quads = boxes[kept], scores[kept], found.quads[kept]
        with stages("crop"):
            crops = self._crop(frame, boxes, quads)
        around = clip(quad_boxes(quads), (frame.shape[0], frame.shape[1]))
        seen = (around[:, 2:] > around[:, :2]).all(axis=1)
        return crops, np.where(seen[:, None], around, boxes), scores, quads.reshape(-1, 8)

    def cut(self, frame: Frame, boxes: Boxes) -> tuple[Crops, Corners]:
        """Boxes (N, 4) xyxy of a frame -> crops (N, 3, 24, 94) along the corners in them, and these (N, 8)."""
        quads = self.corners.find(frame, boxes).quads
        return self._crop(frame, boxes, quads), quads.reshape(-1, 8)

    def _crop(self, frame: Frame, boxes: Boxes, quads: Quads) -> Crops:
        return crop_rectified(frame, quads, boxes, self.detector.settings.crop_margin, self.rectification)
