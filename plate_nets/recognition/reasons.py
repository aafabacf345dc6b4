"""Why a plate has no text: what was seen of it -> a word of `types.Reason`, and the number that decided.

The thresholds tell drawn plates apart (`tests/unread.py`), because real plates come without a reason.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.recognition.ctc import best_path, log_softmax
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.quads import line_heights, lines_of, quad_of, quad_size
from plate_nets.types import NOT_READ, REASON_UNITS, Box, Frame, Plate, Reason, Sight, Unread

Spoilt = Literal["too_low", "dark", "glare", "blurred", "smeared"]
"""What makes plates hard to read because of how a camera is set up."""

EDGE = 1.0
"""Pixels from the edge of a picture within which a box is cut by it."""
_DARK = 40 / 255
_GLARE = 0.05
_BLUR = 0.045
"""Radius of the blur in plate heights."""
_SHARP = 0.65
"""Radius in pixels that a sharp edge has on a sensor."""
_ENDS = 28 / 255
_WHOLE = 3.4
"""Width in heights of a whole plate of one line."""
_CLEAR = 0.7
"""Certainty of characters that are read well, whether they fit a format or not."""
_FEW = 4
"""Characters of a plate of which the rest is not seen."""


def why_unread(plate: Plate, scheme: PlateScheme | None) -> Unread:
    """A plate without a text -> why it has none.

    ``scheme``: the one that was read, None if unknown.
    """
    sight = plate.sight
    height = height_of(plate)
    if height < DecodingSettings.least_height:
        return _unread("too_low", height)
    if sight is not None and (found := _seen_badly(sight, height)):
        return _unread(*found)
    seen, certainty = _signs(plate, scheme)
    known = len(seen.replace(UNKNOWN, ""))
    tall, wide = (float(size[0]) for size in quad_size(quad_of(plate)[None]))
    least = 2 if wide < _WHOLE * tall else 3  # a reader may take two signs of another script for its own
    if least <= known <= _FEW or (sight is not None and sight.ends >= _ENDS):
        return _unread("hidden", known)
    if known < least:
        return _unread("script_unknown", certainty)
    if scheme is not None and certainty >= _CLEAR and not scheme.is_plate(seen):
        return _unread("no_format", certainty)
    return _unread("unsure", certainty)


def _unread(reason: Reason, number: float) -> Unread:
    return Unread(reason, round(float(number), 2), REASON_UNITS.get(reason, ""))


def _seen_badly(sight: Sight, height: float) -> tuple[Literal["cut_off", "dark", "glare", "blurred"], float] | None:
    """The reason that the pixels give, if any, and its number."""
    if sight.edge < EDGE:
        return "cut_off", max(0.0, sight.edge)
    if sight.brightness < _DARK:
        return "dark", 100 * sight.brightness
    if sight.glare >= _GLARE:
        return "glare", 100 * sight.glare
    if optical_blur(sight.blur) >= _BLUR * height:
        return "blurred", sight.blur
    return None


def spoilt_by(plate: Plate) -> Spoilt | None:
    """A plate that was looked at -> what makes it hard to read, and a camera can be set up to avoid."""
    assert plate.sight is not None
    height = height_of(plate)
    if height < DecodingSettings.least_height:
        return "too_low"
    reason, _ = _seen_badly(plate.sight, height) or (None, 0.0)
    if reason == "cut_off":
        return None
    if reason == "blurred" and optical_blur(plate.sight.focus) < _BLUR * height:
        return "smeared"
    return reason


def height_of(plate: Plate) -> float:
    """The height of a line of a plate, pixels."""
    quads = quad_of(plate)[None]
    return float(line_heights(quads, lines_of(quads))[0])


def optical_blur(radius: float) -> float:
    """The radius of a blur -> the part that a sharp picture would not have."""
    return math.sqrt(max(0.0, radius**2 - _SHARP**2))


def _signs(plate: Plate, scheme: PlateScheme | None) -> tuple[str, float]:
    """What the reader saw before formats, with `UNKNOWN` for signs that it does not know, and how certain."""
    if plate.logits is None or scheme is None:
        return plate.reading.best, plate.reading.confidence
    own = scheme.read_with(plate.reading.scheme)
    best = best_path(log_softmax(plate.logits[None, : own.classes])[0], own)
    return best.text, best.confidence


def with_sights(picture: Callable[[], Frame], plates: Sequence[Plate], *, read: bool = False) -> list[Plate]:
    """The plates of a picture -> the same with what their pixels say: those that were read without a text.

    ``read``: all of them.
    """
    looked_at = [read or (not plate.reading.text and plate.reading is not NOT_READ) for plate in plates]
    if not any(looked_at):
        return list(plates)
    frame = picture()
    return [
        replace(plate, sight=look(frame, plate)) if wanted else plate
        for plate, wanted in zip(plates, looked_at, strict=True)
    ]


def look(frame: Frame, plate: Plate) -> Sight:
    """A plate of a frame -> what its pixels say."""
    import cv2

    from plate_nets.recognition.rectification import warp_quad, widen

    quad = quad_of(plate)
    tall, wide = (float(size[0]) for size in quad_size(quad[None]))
    shrink = min(1.0, 32 / max(tall, 1.0))
    h, w = max(4, round(tall * shrink)), max(8, round(wide * shrink))
    light = cv2.cvtColor(warp_quad(frame, quad, (h, w)), cv2.COLOR_BGR2GRAY).astype(np.float32) / 255
    low, high = np.percentile(light, (5, 95))
    steps = [float(np.percentile(np.abs(np.diff(light, axis=axis)), 98)) for axis in (0, 1)]
    # The steepest step of an edge blurred by a Gaussian is its contrast / (radius * sqrt(2 pi))
    blur, focus = (float(high - low) / max(step, 1e-3) / 2.5 / shrink for step in sorted(steps))
    around = warp_quad(frame, widen(quad, 0.3, 0.3, 0.3, 0.3), (round(1.6 * h), round(1.6 * w)))
    burnt = np.asarray(around.min(axis=2) >= 250, np.uint8)
    size = max(3, round(0.35 * h))
    glare = cv2.morphologyEx(burnt, cv2.MORPH_OPEN, np.ones((size, size), np.uint8))
    edge = from_edge(plate.box, frame.shape[:2])
    return Sight(float(high), float(glare.mean()), blur, focus, _ends(around), edge)


def from_edge(box: Box, hw: tuple[int, ...]) -> float:
    """The distance of a box from the edge of a picture of this height and width, pixels; below 0 beyond it."""
    return float(min(box.xmin, box.ymin, hw[1] - box.xmax, hw[0] - box.ymax))


def _ends(around: Frame) -> float:
    """The difference of what adjoins the left and the right end of a plate, 0..1."""
    h, w = around.shape[:2]
    rows = slice(round(0.2 * h), round(0.8 * h))
    strip = max(1, round(0.08 * w))
    left, right = (np.median(part.reshape(-1, 3), axis=0) for part in (around[rows, :strip], around[rows, w - strip :]))
    return float(np.abs(left - right).max()) / 255
