"""Simulates a distant plate seen by a cheap camera: few pixels of height, coded as JPEG or H.264."""

import cv2
import numpy as np

from plate_nets.evaluation.coding import code_h264, code_jpeg, moved
from plate_nets.types import Frame
from training.synthesis.camera import Corners, take_photo

LOWEST, HIGHEST = 6.0, 20.0
"""Plate heights in the simulated photo, px."""
_BLOCK = 16
"""Side of a macroblock of H.264, px."""


def draw_far_height(rng: np.random.Generator) -> float:
    """A plate height in the photo, px: log-uniform between the lowest and the highest."""
    return float(LOWEST * (HIGHEST / LOWEST) ** rng.random())


def take_far_photo(
    picture: Frame,
    corners: Corners,
    target: Corners,
    size: tuple[int, int],
    rng: np.random.Generator,
    severity: float = 1.0,
    lines: int = 1,
) -> Frame:
    """As `training.synthesis.camera.take_photo`, through a soft lens and a low bit rate."""
    photo = take_photo(picture, corners, target, size, rng, 0.7 * severity, lines)
    if rng.random() < 0.5:
        photo = np.asarray(cv2.GaussianBlur(photo, (0, 0), float(rng.uniform(0.2, 0.8))), np.uint8)
    kind = rng.random()
    if kind < 0.45:
        return code_jpeg(photo, int(rng.integers(20, 96)))
    if kind < 0.9:
        return _filmed(photo, rng)
    return photo


def _filmed(photo: Frame, rng: np.random.Generator) -> Frame:
    """A photo as the last of one to five frames of a video with motion."""
    height, width = photo.shape[:2]
    top, left = (int(rng.integers(_BLOCK)) for _ in range(2))  # block borders may fall anywhere on the plate
    wide = np.asarray(cv2.copyMakeBorder(photo, top, _BLOCK - top, left, _BLOCK - left, cv2.BORDER_REPLICATE), np.uint8)
    right, down = rng.normal(0, 0.05, 2) * height
    frames = [moved(wide, right * back, down * back) for back in range(int(rng.integers(1, 6)) - 1, -1, -1)]
    last = code_h264(frames, crf=int(rng.integers(22, 41)))[-1]
    return np.ascontiguousarray(last[top : top + height, left : left + width])
