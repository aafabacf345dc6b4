"""Random layouts, of many sizes, typefaces and colours, for plates of which only the text is known."""

from string import ascii_uppercase

import numpy as np

from plate_nets.countries.drawing import SEAL, Band, Colour, Disc, Line, Row, Small
from plate_nets.countries.scheme import Fit
from training.synthesis.layouts.drawn import in_line, in_row, small_letters
from training.synthesis.layouts.layout import BLACK, WHITE, PlateLayout, Slot
from training.synthesis.typefaces import TYPEFACES

Letters = tuple[tuple[str, Slot], ...]

_SIZES = ((520.0, 112.0), (400.0, 130.0), (305.0, 152.0), (360.0, 110.0), (460.0, 130.0))
_SIZE_SHARES = (0.45, 0.2, 0.2, 0.1, 0.05)
"""Shares of one-line plates: Europe, Brazil, North America, and sizes in between."""
_TWO_LINE_SIZES = ((290.0, 170.0), (280.0, 200.0), (200.0, 170.0), (187.0, 136.0), (220.0, 140.0))

COLOURS: tuple[tuple[Colour, Colour], ...] = (
    (WHITE, BLACK),
    (WHITE, (110, 50, 20)),
    (WHITE, (30, 25, 150)),
    (WHITE, (60, 90, 20)),
    ((30, 190, 245), BLACK),
    ((184, 186, 184), BLACK),
    ((34, 32, 32), WHITE),
    ((130, 60, 20), WHITE),
    ((35, 30, 175), WHITE),
    ((60, 110, 30), WHITE),
    ((230, 205, 165), (110, 50, 20)),
)
"""Ground and ink."""
_COLOUR_SHARES = (0.5, 0.09, 0.04, 0.03, 0.08, 0.08, 0.04, 0.04, 0.03, 0.02, 0.05)
_BLUE: Colour = (150, 60, 20)
_LIGHT: Colour = (235, 235, 235)
_STICKERS: tuple[Colour, ...] = ((60, 60, 190), (170, 120, 40), (80, 150, 70), (50, 190, 230), (230, 230, 230))
_DATES = ("##-##", "##.##", "##", "####")
_GAP = (0.25, 0.9)
"""Gap between two groups of characters, in characters."""
_BETWEEN = ("", "-", ".", SEAL)
_BETWEEN_SHARES = (0.5, 0.28, 0.06, 0.16)
"""Shares of what separates two groups."""


def layout(fit: Fit, rng: np.random.Generator) -> PlateLayout:
    """Make a random layout for a text and the format that it fits."""
    lines = fit.format.lines
    sizes, shares = (_SIZES, _SIZE_SHARES) if lines == 1 else (_TWO_LINE_SIZES, None)
    width, height = sizes[int(rng.choice(len(sizes), p=shares))]
    ground, ink = COLOURS[int(rng.choice(len(COLOURS), p=_COLOUR_SHARES))]
    first = fit.format.parts_of_lines[0]
    rows = ["".join(part) for part in (fit.parts[:first], fit.parts[first:])][:lines]
    usual = width / height > 4  # the rest has room for small letters above and below
    share = rng.uniform(0.58, 0.74) if usual else rng.uniform(0.42, 0.58)
    tall = height * (share if lines == 1 else rng.uniform(0.34, 0.42))
    middle = height / 2 + rng.normal(0, 0.03) * height
    strip = rng.random() < (0.5 if usual else 0.15)
    left = width * (rng.uniform(0.095, 0.13) if strip else rng.uniform(0.02, 0.07))
    right = width * rng.uniform(0.93, 0.98)
    typeface = list(TYPEFACES)[int(rng.integers(len(TYPEFACES)))]
    slots: tuple[Slot, ...] = ()
    small: Letters = ()
    discs: tuple[Disc, ...] = ()
    for place, row in enumerate(rows):
        baseline = middle + tall / 2 if len(rows) == 1 else (0.06 + 0.46 * place) * height + tall
        placed, marks, seals = _row(row, left, right, tall, baseline, typeface, rng)
        slots, small, discs = slots + placed, small + marks, discs + seals
    bands, coloured, stars = _country(width, height, rng) if strip else ((), (), ())
    if len(rows) == 1:
        small += _validity(width, height, rng) if usual else _around(width, height, tall, middle, rng)
    if rng.random() < 0.25:
        colour = _STICKERS[int(rng.integers(len(_STICKERS)))]
        x, y = width * rng.choice((0.06, 0.94)), height * rng.uniform(0.1, 0.9)
        discs += (Disc(x, y, rng.uniform(0.05, 0.1) * height, colour),)
    return PlateLayout(
        slots,
        ground,
        ink,
        country=small,
        bolts=((0.2 * width, 0.08 * height), (0.8 * width, 0.08 * height)),
        width=width,
        height=height,
        typeface=typeface,
        bands=bands,
        coloured=coloured,
        discs=discs,
        stars=stars,
    )


