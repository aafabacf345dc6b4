"""Why a plate has no text: what was seen of it -> a word of `types.REASONS`, and the number that decided.

The thresholds tell drawn plates apart (`tests/unread.py`), because real plates come without a reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.recognition.decoding import DecodingSettings, best_path, log_softmax
from plate_nets.recognition.quads import line_heights, lines_of, quad_size
from plate_nets.types import NOT_READ, REASON_UNITS, Frame, Plate, Reason, Sight, Unread

_EDGE = 1.0
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
    quads = _quad(plate)
    height = float(line_heights(quads, lines_of(quads))[0])
    if height < DecodingSettings.least_height:
        return _unread("too_low", height)
    if sight is not None and (found := _seen_badly(sight, height)):
        return found
    seen, certainty = _signs(plate, scheme)
    known = len(seen.replace(UNKNOWN, ""))
    tall, wide = (float(size[0]) for size in quad_size(quads))
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


def _seen_badly(sight: Sight, height: float) -> Unread | None:
    """The reason that the pixels give, if any."""
    if sight.edge < _EDGE:
        return _unread("cut_off", max(0.0, sight.edge))
    if sight.brightness < _DARK:
        return _unread("dark", 100 * sight.brightness)
    if sight.glare >= _GLARE:
        return _unread("glare", 100 * sight.glare)
    if max(0.0, sight.blur**2 - _SHARP**2) ** 0.5 >= _BLUR * height:
        return _unread("blurred", sight.blur)
    return None


def _signs(plate: Plate, scheme: PlateScheme | None) -> tuple[str, float]:
    """What the reader saw before formats, with `UNKNOWN` for signs that it does not know, and how certain."""
    if plate.logits is None or scheme is None:
        return plate.reading.best, plate.reading.confidence
    own = scheme.read_with(plate.reading.scheme)
    best = best_path(log_softmax(plate.logits[None, : own.classes])[0], own)
    return best.text, best.confidence


def _quad(plate: Plate) -> NDArray[np.float32]:
    box = plate.box
    sides: Sequence[float] = plate.corners or (
        box.xmin, box.ymin, box.xmax, box.ymin, box.xmax, box.ymax, box.xmin, box.ymax,
    )  # fmt: skip
    return np.array(sides, np.float32).reshape(1, 4, 2)


def with_sights(picture: Callable[[], Frame], plates: Sequence[Plate]) -> list[Plate]:
    """The plates of a picture -> the same, those that were read without a text with what their pixels say."""
    unread = [not plate.reading.text and plate.reading is not NOT_READ for plate in plates]
    if not any(unread):
        return list(plates)
    frame = picture()
    return [
        replace(plate, sight=look(frame, plate)) if is_unread else plate
        for plate, is_unread in zip(plates, unread, strict=True)
    ]


def look(frame: Frame, plate: Plate) -> Sight:
    """A plate of a frame -> what its pixels say."""
    import cv2

    from plate_nets.recognition.rectification import warp_quad, widen

    quad = _quad(plate)[0]
    tall, wide = (float(size[0]) for size in quad_size(quad[None]))
    shrink = min(1.0, 32 / max(tall, 1.0))
    h, w = max(4, round(tall * shrink)), max(8, round(wide * shrink))
    light = cv2.cvtColor(warp_quad(frame, quad, (h, w)), cv2.COLOR_BGR2GRAY).astype(np.float32) / 255
    low, high = np.percentile(light, (5, 95))
    steps = [float(np.percentile(np.abs(np.diff(light, axis=axis)), 98)) for axis in (0, 1)]
    # The steepest step of an edge blurred by a Gaussian is its contrast / (radius * sqrt(2 pi))
    blur = float(high - low) / max(min(steps), 1e-3) / 2.5 / shrink
    around = warp_quad(frame, widen(quad, 0.3, 0.3, 0.3, 0.3), (round(1.6 * h), round(1.6 * w)))
    burnt = np.asarray(around.min(axis=2) >= 250, np.uint8)
    size = max(3, round(0.35 * h))
    glare = cv2.morphologyEx(burnt, cv2.MORPH_OPEN, np.ones((size, size), np.uint8))
    box, (rows, columns) = plate.box, frame.shape[:2]
    edge = min(box.xmin, box.ymin, columns - box.xmax, rows - box.ymax)
    return Sight(float(high), float(glare.mean()), blur, _ends(around), float(edge))


def _ends(around: Frame) -> float:
    """The difference of what adjoins the left and the right end of a plate, 0..1."""
    h, w = around.shape[:2]
    rows = slice(round(0.2 * h), round(0.8 * h))
    strip = max(1, round(0.08 * w))
    left, right = (np.median(part.reshape(-1, 3), axis=0) for part in (around[rows, :strip], around[rows, w - strip :]))
    return float(np.abs(left - right).max()) / 255
