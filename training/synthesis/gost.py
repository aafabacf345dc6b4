"""The glyphs of Russian number plates, after the drawings of GOST R 50577-2018.

A glyph is a set of strokes: centre lines in mm of the standard, y down, from the top left of the glyph's box.
Digits stand 76 mm high and letters 58 mm; the same digits are reduced for the region code.
"""

from dataclasses import dataclass

import numpy as np

Point = tuple[float, float]
Line = tuple[Point, ...]

DIGIT_HEIGHT = 76.0
LETTER_HEIGHT = 58.0


@dataclass(frozen=True)
class Glyph:
    """Strokes of one symbol: size of its box, stroke width (mm), centre lines, and whether line ends are round."""

    width: float
    height: float
    stroke: float
    lines: tuple[Line, ...]
    round_ends: bool = False


def _arc(cx: float, cy: float, rx: float, ry: float, start: float, end: float) -> Line:
    """Points of an elliptic arc; degrees, 0 right, 90 down."""
    angles = np.radians(np.linspace(start, end, max(2, int(abs(end - start) / 4) + 1)))
    return tuple((float(cx + rx * np.cos(a)), float(cy + ry * np.sin(a))) for a in angles)


def _curve(p: Point, q: Point, r: Point) -> Line:
    """Points of a quadratic Bezier curve from p to r, drawn towards q."""
    return tuple(
        (
            float((1 - t) ** 2 * p[0] + 2 * t * (1 - t) * q[0] + t**2 * r[0]),
            float((1 - t) ** 2 * p[1] + 2 * t * (1 - t) * q[1] + t**2 * r[1]),
        )
        for t in np.linspace(0, 1, 24)
    )


def _digit(width: float, *lines: Line) -> Glyph:
    return Glyph(width, DIGIT_HEIGHT, 10.7, lines)


def _letter(width: float, *lines: Line, stroke: float = 9.4, round_ends: bool = False) -> Glyph:
    return Glyph(width, LETTER_HEIGHT, stroke, lines, round_ends)


_SIX: tuple[Line, ...] = (_arc(23.0, 53.0, 17.6, 17.7, 0, 360), _curve((5.3, 54.0), (6.8, 26.5), (34.0, -4.0)))

GLYPHS: dict[str, Glyph] = {
    "0": _digit(46.0, _arc(23.0, 38.0, 17.65, 32.6, 0, 360)),
    "1": _digit(35.6, ((3.5, 28.2), (36.0, -4.3)), ((30.3, -6.0), (30.3, 82.0))),
    "2": _digit(43.6, (*_arc(21.9, 21.9, 16.4, 16.6, 182, 400), (0.5, 73.4)), ((-6.0, 70.6), (43.6, 70.6))),
    "3": _digit(
        44.3,
        ((1.6, 5.3), (43.0, 5.3)),
        ((41.0, 4.5), (20.0, 32.0)),
        ((15.0, 36.7), (21.9, 36.7), *_arc(21.9, 53.7, 17.0, 17.0, -88, 172)),
    ),
    "4": _digit(42.6, ((33.0, -6.0), (3.0, 48.2)), ((-6.0, 48.2), (42.6, 48.2)), ((37.2, 33.0), (37.2, 82.0))),
    "5": _digit(
        46.0,
        ((3.7, 5.4), (43.8, 5.4)),
        ((9.2, 0.0), (9.2, 38.6)),
        ((3.7, 33.6), (21.5, 33.4), *_arc(22.0, 52.0, 18.6, 18.6, -88, 158)),
    ),
    "6": _digit(46.0, *_SIX),
    "7": _digit(44.2, ((-6.0, 5.4), (50.0, 5.4)), ((40.4, 1.0), (13.4, 82.0))),
    "8": _digit(47.4, _arc(23.7, 20.6, 15.3, 15.2, 0, 360), _arc(23.7, 52.6, 18.3, 18.0, 0, 360)),
    "9": _digit(46.0, *(tuple((46.0 - x, DIGIT_HEIGHT - y) for x, y in line) for line in _SIX)),
    "A": _letter(45.4, ((23.5, -5.0), (3.2, 64.0)), ((21.9, -5.0), (42.2, 64.0)), ((10.0, 41.6), (35.0, 41.6))),
    "B": _letter(
        40.4,
        ((4.7, 0.0), (4.7, 58.0)),
        ((4.7, 4.7), (24.7, 4.7), *_arc(24.7, 16.8, 11.0, 12.1, -88, 88), (24.7, 28.9), (4.7, 28.9)),
        ((24.7, 28.9), *_arc(24.7, 41.1, 11.0, 12.2, -88, 88), (24.7, 53.3), (4.7, 53.3)),
    ),
    "E": _letter(
        33.0,
        ((4.9, 0.0), (4.9, 58.0)),
        ((0.0, 4.7), (33.0, 4.7)),
        ((4.0, 28.0), (29.6, 28.0)),
        ((0.0, 53.3), (33.0, 53.3)),
    ),
    "K": _letter(39.6, ((4.6, -6.0), (4.6, 64.0)), ((40.0, -3.0), (4.6, 34.0)), ((16.0, 22.0), (39.5, 64.0))),
    "M": _letter(
        47.0,
        ((4.5, -6.0), (4.5, 64.0)),
        ((42.5, -6.0), (42.5, 64.0)),
        ((2.5, -2.0), (25.0, 33.6)),
        ((44.5, -2.0), (22.0, 33.6)),
    ),
    "H": _letter(43.6, ((5.0, -6.0), (5.0, 64.0)), ((38.6, -6.0), (38.6, 64.0)), ((5.0, 27.6), (38.6, 27.6))),
    "O": _letter(48.4, _arc(24.2, 29.0, 19.5, 24.3, 0, 360)),
    "P": _letter(
        39.2,
        ((4.7, -6.0), (4.7, 64.0)),
        ((4.7, 4.7), (24.0, 4.7), *_arc(24.0, 15.6, 10.5, 10.9, -88, 88), (24.0, 26.5), (4.7, 26.5)),
    ),
    "C": _letter(39.8, _arc(24.2, 29.0, 19.5, 24.3, 304, 56), round_ends=True),
    "T": _letter(46.6, ((-6.0, 4.9), (52.0, 4.9)), ((23.3, 0.0), (23.3, 64.0)), stroke=9.8),
    "Y": _letter(42.2, ((39.8, -6.0), (9.3, 64.0)), ((2.9, -6.0), (18.6, 36.0))),
    "X": _letter(43.5, ((2.1, -6.0), (41.4, 64.0)), ((41.4, -6.0), (2.1, 64.0))),
    "R": _letter(
        39.2,
        ((4.0, -6.0), (4.0, 64.0)),
        ((4.0, 4.0), (24.0, 4.0), *_arc(24.0, 16.0, 11.0, 12.0, -88, 88), (24.0, 28.0), (4.0, 28.0)),
        ((18.0, 26.0), (38.0, 64.0)),
        stroke=8.0,
    ),
    "U": _letter(41.0, ((4.0, -6.0), (4.0, 38.0), *_arc(20.5, 38.0, 16.5, 16.0, 180, 0), (37.0, -6.0)), stroke=8.0),
    "S": _letter(38.0, (*_arc(19.0, 16.5, 14.5, 12.5, -35, -268), *_arc(19.0, 41.5, 15.0, 12.5, -88, 148)), stroke=8.0),
}
