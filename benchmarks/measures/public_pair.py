"""What a user would build instead for cameras: a public detector and reader on each frame, and a simple tracker."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.measures.other_reader import OtherReader
from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme, default_schemes
from plate_nets.evaluation.onnx_pair import OnnxDetector
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.types import Box, Frame, Plate

_SAME = 0.3
"""Minimum overlap (IoU) of a plate with its box in the frame before."""
_LOST = 10
"""Frames without a plate after which its track ends."""
_LEAST = 3
"""Minimum number of texts of a car: fewer are often no plate."""


@dataclass
class _Track:
    box: Box
    texts: Counter[str] = field(default_factory=Counter)
    missed: int = 0


class PublicPair:
    """A detector and a reader in ONNX Runtime, for a `Watcher`, which gets no plates: the pair has its own tracker.

    The text of a car is the one that most of its frames have.
    """

    def __init__(self, detector: OnnxDetector, reader: OtherReader) -> None:
        self._detector, self._reader = detector, reader
        self.schemes: Sequence[PlateScheme] = default_schemes()
        self.frames = 0
        self._tracks: list[_Track] = []
        self._ended: list[_Track] = []

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        assert isinstance(image, np.ndarray)
        self.frames += 1
        boxes = self._detector.find(image)
        texts = self._reader.read(self._reader.cut(image, boxes)) if len(boxes) else []
        for track in self._tracks:
            track.missed += 1
        for box, text in zip((Box(*row) for row in boxes.tolist()), texts, strict=True):
            waiting = [each for each in self._tracks if each.missed]
            overlaps = iou(stacked([box]), stacked([each.box for each in waiting]))[0]
            if len(waiting) and overlaps.max() >= _SAME:
                track = waiting[int(overlaps.argmax())]
            else:
                self._tracks.append(track := _Track(box))
            track.box, track.missed = box, 0
            track.texts.update([text] * bool(text))
        self._ended += [each for each in self._tracks if each.missed >= _LOST]
        self._tracks = [each for each in self._tracks if each.missed < _LOST]
        return []

    def texts(self) -> list[str]:
        """The text of each car of the frames until now, which are forgotten."""
        cars = [*self._ended, *self._tracks]
        self._tracks, self._ended, self.frames = [], [], 0
        return [each.texts.most_common(1)[0][0] for each in cars if each.texts.total() >= _LEAST]


def load_pair(folder: Path) -> PublicPair:
    """The pair of a folder, `yolo-*.onnx` and `cct_*.onnx` with its `cct_*_config.yaml`, each on one thread.

    Raises:
        InputError: a file is missing or does not load.
    """
    return PublicPair(OnnxDetector(_only(folder, "yolo-*.onnx"), 1), OtherReader(_only(folder, "cct_*.onnx"), 1))


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise InputError(f"{folder}: expected one {pattern}, got {len(found)}")
    return found[0]
