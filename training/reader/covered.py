"""Hides parts of plates: a hook, snow, a bumper, another car.

Hidden symbols must not be read, so the remaining text fits no format of the scheme.
"""

from dataclasses import replace

import cv2
import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.types import Frame
from training.reader.real import RealPlate
from training.reader.shuffle import layout_of_text
from training.synthesis.camera import edge_height
from training.synthesis.layouts.layout import PlateLayout

_LOWER_PART = 0.3
"""Of the covered plates: share whose lower part is hidden, across all symbols."""
_TO_THE_END = 0.3
"""Of the covered plates: share with a hidden end."""
_SOFT = 0.4
"""Of the covers: share with a soft edge, as of snow."""


def can_cover(scheme: PlateScheme, plate: RealPlate) -> bool:
    """Whether the positions of the symbols are known."""
    return plate.exact and layout_of_text(scheme, plate.text) is not None


def cover(scheme: PlateScheme, plate: RealPlate, rng: np.random.Generator) -> RealPlate:
    """The plate with one or more symbols hidden, and the text without them."""
    found = layout_of_text(scheme, plate.text)
    if found is None:
        return plate
    _, layout = found
    count = len(plate.text)
    kind = rng.random()
    first = int(rng.integers(count))
    last = min(first + int(rng.random() < 0.4), count - 1)
    if kind < _LOWER_PART:
        first, last = 0, count - 1
    elif kind < _LOWER_PART + _TO_THE_END:
        first, last = (0, last) if rng.random() < 0.5 else (first, count - 1)
    rest = plate.text[:first] + plate.text[last + 1 :]
    while scheme.is_plate(rest):  # for example a region without its third digit: hide its neighbour too
        first = max(0, first - 1)
        rest = rest[:first] + rest[first + 1 :]
    area = _area(layout, first, last, kind < _LOWER_PART, rng)
    return replace(plate, picture=_painted(plate, layout, area, rng), text=rest)


def _area(
    layout: PlateLayout, first: int, last: int, lower_part: bool, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of the cover over the slots ``first`` to ``last``, mm of the plate's front."""
    slots = layout.slots[first : last + 1]
    side = 0.36 * max(slot.height for slot in slots)
    left, right = slots[0].x - side, slots[-1].x + side
    if last == len(layout.slots) - 1:
        right = layout.width + 30
    if first == 0:
        left = -30
    top = -rng.uniform(5, 40)
    if lower_part:
        slot = layout.slots[0]
        top = slot.baseline - slot.height * rng.uniform(0.5, 1.1)
    return left, float(top), right, layout.height + float(rng.uniform(5, 40))


def _painted(
    plate: RealPlate, layout: PlateLayout, area: tuple[float, float, float, float], rng: np.random.Generator
) -> Frame:
    """The plate's picture with an area of its front painted over in one colour, its edge hard or soft."""
    left, top, right, bottom = area
    front = np.array([[0, 0], [layout.width, 0], [layout.width, layout.height], [0, layout.height]], np.float32)
    transform = cv2.getPerspectiveTransform(front, np.ascontiguousarray(plate.corners, np.float32))
    lean = rng.normal(0, 6)
    outline = np.array([[[left + lean, top], [right + lean, top], [right - lean, bottom], [left - lean, bottom]]])
    points = cv2.perspectiveTransform(outline.astype(np.float32), transform)[0]
    mask = np.zeros(plate.picture.shape[:2], np.float32)
    cv2.fillPoly(mask, [np.round(points * 16).astype(np.int32)], (1.0,), cv2.LINE_AA, 4)
    height = edge_height(plate.corners)
    if rng.random() < _SOFT:
        mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), max(0.3, 0.05 * height)), np.float32)
    colour = rng.uniform(15, 240) + rng.normal(0, 12, 3)
    grain = rng.normal(0, rng.uniform(1, 12), (*mask.shape, 1))
    paint = np.clip(colour + grain + np.linspace(-1, 1, len(mask))[:, None, None] * rng.normal(0, 25), 0, 255)
    return np.asarray(plate.picture * (1 - mask[:, :, None]) + paint * mask[:, :, None]).astype(np.uint8)
