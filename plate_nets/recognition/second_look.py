"""A second look at plates without a certain reading: crops that are tighter, shifted, or have more contrast.

A reader that is unsure of a crop is often certain of the same plate at another place in the crop, and reads something
else if it was wrong. So the evidence of several looks is averaged (`PlateDecoder.read_together`).
"""

import cv2
import numpy as np

from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops, Frame

VARIANTS = 4
"""Looks at a plate besides the unchanged crop."""
_TIGHTER = (1.06, 1.08)
"""Enlargement along and across the plate."""
_MOVED = 1.3
"""Shift up and down in pixels of the crop: half of its margin."""
_MIDDLE = np.s_[4:20, 8:86]
"""A part of the crop that the plate always covers; contrast is measured there."""


def looks_at(crops: Crops) -> Crops:
    """Crops (N, 3, 24, 94) -> `VARIANTS` other looks at each, (N * VARIANTS, 3, 24, 94)."""
    pictures = (np.ascontiguousarray(crop.transpose(1, 2, 0)) for crop in crops)
    looks = [look.transpose(2, 0, 1) for picture in pictures for look in _looks(picture)]
    return np.ascontiguousarray(looks, np.float32)


def _looks(picture: Frame) -> list[Frame]:
    """A crop (24, 94, 3) with values of any scale -> its `VARIANTS` variants."""
    return [
        _placed(picture, *_TIGHTER, 0.0),
        _placed(picture, 1.0, 1.0, -_MOVED),
        _placed(picture, 1.0, 1.0, _MOVED),
        _contrasted(picture),
    ]


def _placed(picture: Frame, along: float, across: float, down: float) -> Frame:
    """Enlarge about the middle and shift; the edge is repeated."""
    matrix = np.array(
        [[along, 0, (1 - along) * CROP_WIDTH / 2], [0, across, (1 - across) * CROP_HEIGHT / 2 + down]], np.float64
    )
    size = (CROP_WIDTH, CROP_HEIGHT)
    return np.asarray(cv2.warpAffine(picture, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE))


def _contrasted(picture: Frame) -> Frame:
    """Stretch to four fifths of the range between -1 and 1, and sharpen slightly."""
    low, high = np.percentile(picture[_MIDDLE], (3, 97))
    stretched = (picture - low) / max(float(high - low), 0.16) * 1.57 - 0.8
    soft = cv2.GaussianBlur(stretched, (0, 0), 1.0)
    return np.asarray(np.clip(stretched + 0.5 * (stretched - soft), -1.0, 1.0))
