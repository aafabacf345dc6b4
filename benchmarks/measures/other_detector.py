"""Another plate detector that a user might choose, in ONNX Runtime."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.measures.other_reader import session
from plate_nets.recognition.geometry import GREY
from plate_nets.types import Boxes, Frame

_SCORE = 0.4
"""Minimum score of a box: the default of the package that publishes the detector with the reader."""


class OtherDetector:
    """A detector as open-image-models publishes them: float32 (1, 3, S, S) RGB 0..1, letterboxed in the middle -> rows
    (N, 7) of picture, xyxy, class and score, after non-maximum suppression.

    ``model``: its ONNX file.
    """

    def __init__(self, model: Path, threads: int) -> None:
        self._session = session(model, threads, "float")
        (given,) = self._session.get_inputs()
        self._input, self._side = given.name, int(given.shape[-1])

    def find(self, frame: Frame) -> Boxes:
        """A frame (H, W, 3) BGR -> boxes (N, 4) xyxy of its plates, in pixels."""
        height, width = frame.shape[:2]
        scale = self._side / max(height, width)
        high, wide = round(height * scale), round(width * scale)
        top, left = (self._side - high) // 2, (self._side - wide) // 2
        square = np.full((self._side, self._side, 3), GREY, np.uint8)
        square[top : top + high, left : left + wide] = cv2.resize(frame, (wide, high))
        picture = square[None, ..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / 255
        rows: NDArray[np.float32] = self._session.run(None, {self._input: np.ascontiguousarray(picture)})[0]
        boxes = rows[rows[:, 6] >= _SCORE, 1:5]
        return np.asarray((boxes - np.array([left, top, left, top])) / scale, np.float32)
