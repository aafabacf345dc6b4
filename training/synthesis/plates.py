"""Russian number plates drawn flat, from the front: one-line plates of GOST R 50577-2018, 520 x 112 mm.

Sizes are in mm, x to the right and y down from the plate's top left corner. The positions were compared with the
mean of rectified real plates; the standard's own drawings place single characters within a few mm of them.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Frame
from training.synthesis import glyphs
from training.synthesis.errors import unknown

Colour = tuple[int, int, int]
"""Blue, green, red, 0..255."""

WIDTH = 520.0
HEIGHT = 112.0

BASELINE = 92.0
DIGIT, LETTER = 76.0, 58.0
REGION, REGION_BASELINE = 58.0, 69.0
BOLTS = ((13.0, 54.5), (505.0, 54.5))

WHITE: Colour = (236, 236, 234)
BLACK: Colour = (28, 26, 26)
YELLOW: Colour = (30, 190, 245)
MILITARY: Colour = (34, 32, 32)
BLUE: Colour = (165, 85, 20)


@dataclass(frozen=True)
class Slot:
    """Where one character stands: centre x, height and baseline, mm."""

    x: float
    height: float
    baseline: float


@dataclass(frozen=True)
class PlateKind:
    """The layout of one kind of plate for one length of its region code."""

    name: str
    slots: tuple[Slot, ...]
    divider: float
    """Centre x of the line before the region code."""
    ground: Colour
    ink: Colour
    flag: bool = True
    """Whether the flag stands beside RUS; else RUS stands alone, centred under the region code."""
    region_ground: Colour | None = None
    """Ground of the field with the region code on most plates of the kind, where it is another."""


_PRIVATE = {2: (57.5, 123.0, 179.0, 234.5, 298.5, 355.5), 3: (48.0, 106.0, 163.0, 220.0, 273.0, 329.5)}
"""Centres of the six characters of a private plate by the length of the region code; after the mean of real plates."""


def _number_slots(pattern: str, left: float, right: float, pitch: float = 56.3) -> tuple[Slot, ...]:
    """Characters of a number, centred between two lines at the standard's pitch."""
    start = (left + right) / 2 - pitch * (len(pattern) - 1) / 2
    return tuple(
        Slot(start + pitch * place, LETTER if symbol == "A" else DIGIT, BASELINE)
        for place, symbol in enumerate(pattern)
    )


def _region_slots(digits: int) -> tuple[Slot, ...]:
    centres = (426.5, 472.0) if digits == 2 else (390.5, 434.5, 479.0)
    return tuple(Slot(x, REGION, REGION_BASELINE) for x in centres)


def _kind(name: str, pattern: str, digits: int, ground: Colour, ink: Colour, **other: Any) -> PlateKind:
    divider = 394.0 if digits == 2 else 364.5
    if pattern == "A000AA":
        centres = _PRIVATE[digits]
        number = tuple(
            Slot(x, LETTER if symbol == "A" else DIGIT, BASELINE) for x, symbol in zip(centres, pattern, strict=True)
        )
    else:
        number = _number_slots(pattern, 22.0 if digits == 2 else 14.0, divider)
    return PlateKind(name, number + _region_slots(digits), divider, ground, ink, **other)


SPECS: dict[tuple[str, int], PlateKind] = {
    (kind.name, len(kind.slots)): kind
    for kind in (
        *(_kind("private", "A000AA", digits, WHITE, BLACK) for digits in (2, 3)),
        *(_kind("taxi", "AA000", digits, YELLOW, BLACK) for digits in (2, 3)),
        *(_kind("trailer", "AA0000", digits, WHITE, BLACK) for digits in (2, 3)),
        _kind("military", "0000AA", 2, MILITARY, WHITE, flag=False),
        *(_kind("police", "A0000", digits, BLUE, WHITE, flag=False) for digits in (2, 3)),
        *(_kind("transit", "AA000A", digits, WHITE, BLACK, region_ground=YELLOW) for digits in (2, 3)),
    )
}
"""The layouts by name and length of the text."""

