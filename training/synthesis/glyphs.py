"""Symbols as masks, drawn from strokes with square or round ends.

Parts outside the symbol's box are cut off; then a blur and a threshold round the corners as stamping does.
"""

from functools import lru_cache
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from training.synthesis import fonts
from training.synthesis.drawing import Mask
from training.synthesis.typefaces import DIGIT_HEIGHT, GOST, Glyph, glyph

_FINE = 6  # px/mm at which strokes are drawn
_SUBSTITUTE = "wide"
_ROUNDING = 1.1  # mm, standard deviation of the blur that rounds corners


@lru_cache(maxsize=8192)
def mask(symbol: str, height: int, weight: float = 0.0, typeface: str = GOST) -> Mask:
    """A symbol -> its coverage at ``height`` px, with strokes ``weight`` mm wider.

    ``typeface``: `GOST`, or a name in `typefaces.TYPEFACES`. Symbols that GOST lacks come from one of these, and signs
    that none of them has from a font, see `fonts`. The array is shared between calls and read-only.

    Raises:
        InputError: no glyph for the symbol.
    """
    fine, aspect = _fine(symbol, weight, typeface)
    width = max(1, round(height * aspect))
    drawn = np.asarray(cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    drawn.setflags(write=False)
    return drawn


def aspect(symbol: str, typeface: str = GOST) -> float:
    """A symbol -> its width over its height.

    Raises:
        InputError: no glyph for the symbol.
    """
    drawing = _glyph(symbol, typeface)
    if drawing is None:
        fine = _fine(symbol, 0.0, typeface)[0]
        return fine.shape[1] / fine.shape[0]
    return drawing.width / drawing.height


def _glyph(symbol: str, typeface: str) -> Glyph | None:
    """The strokes of a symbol; None if a font has to draw it."""
    return glyph(typeface, symbol) or glyph(_SUBSTITUTE, symbol)


@lru_cache(maxsize=1024)
def _fine(symbol: str, weight: float, typeface: str) -> tuple[Mask, float]:
    """The symbol drawn finely, and its width over its height."""
    drawing = _glyph(symbol, typeface)
    if drawing is None:
        outline = fonts.drawn(symbol, typeface, round(DIGIT_HEIGHT * _FINE))
        return outline, outline.shape[1] / outline.shape[0]
    pad = 2 * _FINE
    size = (round(drawing.height * _FINE), round(drawing.width * _FINE))
    canvas = np.zeros((size[0] + 2 * pad, size[1] + 2 * pad), np.uint8)
    for line in drawing.lines:
        _draw(canvas, line * _FINE + pad, (drawing.stroke + weight) * _FINE, drawing.round_ends)
    inside = np.zeros_like(canvas)
    inside[pad:-pad, pad:-pad] = canvas[pad:-pad, pad:-pad]
    soft = cv2.GaussianBlur(inside, (0, 0), _ROUNDING * _FINE).astype(np.float32)
    drawn = np.clip((soft - 127.5) * 8 + 127.5, 0, 255)
    return np.ascontiguousarray(drawn[pad:-pad, pad:-pad].astype(np.uint8)), drawing.width / drawing.height


def _draw(canvas: Mask, points: NDArray[np.float64], width: float, round_ends: bool) -> None:
    """A polyline with round joints, and square ends unless ``round_ends``."""
    shift = 4
    scale = 1 << shift
    for start, end in pairwise(points):
        along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-6)
        across = np.array([-along[1], along[0]]) * width / 2
        quad = np.array([start + across, end + across, end - across, start - across])
        cv2.fillConvexPoly(canvas, np.round(quad * scale).astype(np.int32), (255,), cv2.LINE_AA, shift)
    for joint in points if round_ends else points[1:-1]:
        x, y = np.round(joint * scale).astype(int)
        cv2.circle(canvas, (int(x), int(y)), round(width / 2 * scale), (255,), -1, cv2.LINE_AA, shift)