def _country(
    width: float, height: float, rng: np.random.Generator
) -> tuple[tuple[Band, ...], tuple[tuple[str, Slot, Colour], ...], tuple[tuple[float, float, float], ...]]:
    """The strip at the left edge: its band, its letters and, on some plates, its stars."""
    band = Band((0, 0, 0.085 * width, height), _BLUE if rng.random() < 0.85 else _STICKERS[0])
    word = "".join(ascii_uppercase[i] for i in rng.integers(0, len(ascii_uppercase), int(rng.integers(1, 4))))
    letters = small_letters(Small(word, 0.0425 * width, 0.17 * height, 0.9 * height), rng)
    stars = ((0.0425 * width, 0.32 * height, 0.15 * height),) if rng.random() < 0.7 else ()
    return (band,), tuple((letter, slot, _LIGHT) for letter, slot in letters), stars


def _validity(width: float, height: float, rng: np.random.Generator) -> Letters:
    """Until when some plates are valid."""
    if rng.random() >= 0.2:
        return ()
    date = _DATES[int(rng.integers(len(_DATES)))]
    return small_letters(Small(date, rng.uniform(0.35, 0.65) * width, 0.13 * height, 0.98 * height), rng)


def _around(width: float, height: float, tall: float, middle: float, rng: np.random.Generator) -> Letters:
    """Small words above and below the text, on some plates; ``tall``, ``middle``: of the text."""
    above: Letters = ()
    below: Letters = ()
    if rng.random() < 0.8:
        above = _words(width, (height - tall) / 2 * 0.7, middle - tall / 2 - 0.04 * height, rng)
    if rng.random() < 0.7:
        below = _words(width, (height - tall) / 2 * 0.5, height * 0.95, rng)
    return above + below


def _row(
    text: str, left: float, right: float, height: float, baseline: float, typeface: str, rng: np.random.Generator
) -> tuple[tuple[Slot, ...], Letters, tuple[Disc, ...]]:
    """Characters of one line in up to three groups, with gaps between them; half of the lines are evenly spaced."""
    cuts = sorted(set(rng.integers(1, max(len(text), 2), int(rng.integers(0, 3))).tolist())) if len(text) > 3 else []
    groups = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    if rng.random() < 0.5:
        between = tuple(_BETWEEN[int(rng.choice(len(_BETWEEN), p=_BETWEEN_SHARES))] for _ in cuts)
        gap = float(rng.uniform(0.2, 0.5)) * height
        return in_line(Line(left, right, height, baseline, gap, between), groups, typeface, rng)
    gap = float(rng.uniform(*_GAP))
    pitch = min((right - left) / (len(text) + gap * len(cuts)), height * rng.uniform(0.62, 0.95))
    start = (left + right - pitch * (len(text) + gap * len(cuts))) / 2
    slots: tuple[Slot, ...] = ()
    for group in groups:
        length = pitch * len(group)
        slots += in_row(Row(start, start + length, height, baseline), group, typeface)
        start += length + gap * pitch
    return slots, (), ()


def _words(width: float, height: float, baseline: float, rng: np.random.Generator) -> Letters:
    height = max(6.0, min(height, 22.0))
    count = int(rng.integers(4, max(5, int(width * 0.9 / (0.72 * height)))))
    return small_letters(Small("@" * count, width / 2, height, baseline), rng)