_COVER = np.linspace(0, 1, 256, dtype=np.float32)[:, None]
_EDGES = (0.0, 0.75, 1.25, 1.75, 2.5)
_WEIGHTS = (-2.4, -1.6, -0.9, -0.3, 0.3)
_FLAG: tuple[Colour, ...] = ((235, 235, 235), (165, 75, 25), (35, 30, 190))


def draw(kind: str, text: str, rng: np.random.Generator, scale: float = 0.5) -> Frame:
    """A kind and a text -> the plate from the front, about (112, 520, 3) times ``scale`` px/mm, BGR.

    Raises:
        InputError: unknown kind, or a text whose length the kind does not have.
    """
    spec = SPECS.get((kind, len(text)))
    if spec is None:
        raise unknown("plates.draw", f"{kind} of {len(text)} symbols", (f"{k}:{n}" for k, n in SPECS))
    ink = _ink(spec, text, rng, scale)
    if rng.random() < 0.15:
        ink = _worn(ink, rng)
    ground, dark = (_vary(colour, rng) for colour in (spec.ground, spec.ink))
    if spec.ink == BLACK and rng.random() < 0.35:  # worn or bleached paint
        dark = dark + (ground - dark) * np.float32(rng.uniform(0, 0.4))
    canvas = _painted(ink, ground, dark)
    if spec.region_ground and rng.random() < 0.8:
        right = round((spec.divider + 2) * scale)
        canvas[:, right:] = _painted(ink[:, right:], _vary(spec.region_ground, rng), dark)
    if spec.flag and rng.random() < 0.94:
        _draw_flag(canvas, rng, scale)
    if rng.random() < 0.8:
        _draw_bolts(canvas, rng, scale)
    return canvas


def _painted(ink: glyphs.Mask, ground: NDArray[np.float32], dark: NDArray[np.float32]) -> Frame:
    """Coverage -> the two colours mixed by it."""
    shades = (ground + _COVER * (dark - ground)).astype(np.uint8)  # one a step of coverage
    return np.asarray(cv2.LUT(cv2.merge((ink, ink, ink)), shades[None]), np.uint8)


def _vary(colour: Colour, rng: np.random.Generator) -> NDArray[np.float32]:
    base = np.array(colour, np.float32)
    return np.clip(base * np.float32(rng.uniform(0.88, 1.06)) + rng.uniform(-8, 8, 3).astype(np.float32), 0, 255)


def _ink(spec: PlateKind, text: str, rng: np.random.Generator, scale: float) -> glyphs.Mask:
    """Coverage of everything in the plate's second colour: line at the edge, divider, characters, RUS."""
    ink = _lines(spec.divider, scale, _EDGES[int(rng.integers(len(_EDGES)))]).copy()
    weight = _WEIGHTS[int(rng.integers(len(_WEIGHTS)))]
    wander = rng.normal(0, 1.0, (len(text), 2))
    wander[:, 1] *= 0.6
    wander += rng.normal(0, 1.0, 2)
    for symbol, slot, (dx, dy) in zip(text, spec.slots, wander, strict=True):
        _stamp(ink, symbol, slot.x + dx, slot.baseline + dy, slot.height, weight, scale)
    centre, weight = (433.0 if spec.flag else 452.0), float(rng.choice((-3.0, -1.5)))
    for symbol, x in zip("RUS", (-19.5, 0.0, 19.0), strict=True):
        _stamp(ink, symbol, centre + x, 99.0, 19.0, weight, scale)
    return ink


