"""Renders the pictures with which a process checks whether its networks tolerate bfloat16 (`runtimes.precision`)."""

from pathlib import Path

import numpy as np

from plate_nets.plates import PlateScheme
from plate_nets.runtimes.precision import CROPS, SCENE
from training.picture_file import save_picture
from training.synthesis import synthesize
from training.synthesis.scene import render_scene

_COUNT = 16
_SIZE = (640, 384)
_PLATES = 4


def write_calibration(scheme: PlateScheme, folder: Path, seed: int) -> None:
    """Draw a street with plates, and crops of other plates, into an existing folder."""
    rng = np.random.default_rng(seed)
    street = render_scene(scheme, rng, _SIZE, _PLATES).frame
    save_picture(folder / SCENE, street)
    crops = np.stack([synthesize(scheme, rng).crop for _ in range(_COUNT)])
    (folder / CROPS).write_bytes(crops.tobytes())
