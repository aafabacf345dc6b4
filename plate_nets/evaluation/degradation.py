"""How well plates are read that are far away, strongly compressed, blurred or dark.

Each labelled plate is read again from its photo, which is shrunk until the plate has a given height and then
degraded as by a camera. So every cell of height and degradation has the same plates, with known texts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import cv2
import numpy as np

from plate_nets.evaluation.coding import code_h264, code_jpeg, moved, reduced
from plate_nets.evaluation.dataset import Label, read_photo
from plate_nets.evaluation.evaluate import CropReader, Cut, LabelledPhoto, boxes_of, plate_height
from plate_nets.evaluation.reading_metrics import ReadPlate, Share
from plate_nets.types import Boxes, Frame

Degradation = Callable[[Frame, float, np.random.Generator], Frame]
"""A photo (H, W, 3) BGR and the height of its plate, px -> the photo as a camera would deliver it."""

HEIGHTS = (6, 7, 8, 10, 12, 14, 17, 20, 24)
QUICK_HEIGHTS = (8, 10, 12, 14, 17, 20)
"""Height of the plate in the shrunk photo, px."""
ENOUGH = 20
"""Minimum number of sure texts for a cell to be judged."""


def _jpeg(photo: Frame, _: float, __: np.random.Generator, quality: int) -> Frame:
    return code_jpeg(photo, quality)


def _h264(photo: Frame, height: float, rng: np.random.Generator, crf: int) -> Frame:
    """The last of four frames in which the car moves by up to a tenth of the plate's height per frame."""
    right, down = rng.uniform(-0.1, 0.1, 2) * height
    return code_h264([moved(photo, right * back, down * back) for back in (3, 2, 1, 0)], crf)[-1]


def _motion(photo: Frame, height: float, rng: np.random.Generator) -> Frame:
    """Motion blur along the road by a fifth of the plate's height, then JPEG 90."""
    length = max(1.0, 0.2 * height)
    half = int(np.ceil((length - 1) / 2))
    streak = np.ones((1, 2 * half + 1), np.float32)
    if half:
        streak[0, [0, -1]] = (length - 2 * half + 1) / 2  # the ends cover part of a pixel
    return code_jpeg(np.asarray(cv2.filter2D(photo, -1, streak / length), np.uint8), 90)


def _night(photo: Frame, _: float, rng: np.random.Generator) -> Frame:
    """A fifth of the light, with the noise of a night picture, then JPEG 90."""
    noise = rng.standard_normal(photo.shape, np.float32) * 4
    return code_jpeg(np.clip(photo * np.float32(0.2) + noise, 0, 255).astype(np.uint8), 90)


DEGRADATIONS: Mapping[str, Degradation] = {
    **{f"JPEG {quality}": partial(_jpeg, quality=quality) for quality in (90, 60, 40, 25)},
    **{f"H.264, CRF {crf}": partial(_h264, crf=crf) for crf in (26, 32, 38)},
    "motion blur": _motion,
    "night": _night,
}
QUICK = ("JPEG 90", "JPEG 40")


@dataclass
class Cell:
    height: float
    degradation: str
    plates: list[ReadPlate] = field(default_factory=list)

    @property
    def coverage(self) -> Share:
        """Right texts among all plates."""
        return Share(sum(plate.exact for plate in self.plates), len(self.plates))

    @property
    def right_of_sure(self) -> Share:
        """Right texts among the sure ones."""
        return Share(sum(plate.exact for plate in self.plates), sum(not plate.unread for plate in self.plates))


def evaluate_degraded(
    photos: Iterable[LabelledPhoto],
    cut: Cut,
    read: CropReader,
    heights: Sequence[float],
    degradations: Sequence[str],
) -> list[Cell]:
    """Read every labelled plate at each height below its own and through each degradation.

    Boxes are the labelled ones. Random degradations are the same in every run.
    """
    cells = {(height, name): Cell(height, name) for name in degradations for height in heights}
    for path, labels in photos:
        photo = read_photo(path)
        for label in labels:
            if not label.text:
                continue
            for (height, name), cell in cells.items():
                if height < plate_height(label):
                    small, box = shrink(photo, label, height)
                    rng = np.random.default_rng(round(1000 * abs(float(label.box.xmin))))
                    seen = DEGRADATIONS[name](small, height, rng)
                    cell.plates.append(ReadPlate(label.photo.name, label.text, height, read(cut(seen, box))[0]))
    return list(cells.values())


def shrink(photo: Frame, label: Label, height: float) -> tuple[Frame, Boxes]:
    """Shrink a photo by area until its labelled plate has this height, px; return it with the plate's box (1, 4)."""
    small = reduced(photo, height / plate_height(label))
    factors = np.array([small.shape[1] / photo.shape[1], small.shape[0] / photo.shape[0]] * 2, np.float32)
    return small, boxes_of([label]) * factors
