"""A second look at plates that are not read surely: their crops cut tighter, moved, and with more contrast.

A reader that is unsure of a crop is often sure of the same plate in another place of the crop, and sure of something
else where it was wrong. So the evidence of several looks is averaged (`PlateDecoder.decode_looks`).
"""

import cv2
import numpy as np

from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops, Frame

LOOKS = 5
"""Looks at a plate, the crop as it is among them."""
_TIGHTER = (1.06, 1.08)
"""Enlargement along and across the plate."""
_MOVED = 1.3
"""Up and down, px of the crop: half of its margin."""
_MIDDLE = np.s_[4:20, 8:86]
"""Where the plate is for certain; contrast is measured there."""


def looks_at(crops: Crops) -> Crops:
    """Crops (N, 3, 24, 94) -> `LOOKS` looks at each, (N * LOOKS, 3, 24, 94)."""
    pictures = (np.ascontiguousarray(crop.transpose(1, 2, 0)) for crop in crops)
    looks = [look.transpose(2, 0, 1) for picture in pictures for look in _looks(picture)]
    return np.ascontiguousarray(looks, np.float32)


def _looks(picture: Frame) -> list[Frame]:
    """A crop (24, 94, 3), any scale of values -> `LOOKS` of it."""
    return [
        picture,
        _placed(picture, *_TIGHTER, 0.0),
        _placed(picture, 1.0, 1.0, -_MOVED),
        _placed(picture, 1.0, 1.0, _MOVED),
        _contrasted(picture),
    ]


def _placed(picture: Frame, along: float, across: float, down: float) -> Frame:
    """Enlarged about the middle, and moved; what comes in repeats the edge."""
    matrix = np.array(
        [[along, 0, (1 - along) * CROP_WIDTH / 2], [0, across, (1 - across) * CROP_HEIGHT / 2 + down]], np.float64
    )
    size = (CROP_WIDTH, CROP_HEIGHT)
    return np.asarray(cv2.warpAffine(picture, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE))


def _contrasted(picture: Frame) -> Frame:
    """Stretched to four fifths of the range between -1 and 1, and sharpened a little."""
    low, high = np.percentile(picture[_MIDDLE], (3, 97))
    stretched = (picture - low) / max(float(high - low), 0.16) * 1.57 - 0.8
    soft = cv2.GaussianBlur(stretched, (0, 0), 1.0)
    return np.asarray(np.clip(stretched + 0.5 * (stretched - soft), -1.0, 1.0))
