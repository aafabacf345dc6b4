"""Hides parts of plates: a hook, snow, a bumper, another car.

Hidden symbols must not be read, so the remaining text fits no format of the scheme.
"""

from dataclasses import replace

import cv2
import numpy as np

from plate_nets.countries import PlateScheme
from training.reader.shuffle import layout_of_text
from training.real import RealPlate
from training.synthesis.camera import edge_height
from training.synthesis.drawing import blend

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
    """The plate with one or more symbols hidden under one colour, and the text without them."""
    found = layout_of_text(scheme, plate.text)
    if found is None:
        return plate
    layout, count = found[1], len(plate.text)
    kind, first = rng.random(), int(rng.integers(count))
    last = min(first + int(rng.random() < 0.4), count - 1)
    if kind < _LOWER_PART:
        first, last = 0, count - 1
    elif kind < _LOWER_PART + _TO_THE_END:
        first, last = (0, last) if rng.random() < 0.5 else (first, count - 1)
    rest = plate.text[:first] + plate.text[last + 1 :]
    while scheme.is_plate(rest):  # for example a region without its third digit: hide its neighbour too
        first = max(0, first - 1)
        rest = rest[:first] + rest[first + 1 :]
    slots = layout.slots[first : last + 1]
    side = 0.36 * max(slot.height for slot in slots)
    left = -30 if first == 0 else slots[0].x - side
    right = layout.width + 30 if last == count - 1 else slots[-1].x + side
    top, bottom = -rng.uniform(5, 40), layout.height + rng.uniform(5, 40)
    if kind < _LOWER_PART:
        top = slots[0].baseline - slots[0].height * rng.uniform(0.5, 1.1)
    front = np.array([[0, 0], [layout.width, 0], [layout.width, layout.height], [0, layout.height]], np.float32)
    outline = np.array([[[left, top], [right, top], [right, bottom], [left, bottom]]], np.float32)
    outline[..., 0] += rng.normal(0, 6) * np.array([1, 1, -1, -1])
    points = cv2.perspectiveTransform(outline, cv2.getPerspectiveTransform(front, plate.corners))[0]
    soft = max(0.31, 0.05 * edge_height(plate.corners)) if rng.random() < _SOFT else 0.0
    picture = plate.picture.copy()
    blend(picture, np.asarray(points, np.float32), tuple(rng.uniform(15, 240) + rng.normal(0, 12, 3)), 1.0, soft)
    return replace(plate, picture=picture, text=rest)
