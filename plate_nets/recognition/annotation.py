"""Draws plates on a frame."""

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.images import decode_image
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Frame, Plate

READ = (60, 160, 20)
"""BGR of a plate with a text."""
UNREAD = (20, 110, 235)
"""BGR of a plate whose text is not sure."""
VEHICLE = (190, 120, 40)
"""BGR of a vehicle."""
_WHITE = (255, 255, 255)
_FONT = cv2.FONT_HERSHEY_DUPLEX


def annotate(frame: Frame, plates: Iterable[Plate]) -> Frame:
    """A frame and its plates -> a copy with outlines along their corners, their texts, and boxes of their vehicles.

    A plate that was not read surely is drawn in another colour, with its best reading and a question mark.
    """
    drawn = np.array(frame)
    h, w = frame.shape[:2]
    line = max(1, round(max(h, w) / 500))
    plates = list(plates)
    for own in dict.fromkeys(plate.vehicle for plate in plates if plate.vehicle):
        left, top, right, bottom = (round(side) for side in own.box.sides)
        cv2.rectangle(drawn, (left, top), (right, bottom), VEHICLE, line)
        _label(drawn, own.type, (left, top), bottom, VEHICLE)
    for plate in plates:
        text = plate.reading.text
        colour = READ if text else UNREAD
        outline = _outline(plate)
        cv2.polylines(drawn, [outline], True, colour, line)
        left, top, _, height = cv2.boundingRect(outline)
        _label(drawn, text or f"{plate.reading.best}?", (left, top), top + height, colour)
    return drawn


def _outline(plate: Plate) -> NDArray[np.int32]:
    """The whole pixels of a plate's corners, or of its box where it has none: (4, 2)."""
    box = plate.box
    upright = (box.xmin, box.ymin, box.xmax, box.ymin, box.xmax, box.ymax, box.xmin, box.ymax)
    return np.asarray(np.round(plate.corners or upright), np.int32).reshape(4, 2)


def annotate_encoded(encoded: bytes, plates: Iterable[Plate], suffix: str) -> bytes | None:
    """A picture that was read and its plates -> an upright copy with outlines and texts, encoded as ``suffix`` says.

    None where that format cannot hold it: JPEG and WebP end at 65,535 and 16,383 pixels a side.
    """
    drawn = annotate(decode_image(encoded, FrameLimits()), plates)
    try:
        done, copy = cv2.imencode(suffix, drawn)
    except cv2.error:
        return None
    return copy.tobytes() if done else None


def _label(frame: Frame, text: str, corner: tuple[int, int], below: int, colour: tuple[int, int, int]) -> None:
    """Write on a filled ground above the box, or below it where there is no room, always inside the frame."""
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
