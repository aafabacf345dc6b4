"""Draws number plates flat, from the front, by the layouts of their scheme."""

from dataclasses import replace
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme
from plate_nets.countries.drawing import Colour
from plate_nets.types import Frame
from training.synthesis import glyphs
from training.synthesis.drawing import Mask, rounded
from training.synthesis.layouts import layout_of
from training.synthesis.layouts.layout import BLACK, PlateLayout, Slot

_OTHERS = 0.15
"""Share of plates with the other look, for formats that have one."""
_COVER = np.linspace(0, 1, 256, dtype=np.float32)[:, None]
_EDGES = (0.0, 0.75, 1.25, 1.75, 2.5)
_WEIGHTS = (-2.4, -1.6, -0.9, -0.3, 0.3)


def draw(scheme: PlateScheme, kind: str, text: str, rng: np.random.Generator, scale: float = 0.5) -> Frame:
    """A text of a format -> the plate from the front, (height, width, 3) of its layout times ``scale`` px/mm, BGR.

    Raises:
        InputError: no such format, or the text does not fit it.
    """
    return draw_layout(sample_layout(scheme, kind, text, rng), text, rng, scale)


def draw_layout(layout: PlateLayout, text: str, rng: np.random.Generator, scale: float) -> Frame:
    """As `draw`, in a layout with a slot for each character."""
    cover = _ink(layout, text, rng, scale)
    if rng.random() < 0.15:
        cover = _worn(cover, rng)
    light, dark = (_vary(colour, rng) for colour in (layout.ground, layout.ink))
    if layout.ink == BLACK and rng.random() < 0.35:  # worn or bleached paint
        dark = dark + (light - dark) * np.float32(rng.uniform(0, 0.4))
    canvas = _painted(cover, light, dark)
    for band in layout.bands:
        left, top, right, bottom = (round(side * scale) for side in band.area)
        colour, own = _vary(band.colour, rng), dark if band.ink is None else _vary(band.ink, rng)
        if top < bottom and left < right:  # far away a thin band covers no pixel
            canvas[top:bottom, left:right] = _painted(cover[top:bottom, left:right], colour, own)
    if layout.divider and layout.last_ground and rng.random() < 0.8:
        right = round((layout.divider + 2) * scale)
        canvas[:, right:] = _painted(cover[:, right:], _vary(layout.last_ground, rng), dark)
    if layout.coloured or layout.discs or layout.stars:
        _draw_ornaments(canvas, layout, rng, scale)
    if layout.flag and rng.random() < 0.94:
        _draw_flag(canvas, layout, rng, scale)
    if rng.random() < 0.8:
        _draw_bolts(canvas, layout, rng, scale)
    return canvas


def sample_layout(scheme: PlateScheme, kind: str, text: str, rng: np.random.Generator) -> PlateLayout:
    """The layout for a text of a format, in one of its looks; if none is known, the generator decides.

    Raises:
        InputError: no such format, or the text does not fit it.
    """
    for fit in scheme.fits(text):
        if fit.format.name == kind:
            layout = layout_of(scheme, fit, rng)
            if layout.other and rng.random() < _OTHERS:
                ground, ink = layout.other
                return replace(layout, ground=ground, ink=ink, flag=())
            return layout
    known = (f"{each.name}:{' '.join(patterns)}" for each in scheme.formats for patterns in each.patterns)
    raise InputError(f"plates.draw: unknown '{kind} {text}'; expected one of {' '.join(known)}")


def _painted(ink: Mask, ground: NDArray[np.float32], dark: NDArray[np.float32]) -> Frame:
    """Mix the two colours by the coverage."""
    shades = (ground + _COVER * (dark - ground)).astype(np.uint8)  # one per step of coverage
    return np.asarray(cv2.LUT(cv2.merge((ink, ink, ink)), shades[None]), np.uint8)


def _vary(colour: Colour, rng: np.random.Generator) -> NDArray[np.float32]:
    base = np.array(colour, np.float32)
    return np.clip(base * np.float32(rng.uniform(0.88, 1.06)) + rng.uniform(-8, 8, 3).astype(np.float32), 0, 255)


def _ink(layout: PlateLayout, text: str, rng: np.random.Generator, scale: float) -> Mask:
    """Coverage of everything in the plate's second colour: line at the edge, divider, characters, country."""
    size = (layout.width, layout.height)
    ink = _lines(size, layout.divider, scale, _EDGES[int(rng.integers(len(_EDGES)))]).copy()
    weight = _WEIGHTS[int(rng.integers(len(_WEIGHTS)))]
    wander = rng.normal(0, 1.0, (len(text), 2))
    wander[:, 1] *= 0.6
    wander += rng.normal(0, 1.0, 2)
    for symbol, slot, (dx, dy) in zip(text, layout.slots, wander, strict=True):
        moved = replace(slot, x=slot.x + dx, baseline=slot.baseline + dy)
        _stamp(ink, layout.words.get(symbol, symbol), moved, weight, scale, layout.typeface)
    if layout.country:
        weight = float(rng.choice((-3.0, -1.5)))
        for symbol, slot in layout.country:
            _stamp(ink, symbol, slot, weight, scale, layout.typeface)
    return ink


