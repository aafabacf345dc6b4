"""What is seen around a plate: its frame, bumper, grille and bodywork, drawn in the plane of the plate."""

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Frame

MARGIN_X = 0.9
MARGIN_Y = 0.8
"""Surroundings on each side of the plate, in plate heights."""


def surround(plate: Frame, rng: np.random.Generator) -> tuple[Frame, NDArray[np.float32]]:
    """A plate from the front -> a picture of it on a car, and its corners (4, 2) in that picture."""
    height, width = plate.shape[:2]
    left, top = round(height * MARGIN_X), round(height * MARGIN_Y)
    picture = _bodywork(height + 2 * top, width + 2 * left, rng)
    _features(picture, (left, top, left + width, top + height), rng)
    picture[top : top + height, left : left + width] = plate
    radius = max(1, round(height * 0.06))
    ground = picture[top - 1, left]
    for y, x in ((top, left), (top, left + width - radius), (top + height - radius, left)):
        del y, x
    for y, x in ((top, left), (top, left + width - 1), (top + height - 1, left), (top + height - 1, left + width - 1)):
        picture[y, x] = ground
    corners = np.array(
        [[left, top], [left + width, top], [left + width, top + height], [left, top + height]], np.float32
    )
    return picture, corners


def _bodywork(height: int, width: int, rng: np.random.Generator) -> Frame:
    """Car paint or plastic: a colour that changes downwards and sideways."""
    if rng.random() < 0.55:  # black, grey, silver, white
        first = np.repeat(rng.choice((rng.uniform(10, 60), rng.uniform(60, 200), rng.uniform(200, 250))), 3)
        first = first + rng.normal(0, 4, 3)
    else:
        first = rng.uniform(0, 220, 3)
    second = first * rng.uniform(0.4, 1.4) + rng.normal(0, 8, 3)
    down = np.linspace(0, 1, height, dtype=np.float32)
    if rng.random() < 0.5:
        down = (down > rng.uniform(0.1, 0.9)).astype(np.float32) * 0.7 + down * 0.3
    column = first[None] * (1 - down[:, None]) + second[None] * down[:, None]
    sideways = np.linspace(rng.uniform(0.7, 1.15), rng.uniform(0.7, 1.15), width, dtype=np.float32)
    return np.asarray(np.clip(column[:, None].astype(np.float32) * sideways[None, :, None], 0, 255), np.uint8)


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
    level = int(rng.uniform(0, 200))
    return (level, level, level)


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    if rng.random() < 0.6:
        return _grey(rng)
    b, g, r = rng.integers(0, 256, 3)
    return (int(b), int(g), int(r))
