"""Frames -> plates cut out straight: the detector's boxes, the corners in them, and crops along these."""

from contextlib import nullcontext

from plate_nets.recognition.corners import CornerFinder, FoundCorners, distinct
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.rectification import RectificationSettings, crop_rectified
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
            (N, 3, 24, 94) crops for the STN, (N, 4) boxes xyxy and (N, 8) corners in pixels of the frame, (N,) scores
            0..1; highest score first.
        """
        boxes, scores = self.detector.detect(frame, stages)
        with stages("corners"):
            found = self.corners.find(frame, boxes)
            kept = distinct(found, scores)
            boxes, scores, found = boxes[kept], scores[kept], found.rows(kept)
        with stages("crop"):
            crops = self._crop(frame, boxes, found)
        return crops, boxes, scores, found.quads.reshape(-1, 8)

    def cut(self, frame: Frame, boxes: Boxes) -> tuple[Crops, FoundCorners]:
        """Boxes (N, 4) xyxy of a frame -> crops (N, 3, 24, 94) along the corners in them, and these."""
        found = self.corners.find(frame, boxes)
        return self._crop(frame, boxes, found), found

    def _crop(self, frame: Frame, boxes: Boxes, found: FoundCorners) -> Crops:
        return crop_rectified(frame, found.quads, boxes, self.detector.settings.crop_margin, self.rectification)
