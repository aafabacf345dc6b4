"""Layouts for plates of which nothing is known but their text: of many sizes, typefaces and colours."""

import numpy as np

from plate_nets.plates.drawing import Band, Colour, Row, Small
from plate_nets.plates.scheme import PlateFormat
from training.synthesis.layouts.drawn import in_row, small_letters
from training.synthesis.layouts.layout import BLACK, WHITE, PlateLayout, Slot
from training.synthesis.typefaces import TYPEFACES

_SIZES = ((520.0, 112.0), (400.0, 130.0), (305.0, 152.0), (360.0, 110.0), (460.0, 130.0))
_SIZE_SHARES = (0.45, 0.2, 0.2, 0.1, 0.05)
"""Of plates of one line: Europe, Brazil, North America, and what lies between."""
_TWO_LINE_SIZES = ((290.0, 170.0), (280.0, 200.0), (200.0, 170.0), (187.0, 136.0), (220.0, 140.0))

_COLOURS: tuple[tuple[Colour, Colour], ...] = (
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
_COLOUR_SHARES = (0.5, 0.09, 0.04, 0.03, 0.08, 0.08, 0.04, 0.04, 0.03, 0.02, 0.05)
_BLUE: Colour = (150, 60, 20)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_GAP = (0.25, 0.9)
"""Between two groups of characters, in characters."""


def layout(plate_format: PlateFormat, patterns: tuple[str, ...], rng: np.random.Generator) -> PlateLayout:
    """A format and the patterns of a text's parts -> a layout that the generator decides."""
    sizes, shares = (_SIZES, _SIZE_SHARES) if plate_format.lines == 1 else (_TWO_LINE_SIZES, None)
    width, height = sizes[int(rng.choice(len(sizes), p=shares))]
    ground, ink = _COLOURS[int(rng.choice(len(_COLOURS), p=_COLOUR_SHARES))]
    first = len(patterns) if plate_format.first_line is None else plate_format.first_line
    rows = [patterns[:first], patterns[first:]][: plate_format.lines]
    usual = width / height > 4  # the rest has room for small letters above and below
    share = rng.uniform(0.58, 0.74) if usual else rng.uniform(0.42, 0.58)
    tall = height * (share if plate_format.lines == 1 else rng.uniform(0.34, 0.42))
    middle = height / 2 + rng.normal(0, 0.03) * height
    left = width * (rng.uniform(0.1, 0.16) if usual and rng.random() < 0.4 else rng.uniform(0.02, 0.07))
    band = left > 0.1 * width
    slots: tuple[Slot, ...] = ()
    for place, row in enumerate(rows):
        baseline = middle + tall / 2 if len(rows) == 1 else (0.06 + 0.46 * place) * height + tall
        slots += _row("".join(row), left, width * rng.uniform(0.93, 0.98), tall, baseline, rng)
    small: tuple[tuple[str, Slot], ...] = ()
    if len(rows) == 1 and not usual and rng.random() < 0.8:
        small = _words(width, (height - tall) / 2 * 0.7, middle - tall / 2 - 0.04 * height, rng)
        if rng.random() < 0.7:
            small += _words(width, (height - tall) / 2 * 0.5, height * 0.95, rng)
    return PlateLayout(
        slots,
        ground,
        ink,
        country=small,
        bolts=((0.2 * width, 0.08 * height), (0.8 * width, 0.08 * height)),
        width=width,
        height=height,
        typeface=list(TYPEFACES)[int(rng.integers(len(TYPEFACES)))],
        bands=(Band((0, 0, 0.085 * width, height), _BLUE),) if band and rng.random() < 0.6 else (),
    )


def _row(
    text: str, left: float, right: float, height: float, baseline: float, rng: np.random.Generator
) -> tuple[Slot, ...]:
    """Characters of one line in up to three groups, with gaps between them."""
    cuts = sorted(set(rng.integers(1, max(len(text), 2), int(rng.integers(0, 3))).tolist())) if len(text) > 3 else []
    gap = float(rng.uniform(*_GAP))
    pitch = min((right - left) / (len(text) + gap * len(cuts)), height * rng.uniform(0.62, 0.95))
    start = (left + right - pitch * (len(text) + gap * len(cuts))) / 2
    slots: tuple[Slot, ...] = ()
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        length = pitch * (end - begin)
        slots += in_row(Row(start, start + length, height, baseline), end - begin)
        start += length + gap * pitch
    return slots


def _words(width: float, height: float, baseline: float, rng: np.random.Generator) -> tuple[tuple[str, Slot], ...]:
    height = max(6.0, min(height, 22.0))
    count = int(rng.integers(4, max(5, int(width * 0.9 / (0.72 * height)))))
    text = "".join(_LETTERS[i] for i in rng.integers(0, len(_LETTERS), count))
    return small_letters(Small(text, width / 2, height, baseline))
