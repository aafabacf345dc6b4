"""A reader from elsewhere that reads what a test tells it, without a network."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.measures.other_reader import OtherReader
from plate_nets.types import Boxes, Frame


class ToldReader(OtherReader):
    """Reads these texts, one after the other, from the crops of each frame, and nothing from the rest."""

    def __init__(self, texts: Sequence[str], regions: Sequence[tuple[str, float]] = ()) -> None:
        self.texts = texts
        self._regions = regions

    def cut(self, frame: Frame, boxes: Boxes) -> NDArray[np.uint8]:
        return np.zeros((len(boxes), 1, 1, 3), np.uint8)

    def read(self, crops: NDArray[np.uint8]) -> list[str]:
        return [*self.texts, *[""] * len(crops)][: len(crops)]

    def regions(self, crops: NDArray[np.uint8]) -> list[tuple[str, float]]:
        return [*self._regions][: len(crops)]
