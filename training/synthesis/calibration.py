"""Renders the pictures with which a process checks whether its networks tolerate bfloat16 (`runtimes.precision`)."""

from pathlib import Path

import cv2
import numpy as np

from plate_nets.plates import PlateScheme
from plate_nets.runtimes.precision import CROPS, SCENE
from training.synthesis import synthesize
from training.synthesis.scene import render_scene

_COUNT = 16
_SIZE = (640, 384)
_PLATES = 4
_QUALITY = 95


def write_calibration(scheme: PlateScheme, folder: Path, seed: int) -> None:
    """Draw a street with plates, and crops of other plates, into an existing folder."""
    rng = np.random.default_rng(seed)
    street = render_scene(scheme, rng, _SIZE, _PLATES).frame
    cv2.imwrite(str(folder / SCENE), street, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    crops = np.stack([synthesize(scheme, rng).crop for _ in range(_COUNT)])
    (folder / CROPS).write_bytes(crops.tobytes())
