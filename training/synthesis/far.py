"""Simulates plates seen by a cheap camera: distant ones of few pixels, and ones smeared by their own movement.

A camera with a long exposure smears what moves. A plate of height h in pixels, on a car that comes towards a camera
above the road or leaves it, moves in the picture by a multiple of h squared: twice as near is four times as fast.
"""

import cv2
import numpy as np

from plate_nets.evaluation.coding import code_h264, code_jpeg, moved
from plate_nets.types import Frame
from training.synthesis.camera import streak

LOWEST, HIGHEST = 6.0, 20.0
"""Plate heights in the simulated photo, px."""
MOVING_LOWEST, MOVING_HIGHEST = 8.0, 28.0
"""The same of plates that are smeared by their movement."""
_SMEAR = (0.003, 0.018)
"""Range of the smear's length over the plate's height squared, 1/px: 20 to 60 km/h for 10 to 15 ms, in
`training.synthesis.drive_by`."""
_ASIDE = 0.9
"""Largest angle of the movement from the vertical, radians: a camera between two lanes."""
_FRAME_TIME = (2.5, 4.0)
"""Range of the time between two frames, in exposures."""
_FARTHEST = 64.0
"""Maximum distance in px from the plate's place in the first frame to that in the last: large pictures code slowly."""
_BLOCK = 16
"""Side of a macroblock of H.264, px."""


def draw_far_height(rng: np.random.Generator) -> float:
    """A plate height in the photo, px: log-uniform between the lowest and the highest."""
    return float(LOWEST * (HIGHEST / LOWEST) ** rng.random())


def draw_moving_height(rng: np.random.Generator) -> float:
    """The height of a plate smeared by its movement, px: log-uniform between the lowest and the highest."""
    return float(MOVING_LOWEST * (MOVING_HIGHEST / MOVING_LOWEST) ** rng.random())


def smear(photo: Frame, height: float, rng: np.random.Generator) -> Frame:
    """Smear a photo by the movement of its plate, ``height`` px high per line, and film it at a low bit rate."""
    length = float(rng.uniform(*_SMEAR)) * height**2
    angle, sign = float(rng.uniform(-_ASIDE, _ASIDE)), float(rng.choice((-1.0, 1.0)))
    right, down = length * np.sin(angle), sign * length * np.cos(angle)
    if length > 0.7:
        smeared = cv2.filter2D(photo, -1, streak(right, down), borderType=cv2.BORDER_REPLICATE)
        photo = np.asarray(smeared, np.uint8)
    between = float(rng.uniform(*_FRAME_TIME))
    return _filmed(photo, rng, right * between, down * between)


def soften(photo: Frame, rng: np.random.Generator) -> Frame:
    """Add a soft lens and a low bit rate to a photo, as of a cheap camera."""
    if rng.random() < 0.5:
        photo = np.asarray(cv2.GaussianBlur(photo, (0, 0), float(rng.uniform(0.2, 0.8))), np.uint8)
    kind = rng.random()
    if kind < 0.45:
        return code_jpeg(photo, int(rng.integers(20, 96)))
    if kind < 0.9:
        right, down = rng.normal(0, 0.05, 2) * photo.shape[0]
        return _filmed(photo, rng, float(right), float(down))
    return photo


def _filmed(photo: Frame, rng: np.random.Generator, right: float, down: float) -> Frame:
    """A photo as the last of one to five frames of a video, in which it moves by this many px per frame."""
    height, width = photo.shape[:2]
    top, left = (int(rng.integers(_BLOCK)) for _ in range(2))  # block borders may fall anywhere on the plate
    earlier = min(int(rng.integers(5)), int(_FARTHEST / max(abs(right), abs(down), 1.0)))
    room_x, room_y = (_BLOCK * int(np.ceil(earlier * abs(step) / _BLOCK)) for step in (right, down))
    top, left = top + room_y, left + room_x
    sides = (top, 2 * room_y + _BLOCK - top, left, 2 * room_x + _BLOCK - left)
    wide = np.asarray(cv2.copyMakeBorder(photo, *sides, cv2.BORDER_REPLICATE), np.uint8)
    frames = [moved(wide, -right * back, -down * back) for back in range(earlier, -1, -1)]
    last = code_h264(frames, crf=int(rng.integers(22, 41)))[-1]
    return np.ascontiguousarray(last[top : top + height, left : left + width])
