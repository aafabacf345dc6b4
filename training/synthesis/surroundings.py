"""Draws the surroundings of a plate in its plane: frame, bumper, grille and bodywork."""

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.rectification import box_quads
from plate_nets.types import Frame
from training.synthesis.drawing import rounded

MARGIN_X = 0.9
MARGIN_Y = 0.8
"""Surroundings on each side of the plate, in plate heights."""

_PAINTS = np.array(
    [
        (30, 25, 150), (40, 40, 90), (110, 50, 20), (150, 100, 50), (90, 70, 30), (50, 80, 35), (110, 160, 175),
        (60, 110, 140), (40, 160, 200), (120, 120, 80), (70, 45, 80), (100, 130, 150),
    ],
    np.float32,
)  # fmt: skip
"""Car colours besides black, grey and white: reds, blues, greens, beige, gold. BGR."""


def surround(plate: Frame, rng: np.random.Generator) -> tuple[Frame, NDArray[np.float32]]:
    """Put a plate from the front onto a car -> the picture, and the plate's corners (4, 2) in it."""
    height, width = plate.shape[:2]
    left, top = round(height * MARGIN_X), round(height * MARGIN_Y)
    picture = _bodywork(height + 2 * top, width + 2 * left, rng)
    _features(picture, (left, top, left + width, top + height), rng)
    picture[top : top + height, left : left + width] = plate
    cut = rounded(height, width, round(height * 0.05)) == 0  # the plate's corners are round
    picture[top : top + height, left : left + width][cut] = picture[top - 1, left]
    return picture, box_quads(np.array([[left, top, left + width, top + height]], np.float32))[0]


def _bodywork(height: int, width: int, rng: np.random.Generator) -> Frame:
    """Car paint or plastic: a few shades, one below the other, flowing into each other, some with a hard edge."""
    draw = rng.random()
    if draw < 0.7:  # black, grey, silver, white
        level = (rng.uniform(8, 60), rng.uniform(60, 190), rng.uniform(190, 245))[int(3 * rng.random() ** 1.4)]
        paint = level + rng.normal(0, 5, 3)
    else:
        paint = _PAINTS[int(rng.integers(len(_PAINTS)))] * rng.uniform(0.4, 1.15)
    shades = paint * rng.uniform(0.45, 1.25, (4, 3, 1)) + rng.normal(0, 4, (4, 3, 3))
    small = np.clip(shades, 0, 255).astype(np.uint8)
    how = cv2.INTER_NEAREST if rng.random() < 0.15 else cv2.INTER_LINEAR
    picture = np.asarray(cv2.resize(small, (width, height), interpolation=how), np.uint8)
    if rng.random() < 0.4:  # another part below or above, as where the bumper begins
        edge = int(rng.uniform(0.1, 0.9) * height)
        part = picture[:edge] if rng.random() < 0.5 else picture[edge:]
        part[:] = _colour(rng)
    return picture


def _features(picture: Frame, box: tuple[int, int, int, int], rng: np.random.Generator) -> None:
    """Grille bars, edges, lamps and the plate's frame with the dealer's strip."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = box
    unit = y1 - y0
    if rng.random() < 0.3:
        pitch = max(2, round(unit * rng.uniform(0.06, 0.3)))
        shade = _grey(rng)
        thick = max(1, round(pitch * rng.uniform(0.2, 0.6)))
        start, stop = (0, y0) if rng.random() < 0.5 else (y1, height)
        for y in range(start, stop, pitch):
            picture[y : min(y + thick, stop)] = shade
    for _ in range(int(rng.integers(0, 4))):
        y = int(rng.integers(0, height))
        slant = int(rng.normal(0, 0.05) * width)
        cv2.line(picture, (0, y), (width, y + slant), _colour(rng), max(1, round(unit * rng.uniform(0.01, 0.12))))
    for _ in range(int(rng.integers(0, 3))):
        x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
        w, h = int(unit * rng.uniform(0.1, 1.2)), int(unit * rng.uniform(0.05, 0.5))
        cv2.rectangle(picture, (x, y), (x + w, y + h), _colour(rng), -1)
    if rng.random() < 0.65:
        _draw_frame(picture, box, rng)
    elif rng.random() < 0.6:  # shadow under or around the plate
        d = max(1, round(unit * rng.uniform(0.02, 0.1)))
        area = picture[max(0, y0 - d) : y1 + 2 * d, max(0, x0 - d) : x1 + d]
        area[:] = (area * 0.45).astype(np.uint8)


def _draw_frame(picture: Frame, box: tuple[int, int, int, int], rng: np.random.Generator) -> None:
    x0, y0, x1, y1 = box
    unit = y1 - y0
    rim = max(1, round(unit * rng.uniform(0.03, 0.1)))
    below = round(unit * rng.uniform(0.08, 0.26)) if rng.random() < 0.6 else rim
    above = round(unit * rng.uniform(0.08, 0.2)) if rng.random() < 0.12 else rim
    shade = (int(rng.uniform(8, 60)),) * 3 if rng.random() < 0.75 else _colour(rng)
    cv2.rectangle(picture, (x0 - rim, y0 - above), (x1 + rim, y1 + below), shade, -1)
    for top, bottom in ((y1, y1 + below), (y0 - above, y0)):
        if bottom - top > 2 * rim and rng.random() < 0.8:
            _draw_strip(picture, (x0, top, x1, bottom), rng)


def _draw_strip(picture: Frame, box: tuple[int, int, int, int], rng: np.random.Generator) -> None:
    """The dealer's strip: a band with something like small writing."""
    x0, y0, x1, y1 = box
    if rng.random() < 0.5:
        picture[y0 + 1 : y1, x0:x1] = _colour(rng)
    ink = _colour(rng) if rng.random() < 0.4 else (int(rng.uniform(170, 255)),) * 3
    height = y1 - y0
    x = x0 + int(rng.uniform(0, 0.3) * (x1 - x0))
    top, bottom = y0 + max(1, round(height * 0.25)), y1 - max(1, round(height * 0.2))
    while x < x1:
        if rng.random() < 0.85:
            w = max(1, round(height * rng.uniform(0.08, 0.5)))
            picture[top:bottom, x : min(x + w, x1)] = ink
        x += max(2, round(height * rng.uniform(0.2, 0.7)))
        if rng.random() < 0.1:
            x += round(height * rng.uniform(0.5, 4))


def _grey(rng: np.random.Generator) -> tuple[int, int, int]:
    level = int(220 * rng.random() ** 1.7)
    return (level, level, level)


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    if rng.random() < 0.7:
        return _grey(rng)
    b, g, r = _PAINTS[int(rng.integers(len(_PAINTS)))] * rng.uniform(0.3, 1.4)
    return (min(int(b), 255), min(int(g), 255), min(int(r), 255))
