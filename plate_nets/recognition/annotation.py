"""Draws plates on a frame."""

from collections.abc import Iterable

import cv2
import numpy as np

from plate_nets.common.latin import drawn_form
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.quads import quad_of
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Frame, Plate

READ = (60, 160, 20)
"""BGR colour of a plate with a text."""
UNREAD = (20, 110, 235)
"""BGR colour of a plate without a certain text."""
VEHICLE = (190, 120, 40)
"""BGR colour of a vehicle."""
_WHITE = (255, 255, 255)
_FONT = cv2.FONT_HERSHEY_DUPLEX


def annotate(frame: Frame, plates: Iterable[Plate]) -> Frame:
    """A frame and its plates -> a copy with the plates' outlines and texts, and the boxes of their vehicles.

    A plate without a certain text has another colour, and its best reading with a question mark. OpenCV's font has
    ASCII alone, so texts are in Latin letters without accents.
    """
    drawn = np.array(frame)
    h, w = frame.shape[:2]
    line = max(1, round(max(h, w) / 500))
    plates = list(plates)
    for vehicle in dict.fromkeys(plate.vehicle for plate in plates if plate.vehicle):
        left, top, right, bottom = (round(side) for side in vehicle.box.sides)
        cv2.rectangle(drawn, (left, top), (right, bottom), VEHICLE, line)
        _label(drawn, vehicle.type, (left, top), bottom, VEHICLE)
    for plate in plates:
        text = plate.reading.text
        colour = READ if text else UNREAD
        outline = np.round(quad_of(plate)).astype(np.int32)
        cv2.polylines(drawn, [outline], True, colour, line)
        left, top, _, height = cv2.boundingRect(outline)
        _label(drawn, drawn_form(text) or f"{drawn_form(plate.reading.best)}?", (left, top), top + height, colour)
    return drawn


def annotate_encoded(encoded: bytes, plates: Iterable[Plate], suffix: str) -> bytes | None:
    """An encoded picture and its plates -> an upright copy with outlines and texts, in the format of ``suffix``.

    None if the picture is too large for that format: JPEG ends at 65,535 pixels a side, WebP at 16,383.
    """
    drawn = annotate(decode_image(encoded, FrameLimits()), plates)
    try:
        done, copy = cv2.imencode(suffix, drawn)
    except cv2.error:
        return None
    return copy.tobytes() if done else None


def _label(frame: Frame, text: str, corner: tuple[int, int], below: int, colour: tuple[int, int, int]) -> None:
    """Write on a filled background above the box, or below it if there is no room, always inside the frame."""
    h, w = frame.shape[:2]
    height = max(12, round(min(h, w) / 28))  # px of a capital
    scale = cv2.getFontScaleFromHeight(_FONT, height, max(1, height // 12))
    stroke = max(1, height // 12)
    (text_w, text_h), base = cv2.getTextSize(text, _FONT, scale, stroke)
    pad = max(2, height // 4)
    ground_w, ground_h = text_w + 2 * pad, text_h + base + 2 * pad
    left = min(max(0, corner[0]), max(0, w - ground_w))
    top = corner[1] - ground_h if corner[1] >= ground_h else min(below, max(0, h - ground_h))
    cv2.rectangle(frame, (left, top), (left + ground_w, top + ground_h), colour, cv2.FILLED)
    cv2.putText(frame, text, (left + pad, top + pad + text_h), _FONT, scale, _WHITE, stroke, cv2.LINE_AA)
