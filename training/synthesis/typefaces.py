"""The project's own typefaces for plates of countries other than Russia: digits and A to Z.

All share one skeleton: a symbol's centre lines in a square of 0..1, x to the right, y down. A typeface has its own
width of symbols, thickness of strokes and roundness of corners, and may draw some symbols differently.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from training.synthesis.gost import DIGIT_HEIGHT, Glyph, Line

GOST = "gost"
"""The typeface of Russian plates, `gost.GLYPHS`, which is not defined here."""

SKELETON: Mapping[str, str] = {
    "0": "r0,0 r1,0 r1,1 r0,1 z",
    "1": ".1,.27 .65,0 .65,1",
    "2": "0,.2 r0,0 r1,0 r1,.45 0,1 1,1",
    "3": "0,.17 r0,0 r1,0 r1,.47 .4,.47; .4,.47 r1,.47 r1,1 r0,1 0,.83",
    "4": ".68,0 0,.7 1,.7; .74,.42 .74,1",
    "5": ".94,0 .08,0 .05,.47; .05,.43 r1,.43 r1,1 r0,1 0,.84",
    "6": "1,.16 r1,0 r0,0 r0,1 r1,1 r1,.43 r0,.43 0,.6",
    "7": "0,0 1,0 .35,1",
    "8": "r.05,0 r.95,0 r.95,.46 r.05,.46 z; r0,.46 r1,.46 r1,1 r0,1 z",
    "9": "0,.84 r0,1 r1,1 r1,0 r0,0 r0,.57 r1,.57 1,.4",
    "A": "0,1 .5,0 1,1; .17,.67 .83,.67",
    "B": "0,0 0,1; 0,0 r.95,0 r.95,.47 0,.47; 0,.47 r1,.47 r1,1 0,1",
    "C": "1,.2 r1,0 r0,0 r0,1 r1,1 1,.8",
    "D": "0,0 r1,0 r1,1 0,1 z",
    "E": "1,0 0,0 0,1 1,1; 0,.48 .85,.48",
    "F": "1,0 0,0 0,1; 0,.48 .85,.48",
    "G": "1,.2 r1,0 r0,0 r0,1 r1,1 1,.55 .55,.55",
    "H": "0,0 0,1; 1,0 1,1; 0,.49 1,.49",
    "I": ".5,0 .5,1",
    "J": ".9,0 r.9,1 r0,1 0,.75",
    "K": "0,0 0,1; 1,0 0,.6; .32,.42 1,1",
    "L": "0,0 0,1 1,1",
    "M": "0,1 0,0 .5,.6 1,0 1,1",
    "N": "0,1 0,0 1,1 1,0",
    "O": "r0,0 r1,0 r1,1 r0,1 z",
    "P": "0,1 0,0 r1,0 r1,.53 0,.53",
    "Q": "r0,0 r1,0 r1,1 r0,1 z; .58,.7 1.06,1.06",
    "R": "0,1 0,0 r1,0 r1,.53 0,.53; .45,.53 1,1",
    "S": "1,.18 r1,0 r0,0 r0,.48 r1,.5 r1,1 r0,1 0,.82",
    "T": "0,0 1,0; .5,0 .5,1",
    "U": "0,0 r0,1 r1,1 1,0",
    "V": "0,0 .5,1 1,0",
    "W": "0,0 .25,1 .5,.3 .75,1 1,0",
    "X": "0,0 1,1; 1,0 0,1",
    "Y": "0,0 .5,.5 1,0; .5,.5 .5,1",
    "Z": "0,0 1,0 0,1 1,1",
}
"""Strokes by symbol, separated by ";": points "x,y", "r" before a round corner, "z" at the end of a closed stroke."""

MARKS: Mapping[str, str] = {"-": "0,.5 1,.5", ".": ".4,1 .6,1"}
"""The marks between the characters of a plate, in the same form."""

_WIDTHS = {"-": 0.5, ".": 0.35, "1": 0.75, "I": 0.4, "M": 1.2, "W": 1.35, "J": 0.85, "L": 0.9}
"""Widths of single symbols, relative to the others, in typefaces where not all are equally wide."""


_ACCENTS: Mapping[str, str] = {
    "\u0308": ".2,.04 .28,.04; .72,.04 .8,.04",
    "\u030a": "r.36,0 r.64,0 r.64,.13 r.36,.13 z",
    "\u030c": ".28,0 .5,.12 .72,0",
    "\u0301": ".4,.12 .68,0",
}
"""Strokes of what stands above a letter (a combining mark of Unicode), in the same form."""
_BELOW_ACCENT = 0.26
"""Where a letter with an accent begins, as a share of the height."""


def _accented(symbol: str, own: Mapping[str, str]) -> str | None:
    """The strokes of a letter with an accent, or of a D with a bar; None if it is neither."""
    if symbol == "Đ":
        return f"{own.get('D') or SKELETON['D']}; 0,.48 .5,.48"
    decomposed = unicodedata.normalize("NFD", symbol)
    letter, accent = decomposed[0], decomposed[1:]
    base = own.get(letter) or SKELETON.get(letter)
    if accent not in _ACCENTS or base is None:
        return None
    lowered = re.sub(r",(-?[\d.]+)", lambda y: f",{_BELOW_ACCENT + (1 - _BELOW_ACCENT) * float(y.group(1)):.3g}", base)
    return f"{_ACCENTS[accent]}; {lowered}"


@dataclass(frozen=True)
class Typeface:
    """``width``: of a symbol, ``stroke``: its thickness, both as shares of the height. ``round``: how much of an edge
    a corner takes, 0..1: 0.2 is a box with soft corners, 1 an oval. ``even``: all symbols are equally wide. ``own``:
    symbols that look different from `SKELETON`."""

    width: float
    stroke: float
    round: float
    even: bool = False
    own: Mapping[str, str] = field(default_factory=dict, hash=False)


_FOOT = ".05,.27 .55,0 .55,1; .1,1 1,1"
_SERIFS = ".5,0 .5,1; .1,0 .9,0; .1,1 .9,1"
_BARRED_J = ".3,0 .9,0 r.9,1 r0,1 0,.75"
_CLOSED_4 = ".74,1 .74,0 0,.7 1,.7"
_SLANTED = {"6": ".75,0 .08,.5; r0,.38 r1,.38 r1,1 r0,1 z", "9": ".25,1 .92,.5; r0,0 r1,0 r1,.62 r0,.62 z"}
_PLAIN_1 = ".1,.2 .6,0 .6,1"
_SLASHED_0 = "r0,0 r1,0 r1,1 r0,1 z; .25,.7 .75,.3"
_DOTTED_0 = "r0,0 r1,0 r1,1 r0,1 z; .48,.5 .52,.5"
_SLIM_0 = "r.12,0 r.88,0 r.88,1 r.12,1 z"
_DEEP_M = "0,1 0,0 .5,1 1,0 1,1"
_SHALLOW_M = "0,1 0,0 .5,.42 1,0 1,1"
_HIGH_W = "0,0 .25,1 .5,0 .75,1 1,0"
_LOW_W = "0,0 .22,1 .5,.5 .78,1 1,0"
_SPURRED_G = "1,.2 r1,0 r0,0 r0,1 r1,1 1,.52 .6,.52; 1,.52 1,1"
_TAILED_J = ".95,0 r.95,1 r0,1 0,.68"
_OPEN_4 = ".7,.3 .7,1; .5,0 0,.72 1,.72"
_BENT_7 = "0,0 1,0 r.5,.45 .42,1"
_FLAT_3 = "0,0 1,0 .42,.42; .35,.42 r1,.42 r1,1 r0,1 0,.83"

TYPEFACES: Mapping[str, Typeface] = {
    # FE-Schrift, which nobody can forge by adding a stroke: Uzbekistan, Mercosur, Germany
    "even": Typeface(0.56, 0.125, 0.45, even=True, own={"I": _SERIFS, "J": _BARRED_J, "1": _FOOT, "4": _CLOSED_4}),
    "narrow": Typeface(0.42, 0.12, 0.7, own={"4": _CLOSED_4}),
    "wide": Typeface(0.6, 0.15, 0.55, own=_SLANTED),
    "square": Typeface(0.5, 0.14, 0.2, own={"1": ".1,.2 .6,0 .6,1", "3": _FLAT_3}),
    "oval": Typeface(0.54, 0.12, 1.0, own=_SLANTED | {"4": _CLOSED_4}),
    "thin": Typeface(0.5, 0.085, 0.5, own={"1": _FOOT, "I": _SERIFS}),
    # Germany, Mercosur: FE-Schrift whose 1 has no foot and whose O is wider than its 0
    "fe": Typeface(
        0.6, 0.135, 0.55, even=True, own={"0": _SLIM_0, "1": _PLAIN_1, "I": _SERIFS, "J": _BARRED_J, "W": _LOW_W}
    ),
    # After DIN 1451: Poland, Turkey, Switzerland, Czechia
    "din": Typeface(0.52, 0.13, 0.85, own={"1": _PLAIN_1, "M": _SHALLOW_M, "W": _HIGH_W} | _SLANTED),
    "french": Typeface(0.5, 0.115, 0.95, own={"1": _PLAIN_1, "M": _DEEP_M, "W": _LOW_W, "G": _SPURRED_G}),
    "polish": Typeface(0.5, 0.12, 0.75, own={"1": _PLAIN_1, "4": _OPEN_4, "7": _BENT_7, "M": _SHALLOW_M, "W": _LOW_W}),
    "turkish": Typeface(0.49, 0.135, 0.8, own={"1": ".2,.18 .62,0 .62,1", "J": _TAILED_J, "M": _DEEP_M} | _SLANTED),
    "italian": Typeface(0.5, 0.1, 1.0, own={"1": _PLAIN_1, "3": _FLAT_3, "M": _SHALLOW_M, "W": _HIGH_W} | _SLANTED),
    # After Charles Wright's: O and 0 look the same, and so do 1 and I
    "british": Typeface(0.63, 0.17, 0.6, own={"1": ".5,0 .5,1", "M": _SHALLOW_M, "W": _LOW_W, "4": _CLOSED_4}),
    "dutch": Typeface(0.56, 0.13, 0.35, own={"1": _PLAIN_1, "M": _SHALLOW_M, "W": _LOW_W, "G": _SPURRED_G}),
    "nordic": Typeface(0.53, 0.145, 0.9, own={"1": _PLAIN_1, "4": _CLOSED_4, "7": _BENT_7, "M": _DEEP_M, "W": _HIGH_W}),
    "slender": Typeface(0.38, 0.09, 0.55, own={"1": ".2,.2 .6,0 .6,1", "M": _DEEP_M, "4": _CLOSED_4}),
    # Stamped in the United States: tall; in some states the 1 has a foot, the I serifs, the 0 a stroke
    "american": Typeface(0.44, 0.11, 0.5, own={"1": _PLAIN_1, "4": _CLOSED_4, "M": _SHALLOW_M, "W": _LOW_W}),
    "footed": Typeface(0.46, 0.1, 0.45, own={"1": _FOOT, "I": _SERIFS, "J": _BARRED_J, "W": _HIGH_W, "M": _DEEP_M}),
    "slashed": Typeface(0.48, 0.11, 0.65, own={"0": _SLASHED_0, "1": _PLAIN_1, "I": _SERIFS} | _SLANTED),
    "dotted": Typeface(0.52, 0.115, 0.7, own={"0": _DOTTED_0, "1": _FOOT, "4": _CLOSED_4, "I": _SERIFS}),
    "bold": Typeface(0.55, 0.18, 0.65, own={"1": ".15,.16 .6,0 .6,1", "4": _CLOSED_4, "M": _SHALLOW_M} | _SLANTED),
}
"""By the names that layouts use."""


@lru_cache(maxsize=512)
def glyph(typeface: str, symbol: str) -> Glyph | None:
    """A symbol of a typeface as strokes; None if it has none."""
    face = TYPEFACES[typeface]
    skeleton = face.own.get(symbol) or SKELETON.get(symbol) or MARKS.get(symbol) or _accented(symbol, face.own)
    if skeleton is None:
        return None
    stroke = face.stroke * DIGIT_HEIGHT
    width = max(face.width * DIGIT_HEIGHT * (1.0 if face.even else _WIDTHS.get(symbol, 1.0)), stroke)
    size = np.array([width - stroke, DIGIT_HEIGHT - stroke])
    return Glyph(width, DIGIT_HEIGHT, stroke, tuple(_line(each, size, face) for each in skeleton.split(";")), True)


def _line(written: str, size: NDArray[np.float64], face: Typeface) -> Line:
    points, rounded = [], []
    *tokens, last = written.split()
    closed = last == "z"
    for token in tokens if closed else (*tokens, last):
        x, y = token.lstrip("r").split(",")
        points.append(np.array([float(x), float(y)]) * size + face.stroke * DIGIT_HEIGHT / 2)
        rounded.append(token.startswith("r"))
    count = len(points)
    line: list[NDArray[np.float64]] = []
    for place, point in enumerate(points):
        if not rounded[place]:
            line.append(point)
            continue
        before, after = points[place - 1] - point, points[(place + 1) % count] - point
        # At most half an edge, so that two round corners can meet in its middle
        reach = face.round * min(float(np.abs(size).min()), *(float(np.hypot(*edge)) for edge in (before, after))) / 2
        start, end = (point + edge * reach / max(float(np.hypot(*edge)), 1e-6) for edge in (before, after))
        line += [(1 - t) ** 2 * start + 2 * t * (1 - t) * point + t**2 * end for t in np.linspace(0, 1, 9)]
    if closed:
        line.append(line[0])
    return tuple((float(x), float(y)) for x, y in line)