def _worn(ink: Mask, rng: np.random.Generator) -> Mask:
    """The ink with patches of paint missing, at most two thirds of it."""
    cells = rng.uniform(0, 1, (3, 8)).astype(np.float32) ** 2 * np.float32(rng.uniform(0.2, 0.66))
    left = cv2.resize(1 - cells, (ink.shape[1], ink.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.multiply(ink, left, dtype=cv2.CV_8U), np.uint8)


def _stamp(ink: Mask, symbol: str, slot: Slot, weight: float, scale: float, typeface: str) -> None:
    drawn = glyphs.mask(symbol, max(2, round(slot.height * scale)), weight, typeface)
    if slot.narrowed < 1:
        size = (max(1, round(drawn.shape[1] * slot.narrowed)), drawn.shape[0])
        drawn = np.asarray(cv2.resize(drawn, size, interpolation=cv2.INTER_AREA), np.uint8)
    h, w = drawn.shape
    top, left = round(slot.baseline * scale) - h, round(slot.x * scale - w / 2)
    top = min(max(top, 0), ink.shape[0] - h)
    left = min(max(left, 0), ink.shape[1] - w)
    area = ink[top : top + h, left : left + w]
    np.maximum(area, drawn, out=area)


@lru_cache(maxsize=512)
def _lines(size: tuple[float, float], divider: float | None, scale: float, edge: float) -> Mask:
    """The raised line along the edge of a plate (width, height) and that before the last part, drawn fine, reduced."""
    fine = 4
    width, height = size
    canvas = np.zeros((round(height * fine), round(width * fine)), np.uint8)
    if edge:
        for inset, ink in ((2.6 - edge / 2, 255), (2.6 + edge / 2, 0)):
            cut = round(inset * fine)
            inner = canvas[cut:-cut, cut:-cut]
            inner[rounded(inner.shape[0], inner.shape[1], round((9.6 - inset) * fine)) > 127] = ink
    if divider is not None:
        x = round(divider * fine)
        cv2.line(canvas, (x, round(3 * fine)), (x, round((height - 3) * fine)), (255,), round(2.2 * fine))
    reduced = (round(width * scale), round(height * scale))
    drawn = np.asarray(cv2.resize(canvas, reduced, interpolation=cv2.INTER_AREA), np.uint8)
    drawn.setflags(write=False)
    return drawn


def _draw_flag(canvas: Frame, layout: PlateLayout, rng: np.random.Generator, scale: float) -> None:
    """Stripes from the top, in the lower right corner."""
    left, top, right, bottom = layout.flag_box
    x0, x1 = round(left * scale), round(right * scale)
    rows = [round(float(y) * scale) for y in np.linspace(top, bottom, len(layout.flag) + 1)]
    fade = rng.uniform(0, 0.5) if rng.random() < 0.3 else 0.0
    for colour, above, below in zip(layout.flag, rows[:-1], rows[1:], strict=True):
        canvas[above:below, x0:x1] = np.asarray(np.array(colour) * (1 - fade) + 200 * fade, np.uint8)
    cv2.rectangle(canvas, (x0, rows[0]), (x1, rows[-1]), (150, 150, 150), 1)


def _draw_ornaments(canvas: Frame, layout: PlateLayout, rng: np.random.Generator, scale: float) -> None:
    """Draw letters in their own ink, rings of stars, and round things: seals, stickers, coats of arms."""
    inks: dict[Colour, Mask] = {}
    for symbol, slot, colour in layout.coloured:
        cover = inks.setdefault(colour, np.zeros(canvas.shape[:2], np.uint8))
        _stamp(cover, symbol, slot, -1.5, scale, layout.typeface)
    for colour, cover in inks.items():
        share = cover[:, :, None].astype(np.float32) / 255
        canvas[:] = (canvas * (1 - share) + _vary(colour, rng) * share).astype(np.uint8)
    for x, y, radius in layout.stars:
        for angle in np.linspace(0, 2 * np.pi, 12, endpoint=False):
            point = (x + radius * np.sin(angle), y + radius * np.cos(angle))
            _dot(canvas, point, 0.17 * radius, (40, 205, 250), scale)
    for disc in layout.discs:
        place = (disc.x + rng.normal(0, 0.8), disc.y + rng.normal(0, 0.8))
        ground = tuple(float(v) for v in _vary(disc.colour, rng))
        _dot(canvas, place, disc.radius, ground, scale)
        for _ in range(int(rng.integers(1, 6))):  # its print
            at = (place[0] + rng.normal(0, 0.35) * disc.radius, place[1] + rng.normal(0, 0.35) * disc.radius)
            shade = tuple(float(v) for v in rng.uniform(20, 240, 3))
            _dot(canvas, at, disc.radius * rng.uniform(0.15, 0.4), shade, scale)


def _dot(canvas: Frame, place: tuple[float, float], radius: float, colour: tuple[float, ...], scale: float) -> None:
    """A disc around a place of the plate, mm."""
    centre = (round(place[0] * scale * 16), round(place[1] * scale * 16))
    cv2.circle(canvas, centre, max(1, round(radius * scale * 16)), colour, -1, cv2.LINE_AA, 4)


def _draw_bolts(canvas: Frame, layout: PlateLayout, rng: np.random.Generator, scale: float) -> None:
    style = rng.random()
    if style < 0.85:
        colour = (int(rng.uniform(20, 110) if style < 0.6 else rng.uniform(170, 240)),) * 3
    else:
        colour = (int(rng.uniform(30, 70)), int(rng.uniform(30, 70)), int(rng.uniform(120, 200)))
    radius = rng.uniform(2.5, 7.0)
    for x, y in layout.bolts:
        _dot(canvas, (x + rng.normal(0, 2), y + rng.normal(0, 3)), radius, colour, scale)
