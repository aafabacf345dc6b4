"""The look of a format's plates, for drawing them in training: sizes in mm from the top left corner, y points down."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plate_nets.countries.table import Table

Colour = tuple[int, int, int]
"""Blue, green, red, 0..255."""
Area = tuple[float, float, float, float]
"""Left, top, right, bottom, mm."""

SEAL = "o"
"""A round seal in `Line.between`."""
_COLOUR = re.compile("#[0-9a-f]{6}")
_LARGEST = 2000.0
_BLUE: Colour = (144, 60, 28)
_WHITE: Colour = (235, 235, 235)


@dataclass(frozen=True)
class Row:
    """Where the characters of a part stand, evenly spaced: the horizontal range, the height and the baseline, in mm.

    ``width``: wider characters are narrowed to it, mm; 0: none are.
    """

    left: float
    right: float
    height: float
    baseline: float
    width: float = 0.0


@dataclass(frozen=True)
class Line:
    """A line of the plate: its characters stand side by side with their own widths, centred.

    ``gap``: between two parts, mm. ``between``: what stands in each gap: "-", ".", `SEAL`, or "" for nothing.
    """

    left: float
    right: float
    height: float
    baseline: float
    gap: float
    between: tuple[str, ...] = ()


@dataclass(frozen=True)
class Band:
    """A part of the plate in another colour. ``ink``: of the characters on it; None is that of the plate."""

    area: Area
    colour: Colour
    ink: Colour | None = None


@dataclass(frozen=True)
class Small:
    """Small letters that are not part of the text, around a centre. ``ink``: None is that of the plate.

    ``text``: alternatives are separated by "|"; "#" is any digit and "@" any letter.
    """

    text: str
    x: float
    height: float
    baseline: float
    ink: Colour | None = None


@dataclass(frozen=True)
class Disc:
    """A seal, a sticker, a coat of arms. ``share``: the share of plates that have it."""

    x: float
    y: float
    radius: float
    colour: Colour
    share: float = 1.0


@dataclass(frozen=True)
class Look:
    """Other colours of the same design, and the share of its plates with them."""

    ground: Colour
    ink: Colour
    share: float


@dataclass(frozen=True)
class PlateDrawing:
    """The front of a plate.

    ``rows``: one per part of the format, in order; or ``lines``: one per line. ``typeface``: a name in
    `training.synthesis.typefaces`. ``twins``: one per part, where the signs stand that mean the same in another script,
    see `SynthesisTexts`; or none. ``divider``: the centre x of a line from edge to edge, or None. ``flag``: its area,
    and its stripes from the top. ``stars``: centre and radius of a ring of yellow stars. ``share``: the weight of this
    design among those of the format.
    """

    width: float
    height: float
    ground: Colour
    ink: Colour
    typeface: str
    rows: tuple[Row, ...]
    lines: tuple[Line, ...] = ()
    twins: tuple[Row, ...] = ()
    divider: float | None = None
    bands: tuple[Band, ...] = ()
    small: tuple[Small, ...] = ()
    flag: tuple[Area, tuple[Colour, ...]] | None = None
    discs: tuple[Disc, ...] = ()
    stars: tuple[tuple[float, float, float], ...] = ()
    looks: tuple[Look, ...] = ()
    share: float = 1.0


def read_drawings(table: Table, name: str, parts: Sequence[int]) -> tuple[PlateDrawing, ...]:
    """The drawings of a format, from the table of all drawings -> the designs of its plates.

    ``name``: of the format. ``parts``: the number of parts on each line. A drawing with ``like`` has the keys of the
    designs of that format, except its own.

    Raises:
        SchemeError: a key is unknown, missing or wrong.
    """
    written = table.tables(name) if type(table.values[name]) is list else [table.table(name)]
    return tuple(_read(whole, parts) for drawing in written for whole in _whole(drawing, table))


def _whole(table: Table, drawings: Table) -> list[Table]:
    """A drawing with its inherited keys: one for each design of the format in its ``like``."""
    if "like" not in table.values:
        return [table]
    like = table.text("like")
    found = drawings.values.get(like, [])
    bases = found if type(found) is list else [found]
    if not bases or any(type(base) is not dict or "like" in base for base in bases):
        raise table.error("like", "a format with complete drawings", repr(like))
    return [table.over(base, "like") for base in bases]


def _read(table: Table, parts: Sequence[int]) -> PlateDrawing:
    width, height = table.numbers("size", 2, "[width, height] in mm")
    rows, lines = _text_places(table, parts)
    twins = tuple(map(_row, table.tables("twins")))
    if twins and len(twins) != sum(parts):
        raise table.error("twins", f"{sum(parts)}, one for each part of the pattern", str(len(twins)))
    bands = tuple(Band(_area(band), _colour(band, "colour"), _ink(band)) for band in table.tables("bands"))
    small = tuple(map(_small, table.tables("small")))
    stars: tuple[tuple[float, float, float], ...] = ()
    for strip in table.tables("strips"):  # the country's field: a band, letters and, in the EU, stars
        left, wide = (strip.number(key, width, "mm") for key in ("left", "width"))
        centre = left + wide / 2
        colour = _colour(strip, "colour") if "colour" in strip.values else _BLUE
        bands += (Band((left, 0, left + wide, height), colour),)
        if "text" in strip.values:
            word = strip.text("text")
            longest = max(1, *map(len, word.split("|")))
            small += (Small(word, centre, min(0.19 * height, 1.25 * wide / longest), 0.91 * height, _WHITE),)
        if strip.take("stars", bool, "true or false", default=False):
            stars += ((centre, 0.11 * height + 0.45 * wide, 0.32 * wide),)
        strip.done()
    drawing = PlateDrawing(
        width,
        height,
        _colour(table, "ground"),
        _colour(table, "ink"),
        table.text("typeface"),
        rows,
        lines,
        twins,
        table.number("divider", width, "mm") if "divider" in table.values else None,
        bands,
        small,
        _flag(table.table("flag")) if "flag" in table.values else None,
        tuple(map(_disc, table.tables("discs"))),
        stars,
        tuple(map(_look, table.tables("looks"))),
        table.number("share", 1000, "a number of 0 or more", 1.0),
    )
    table.done()
    return drawing


def _text_places(table: Table, parts: Sequence[int]) -> tuple[tuple[Row, ...], tuple[Line, ...]]:
    """The rows, one for each part, or the lines, one for each line."""
    rows = tuple(map(_row, table.tables("rows")))
    lines = tuple(map(_line, table.tables("lines")))
    if lines and not rows:
        if len(lines) != len(parts):
            raise table.error("lines", f"{len(parts)}, one for each line of the pattern", str(len(lines)))
    elif lines or len(rows) != sum(parts):
        raise table.error("rows", f"{sum(parts)}, one for each part of the pattern", str(len(rows)))
    return rows, lines


def _look(table: Table) -> Look:
    return Look(_colour(table, "ground"), _colour(table, "ink"), table.share("share"))


def _flag(table: Table) -> tuple[Area, tuple[Colour, ...]]:
    stripes = table.texts("stripes", "colours such as #ff0000", lambda text: bool(_COLOUR.fullmatch(text)))
    flag = (_area(table), tuple(map(_parsed, stripes)))
    table.done()
    return flag


def _mm(table: Table, *keys: str) -> tuple[float, ...]:
    return tuple(table.number(key, _LARGEST, "mm") for key in keys)


def _row(table: Table) -> Row:
    left, right, height, baseline = _mm(table, "left", "right", "height", "baseline")
    return Row(left, right, height, baseline, table.number("width", _LARGEST, "mm", 0.0))


def _line(table: Table) -> Line:
    left, right, height, baseline, gap = _mm(table, "left", "right", "height", "baseline", "gap")
    between = table.texts("between", f'"-", ".", "{SEAL}" or ""', lambda text: text in ("", "-", ".", SEAL))
    return Line(left, right, height, baseline, gap, between)


def _small(table: Table) -> Small:
    x, height, baseline = _mm(table, "x", "height", "baseline")
    return Small(table.text("text"), x, height, baseline, _ink(table))


def _disc(table: Table) -> Disc:
    x, y, radius = _mm(table, "x", "y", "radius")
    return Disc(x, y, radius, _colour(table, "colour"), table.share("share", 1.0))


def _area(table: Table) -> Area:
    left, top, right, bottom = table.numbers("area", 4, "[left, top, right, bottom] in mm")
    return left, top, right, bottom


def _ink(table: Table) -> Colour | None:
    return _colour(table, "ink") if "ink" in table.values else None


def _colour(table: Table, key: str) -> Colour:
    value: str = table.take(key, str, "a colour such as #ff0000", lambda text: bool(_COLOUR.fullmatch(text)))
    return _parsed(value)


def _parsed(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text[1:])
    return blue, green, red
