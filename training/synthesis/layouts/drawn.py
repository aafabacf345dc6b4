"""Layouts from a scheme's file: `synthesis.drawings`."""

from collections.abc import Sequence
from string import ascii_uppercase, digits
from unicodedata import east_asian_width

import numpy as np

from plate_nets.common.errors import InputError
from plate_nets.countries.drawing import SEAL, Disc, Line, PlateDrawing, Row, Small
from plate_nets.countries.scheme import Fit
from training.synthesis import glyphs
from training.synthesis.layouts.layout import PlateLayout, Slot
from training.synthesis.typefaces import GOST, TYPEFACES

_SMALL_PITCH = 0.72
"""Pitch of small letters, in their heights; signs that are as wide as high have 1."""
_CLOSE, _LOOSE = 0.07, 0.15
"""Minimum and maximum gap between characters of a line, in their heights; without room, characters get narrower."""
_SEALS = ((190, 190, 190), (150, 110, 90), (90, 140, 190), (90, 150, 90), (60, 60, 170))
"""Colours of seals, BGR."""


def one_of(designs: Sequence[PlateDrawing], rng: np.random.Generator) -> PlateDrawing:
    """Choose one of a format's designs, by their shares."""
    shares = np.array([each.share for each in designs])
    return designs[int(rng.choice(len(designs), p=shares / shares.sum()))] if len(designs) > 1 else designs[0]


def layout(drawing: PlateDrawing, fit: Fit, rng: np.random.Generator) -> PlateLayout:
    """Make the layout for a text from a drawing of its format; the generator decides what varies.

    Raises:
        InputError: no such typeface.
    """
    known = (*TYPEFACES, GOST)
    if drawing.typeface not in known:
        raise InputError(f"typeface: expected {', '.join(known)}, got {drawing.typeface!r}")
    slots: tuple[Slot, ...] = ()
    marks: tuple[tuple[str, Slot], ...] = ()
    discs = tuple(each for each in drawing.discs if rng.random() < each.share)
    words, twins = fit.scheme.words, fit.scheme.synthesis.twins
    parts = [[words.get(symbol, symbol) for symbol in part] for part in fit.parts]
    for row, part in zip(drawing.rows, parts, strict=False):
        slots += in_row(row, part, drawing.typeface)
    for row, part in zip(drawing.twins, parts, strict=False):
        signs = [twins.get(symbol, symbol) for symbol in part]
        marks += tuple(zip(signs, in_row(row, signs, drawing.typeface), strict=True))
    rest: Sequence[Sequence[str]] = parts
    for line, count in zip(drawing.lines, fit.format.parts_of_lines, strict=False):
        placed, between, seals = in_line(line, rest[:count], drawing.typeface, rng)
        slots, marks, discs, rest = slots + placed, marks + between, discs + seals, rest[count:]
    coloured = []
    for small in drawing.small:
        letters = small_letters(small, rng)
        if small.ink is None:
            marks += letters
        else:
            coloured += [(letter, slot, small.ink) for letter, slot in letters]
    ground, ink = drawing.ground, drawing.ink
    draw = rng.random() if drawing.looks else 1.0
    for look in drawing.looks:
        if 0 <= draw < look.share:
            ground, ink = look.ground, look.ink
        draw -= look.share
    area, stripes = drawing.flag or ((0.0, 0.0, 0.0, 0.0), ())
    return PlateLayout(
        slots,
        ground,
        ink,
        divider=drawing.divider,
        country=marks,
        flag=stripes,
        flag_box=area,
        bolts=((0.03 * drawing.width, 0.5 * drawing.height), (0.97 * drawing.width, 0.5 * drawing.height)),
        width=drawing.width,
        height=drawing.height,
        typeface=drawing.typeface,
        bands=drawing.bands,
        coloured=tuple(coloured),
        discs=discs,
        stars=drawing.stars,
        words=words,
    )


def in_row(row: Row, part: Sequence[str], typeface: str) -> tuple[Slot, ...]:
    """Slots for the characters of a part, evenly spaced."""
    pitch = (row.right - row.left) / len(part)
    slots = []
    for place, symbol in enumerate(part):
        narrowed = min(1.0, row.width / (glyphs.aspect(symbol, typeface) * row.height)) if row.width else 1.0
        slots.append(Slot(row.left + (place + 0.5) * pitch, row.height, row.baseline, narrowed))
    return tuple(slots)


def in_line(
    line: Line, parts: Sequence[Sequence[str]], typeface: str, rng: np.random.Generator
) -> tuple[tuple[Slot, ...], tuple[tuple[str, Slot], ...], tuple[Disc, ...]]:
    """Place the parts of a text side by side -> slots of the characters, marks between them, seals."""
    text = [symbol for part in parts for symbol in part]
    widths = [glyphs.aspect(symbol, typeface) * line.height for symbol in text]
    room = line.right - line.left - line.gap * (len(parts) - 1)
    inner = max(len(text) - len(parts), 1)  # places between two characters of one part
    air = min(max((room - sum(widths)) / inner, _CLOSE * line.height), _LOOSE * line.height)
    taken = sum(widths) + air * (len(text) - len(parts))
    narrowed = min(1.0, room / taken)
    x = line.left + (room - taken * narrowed) / 2
    slots: list[Slot] = []
    marks: list[tuple[str, Slot]] = []
    discs: list[Disc] = []
    place = 0
    for number, part in enumerate(parts):
        for _ in part:
            width = widths[place] * narrowed
            slots.append(Slot(x + width / 2, line.height, line.baseline, narrowed))
            x += width + air * narrowed
            place += 1
        x -= air * narrowed
        mark = line.between[number] if number < min(len(line.between), len(parts) - 1) else ""
        if mark == SEAL:
            radius = min(0.46 * line.gap, 0.23 * line.height)
            colour = _SEALS[int(rng.integers(len(_SEALS)))]
            for share, up in ((0.9, 0.76), (0.9, 0.26)):
                if rng.random() < share:
                    discs.append(Disc(x + line.gap / 2, line.baseline - up * line.height, radius, colour))
        elif mark:
            marks.append((mark, Slot(x + line.gap / 2, line.height, line.baseline)))
        x += line.gap
    return tuple(slots), tuple(marks), tuple(discs)


def small_letters(small: Small, rng: np.random.Generator) -> tuple[tuple[str, Slot], ...]:
    """Small letters and their slots; a space leaves a gap."""
    ways = small.text.split("|")
    way = ways[int(rng.integers(len(ways)))] if len(ways) > 1 else ways[0]
    text = "".join(_one_sign(sign, rng) for sign in way)
    pitch = (1.0 if any(east_asian_width(each) == "W" for each in text) else _SMALL_PITCH) * small.height
    start = small.x - pitch * (len(text) - 1) / 2
    return tuple(
        (each, Slot(start + place * pitch, small.height, small.baseline))
        for place, each in enumerate(text)
        if each != " "
    )


def _one_sign(sign: str, rng: np.random.Generator) -> str:
    choices = {"#": digits, "@": ascii_uppercase}.get(sign)
    return choices[int(rng.integers(len(choices)))] if choices else sign
