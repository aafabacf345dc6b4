"""How a plate of a format looks, for training on drawn ones: sizes in mm from its top left corner, y down."""

import re
from dataclasses import dataclass

from plate_nets.plates.table import Table

Colour = tuple[int, int, int]
"""Blue, green, red, 0..255."""
Area = tuple[float, float, float, float]
"""Left, top, right, bottom, mm."""

_COLOUR = re.compile("#[0-9a-f]{6}")
_LARGEST = 2000.0


@dataclass(frozen=True)
class Row:
    """Where the characters of a part stand, evenly spaced: from left to right, how high, on which baseline, mm."""

    left: float
    right: float
    height: float
    baseline: float


@dataclass(frozen=True)
class Band:
    """A part of the plate in another colour."""

    area: Area
    colour: Colour


@dataclass(frozen=True)
class Small:
    """Small letters that are no part of the text, around a centre."""

    text: str
    x: float
    height: float
    baseline: float


@dataclass(frozen=True)
class PlateDrawing:
    """The front of a plate.

    ``rows``: one a part of the format, in order. ``typeface``: a name of `training.synthesis.typefaces`. ``divider``:
    the centre x of a line from edge to edge, or None. ``flag``: its area and its stripes from the top.
    """

    width: float
    height: float
    ground: Colour
    ink: Colour
    typeface: str
    rows: tuple[Row, ...]
    divider: float | None = None
    bands: tuple[Band, ...] = ()
    small: tuple[Small, ...] = ()
    flag: tuple[Area, tuple[Colour, ...]] | None = None


def read_drawing(table: Table, parts: int) -> PlateDrawing:
    """A table of the drawing of a format with so many parts, as `uzbekistan.toml` has them -> the drawing.

    Raises:
        SchemeError: a key is unknown, missing or wrong.
    """
    width, height = table.numbers("size", 2, "[width, height] in mm")
    rows = tuple(
        Row(*(each.number(key, 0, _LARGEST, "mm") for key in ("left", "right", "height", "baseline")))
        for each in table.tables("rows")
    )
    if len(rows) != parts:
        raise table.error("rows", f"{parts}, one a part of the pattern", str(len(rows)))
    bands = tuple(Band(_area(each), _colour(each, "colour")) for each in table.tables("bands"))
    small = tuple(
        Small(each.text("text"), *(each.number(key, 0, _LARGEST, "mm") for key in ("x", "height", "baseline")))
        for each in table.tables("small")
    )
    flag = None
    if "flag" in table.values:
        given = table.table("flag")
        stripes = given.texts("stripes", "colours such as #ff0000", lambda text: bool(_COLOUR.fullmatch(text)))
        flag = (_area(given), tuple(map(_parsed, stripes)))
        given.done()
    drawing = PlateDrawing(
        width,
        height,
        _colour(table, "ground"),
        _colour(table, "ink"),
        table.text("typeface"),
        rows,
        table.number("divider", 0, width, "mm") if "divider" in table.values else None,
        bands,
        small,
        flag,
    )
    table.done()
    return drawing


def _area(table: Table) -> Area:
    left, top, right, bottom = table.numbers("area", 4, "[left, top, right, bottom] in mm")
    return left, top, right, bottom


def _colour(table: Table, key: str) -> Colour:
    value: str = table.take(key, str, "a colour such as #ff0000", lambda text: bool(_COLOUR.fullmatch(text)))
    return _parsed(value)


def _parsed(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text[1:])
    return blue, green, red