def _worn(ink: glyphs.Mask, rng: np.random.Generator) -> glyphs.Mask:
    """The same with paint gone in patches, at most two thirds of it."""
    cells = rng.uniform(0, 1, (3, 8)).astype(np.float32) ** 2 * np.float32(rng.uniform(0.2, 0.66))
    left = cv2.resize(1 - cells, (ink.shape[1], ink.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.multiply(ink, left, dtype=cv2.CV_8U), np.uint8)


def _stamp(
    ink: glyphs.Mask, symbol: str, x: float, baseline: float, height: float, weight: float, scale: float
) -> None:
    drawn = glyphs.mask(symbol, max(2, round(height * scale)), weight)
    h, w = drawn.shape
    top, left = round(baseline * scale) - h, round(x * scale - w / 2)
    top = min(max(top, 0), ink.shape[0] - h)
    left = min(max(left, 0), ink.shape[1] - w)
    area = ink[top : top + h, left : left + w]
    np.maximum(area, drawn, out=area)


@lru_cache(maxsize=512)
def _lines(divider: float, scale: float, edge: float) -> glyphs.Mask:
    """The raised line along the plate's edge and the line before the region code, drawn fine and reduced."""
    fine = 4
    canvas = np.zeros((round(HEIGHT * fine), round(WIDTH * fine)), np.uint8)
    if edge:
        inset, radius, thick = 2.6 * fine, 7.0 * fine, round(edge * fine)
        x0, y0, x1, y1 = (round(v) for v in (inset, inset, WIDTH * fine - inset, HEIGHT * fine - inset))
        r = round(radius)
        for start, end in (
            ((x0 + r, y0), (x1 - r, y0)),
            ((x0 + r, y1), (x1 - r, y1)),
            ((x0, y0 + r), (x0, y1 - r)),
            ((x1, y0 + r), (x1, y1 - r)),
        ):
            cv2.line(canvas, start, end, (255,), thick, cv2.LINE_AA)
        for centre, angle in (
            ((x0 + r, y0 + r), 180),
            ((x1 - r, y0 + r), 270),
            ((x1 - r, y1 - r), 0),
            ((x0 + r, y1 - r), 90),
        ):
            cv2.ellipse(canvas, centre, (r, r), angle, 0, 90, (255,), thick, cv2.LINE_AA)
    x = round(divider * fine)
    cv2.line(canvas, (x, round(3 * fine)), (x, round((HEIGHT - 3) * fine)), (255,), round(2.2 * fine))
    size = (round(WIDTH * scale), round(HEIGHT * scale))
    drawn = np.asarray(cv2.resize(canvas, size, interpolation=cv2.INTER_AREA), np.uint8)
    drawn.setflags(write=False)
    return drawn


def _draw_flag(canvas: Frame, rng: np.random.Generator, scale: float) -> None:
    """White, blue, red, in the lower right corner."""
    x0, x1 = round(467 * scale), round(508 * scale)
    rows = [round(v * scale) for v in (84.5, 89.7, 94.9, 100.0)]
    fade = rng.uniform(0, 0.5) if rng.random() < 0.3 else 0.0
    for colour, top, bottom in zip(_FLAG, rows[:-1], rows[1:], strict=True):
        canvas[top:bottom, x0:x1] = np.asarray(np.array(colour) * (1 - fade) + 200 * fade, np.uint8)
    cv2.rectangle(canvas, (x0, rows[0]), (x1, rows[-1]), (150, 150, 150), 1)


def _draw_bolts(canvas: Frame, rng: np.random.Generator, scale: float) -> None:
    style = rng.random()
    if style < 0.6:
        level = int(rng.uniform(20, 110))
        colour = (level, level, level)
    elif style < 0.85:
        level = int(rng.uniform(170, 240))
        colour = (level, level, level)
    else:
        colour = (int(rng.uniform(30, 70)), int(rng.uniform(30, 70)), int(rng.uniform(120, 200)))
    radius = rng.uniform(2.5, 7.0)
    for x, y in BOLTS:
        centre = (round((x + rng.normal(0, 2)) * scale * 16), round((y + rng.normal(0, 3)) * scale * 16))
        cv2.circle(canvas, centre, round(radius * scale * 16), colour, -1, cv2.LINE_AA, 4)
