"""How far found corners are from labelled ones, and how far a plate is turned."""

import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.quads import Quads, quad_size

TURNED = 3.0
"""Plates turned by more than this, degrees, count as turned."""


def corner_errors(predicted: Quads, labelled: Quads) -> NDArray[np.float32]:
    """Quads (N, 4, 2) twice -> the distance of each corner (N, 4), as a share of the labelled plate's height."""
    heights, _ = quad_size(labelled)
    distances = np.linalg.norm(predicted - labelled, axis=2)
    return np.asarray(distances / np.maximum(heights, 1e-6)[:, None], np.float32)


def turns(quads: Quads) -> NDArray[np.float64]:
    """Quads (N, 4, 2) -> their rotation (N,), degrees, clockwise."""
    along = quads[:, 1] - quads[:, 0] + quads[:, 2] - quads[:, 3]
    return np.asarray(np.degrees(np.arctan2(along[:, 1], along[:, 0])), np.float64)
