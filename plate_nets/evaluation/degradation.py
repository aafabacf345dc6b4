"""How well plates are read that are far away and strongly compressed.

Each labelled plate is read again from its photo, which is shrunk until the plate has a given height and then coded as
JPEG. So every cell of height and quality has the same plates, with known texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from plate_nets.evaluation.coding import code_jpeg, reduced
from plate_nets.evaluation.dataset import Label, read_photo
from plate_nets.evaluation.evaluate import CropReader, Cut, LabelledPhoto, boxes_of, plate_height
from plate_nets.evaluation.reading_metrics import ReadPlate, Share
from plate_nets.types import Boxes, Frame

HEIGHTS = (8, 10, 12, 14, 17, 20)
"""Height of the plate in the shrunk photo, px."""
QUALITIES = (90, 40)
"""Of the JPEG file, 0..100."""
ENOUGH = 20
"""Minimum number of sure texts for a cell to be judged."""


@dataclass
class Cell:
    height: float
    quality: int
    plates: list[ReadPlate] = field(default_factory=list)

    @property
    def coverage(self) -> Share:
        """Right texts among all plates."""
        return Share(sum(plate.exact for plate in self.plates), len(self.plates))

    @property
    def right_of_sure(self) -> Share:
        """Right texts among the sure ones."""
        return Share(sum(plate.exact for plate in self.plates), sum(not plate.unread for plate in self.plates))


def evaluate_degraded(photos: Iterable[LabelledPhoto], cut: Cut, read: CropReader) -> list[Cell]:
    """Read every labelled plate, with its labelled box, at each of `HEIGHTS` below its own and each of `QUALITIES`."""
    cells = [Cell(height, quality) for quality in QUALITIES for height in HEIGHTS]
    for path, labels in photos:
        photo = read_photo(path)
        for label in labels:
            if not label.text:
                continue
            for cell in cells:
                if cell.height < plate_height(label):
                    small, box = shrink(photo, label, cell.height)
                    reading = read(cut(code_jpeg(small, cell.quality), box))[0]
                    cell.plates.append(ReadPlate(label.photo.name, label.text, cell.height, reading))
    return cells


def shrink(photo: Frame, label: Label, height: float) -> tuple[Frame, Boxes]:
    """Shrink a photo by area until its labelled plate has this height, px; return it with the plate's box (1, 4)."""
    small = reduced(photo, height / plate_height(label))
    factors = np.array([small.shape[1] / photo.shape[1], small.shape[0] / photo.shape[0]] * 2, np.float32)
    return small, boxes_of([label]) * factors
