"""The project's own typefaces for plates, from `typefaces.toml`: a symbol as strokes, centre lines in mm, y down."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = NDArray[np.float64]
_DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
GOST = "gost"
"""The typeface of Russian plates; it has only their symbols, and R, U and S."""
SKELETON: Mapping[str, str] = _DATA["skeleton"]
"""The strokes of digits and A to Z that all other typefaces share."""
DIGIT_HEIGHT, LETTER_HEIGHT = 76.0, 58.0
"""Heights of symbols in `GOST`; in others all are as high as digits."""
_DIGIT_STROKE, _LETTER_STROKE = 10.7, 9.4
_BELOW_ACCENT = 0.26
"""Where a letter with an accent begins, as a share of the height."""


@dataclass(frozen=True)
class Glyph:
    """Strokes of one symbol: size of its box, stroke width (mm), centre lines, and whether line ends are round."""

    width: float
    height: float
    stroke: float
    lines: tuple[NDArray[np.float64], ...]
    round_ends: bool = False


@dataclass(frozen=True)
class Typeface:
    """The shape of a typeface's symbols, see `typefaces.toml`."""

    width: float
    stroke: float
    round: float
    even: bool = False
    own: Mapping[str, str] = field(default_factory=dict, hash=False)

    def strokes(self, symbol: str) -> str | None:
        """A symbol's strokes in a square of 0..1, or None."""
        own = self.own.get(symbol)
        written = _DATA["forms"].get(own, own) or SKELETON.get(symbol) or _DATA["marks"].get(symbol)
        return written or self._accented(symbol)

    def _accented(self, symbol: str) -> str | None:
        """The strokes of a letter with an accent, or of a D with a bar; None if it is neither."""
        if symbol == "Đ":
            return f"{self.strokes('D')}; 0,.48 .5,.48"
        decomposed = unicodedata.normalize("NFD", symbol)
        accent = decomposed[1:]
        if accent not in _DATA["accents"] or (base := self.strokes(decomposed[0])) is None:
            return None
        share = 1 - _BELOW_ACCENT
        lowered = re.sub(r",(-?[\d.]+)", lambda y: f",{_BELOW_ACCENT + share * float(y.group(1)):.3g}", base)
        return f"{_DATA['accents'][accent]}; {lowered}"


TYPEFACES = {name: Typeface(**face) for name, face in _DATA["typefaces"].items()}
"""By the names that layouts use."""


@lru_cache(maxsize=512)
def glyph(typeface: str, symbol: str) -> Glyph | None:
    """A symbol of a typeface as strokes; None if it has none."""
    if typeface == GOST:
        return _gost(symbol)
    face = TYPEFACES[typeface]
    strokes = face.strokes(symbol)
    if strokes is None:
        return None
    stroke = face.stroke * DIGIT_HEIGHT
    width = max(face.width * DIGIT_HEIGHT * (1.0 if face.even else _DATA["widths"].get(symbol, 1.0)), stroke)
    size = np.array([width - stroke, DIGIT_HEIGHT - stroke])
    return Glyph(width, DIGIT_HEIGHT, stroke, tuple(_line(each, size, face) for each in strokes.split(";")), True)


def _gost(symbol: str) -> Glyph | None:
    drawn = _DATA[GOST].get(symbol)
    if drawn is None:
        return None
    height, stroke = (DIGIT_HEIGHT, _DIGIT_STROKE) if symbol.isdigit() else (LETTER_HEIGHT, _LETTER_STROKE)
    lines = tuple(np.concatenate([_points(token) for token in line.split()]) for line in drawn["lines"].split(";"))
    return Glyph(drawn["width"], height, drawn.get("stroke", stroke), lines, drawn.get("round", False))


def _points(token: str) -> NDArray[np.float64]:
    """A point, an arc or a curve -> its points (N, 2)."""
    numbers = np.array([float(number) for number in token.lstrip("ab").split(",")])
    if token.startswith("b"):
        start, towards, end = numbers.reshape(3, 2)
        return _curve(start, towards, end, 24)
    if not token.startswith("a"):
        return numbers[None]
    first, last = numbers[4:]
    angles = np.radians(np.linspace(first, last, max(2, int(abs(last - first) / 4) + 1)))
    return np.asarray(numbers[:2] + numbers[2:4] * np.stack((np.cos(angles), np.sin(angles)), axis=1))


def _curve(start: Point, towards: Point, end: Point, count: int) -> NDArray[np.float64]:
    """A quadratic Bezier curve -> its points (N, 2)."""
    t = np.linspace(0, 1, count)[:, None]
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * towards + t**2 * end)


def _line(written: str, size: Point, face: Typeface) -> NDArray[np.float64]:
    """A stroke of the skeleton, its corners rounded -> its points (N, 2), mm."""
    tokens = written.split()
    closed = tokens[-1] == "z"
    tokens = tokens[:-1] if closed else tokens
    rounded = [token.startswith("r") for token in tokens]
    points = [np.array([float(each) for each in token.lstrip("r").split(",")]) for token in tokens]
    points = [point * size + face.stroke * DIGIT_HEIGHT / 2 for point in points]
    line: list[NDArray[np.float64]] = []
    for place, point in enumerate(points):
        if not rounded[place]:
            line.append(point[None])
            continue
        before, after = points[place - 1] - point, points[(place + 1) % len(points)] - point
        # At most half an edge, so that two round corners can meet in its middle
        reach = face.round * min(float(np.abs(size).min()), *(float(np.hypot(*edge)) for edge in (before, after))) / 2
        start, end = (point + edge * reach / max(float(np.hypot(*edge)), 1e-6) for edge in (before, after))
        line.append(_curve(start, point, end, 9))
    return np.concatenate([*line, line[0][:1]] if closed else line)
