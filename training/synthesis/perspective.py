"""How plates lie in photos: a statistical model of the four corners, fitted to labelled corner points.

Corners are described free of place and size by five numbers, all in units of the plate's width in the photo:

- ``angle``: rotation of the plate's middle line, radians, clockwise;
- ``lean``: how far the upright edges lean along the middle line;
- ``log_height``: natural logarithm of the height across the middle line;
- ``twist_x``, ``twist_y``: the keystone, along and across the middle line.

They follow a multivariate Student t distribution (normal with heavy tails). It was fitted to the 26,528 labelled plates
of `ru_plate_quads.csv` by expectation and maximisation (Peel and McLachlan, "Robust mixture modelling using the t
distribution", 2000).
"""

import cv2
import numpy as np
from numpy.typing import NDArray

_LIMITS = np.array([np.radians(32), 0.16, np.inf, 0.03, 0.04])
"""Beyond these, a labelled quad counts as a labelling error, and a drawn one as unreadable."""
LARGEST_BOX = 2.7
"""Maximum height of the upright box around a drawn plate, in plate heights; in a higher box the plate is too small."""
_LOWEST, _HIGHEST = np.log(0.14), np.log(0.42)
"""Limits of ``log_height``."""

MEAN = np.array([0.000185, 0.001954, -1.514396, 0.001641, 0.001003])
SCALE = np.array(
    [
        [0.0065322, 0.0010244, -0.0001382, -3e-06, 0.0001422],
        [0.0010244, 0.0004391, 0.0001582, -3.7e-06, 2.29e-05],
        [-0.0001382, 0.0001582, 0.0144578, 3.74e-05, 4.19e-05],
        [-3e-06, -3.7e-06, 3.74e-05, 1.31e-05, 1.1e-06],
        [0.0001422, 2.29e-05, 4.19e-05, 1.1e-06, 1.99e-05],
    ]
)
FREEDOM = 3.5
"""Mean, scale and degrees of freedom, fitted to 25,855 plates; the others lie outside the limits."""
_ROOT = np.linalg.cholesky(SCALE)


def sample_corners(rng: np.random.Generator, height: float, largest_box: float = LARGEST_BOX) -> NDArray[np.float32]:
    """Corner points (4, 2), clockwise from top left, around (0, 0), of a plate ``height`` px high.

    The upright box around them is lower than ``largest_box`` plate heights.
    """
    while True:
        chi = rng.chisquare(FREEDOM) / FREEDOM
        features = MEAN + _ROOT @ rng.standard_normal(5) / np.sqrt(chi)
        if (np.abs(features) <= _LIMITS).all() and _LOWEST <= features[2] <= _HIGHEST:
            corners = corners_of(features, height)
            if np.ptp(corners[:, 1]) < largest_box * height:
                return corners


def corners_of(features: NDArray[np.float64], height: float) -> NDArray[np.float32]:
    """The five features -> corner points (4, 2) around (0, 0), ``height`` px high across the middle line."""
    angle, lean, log_height, twist_x, twist_y = (float(value) for value in features)
    v = np.exp(log_height)
    across = np.array([lean, v])
    twist = np.array([twist_x, twist_y])
    along = np.array([1.0, 0.0])
    corners = np.array(
        [
            -along / 2 - across / 2 + twist,
            along / 2 - across / 2 - twist,
            along / 2 + across / 2 + twist,
            -along / 2 + across / 2 - twist,
        ]
    )
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(corners @ turn * (height / v), np.float32)


def stretched(quad: NDArray[np.float32], x: float, y: float) -> NDArray[np.float32]:
    """A quad (4, 2) stretched about its middle by ``x`` and ``y`` in the perspective of its plane."""
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    matrix = cv2.getPerspectiveTransform(unit, np.ascontiguousarray(quad, np.float32))
    target = (unit - 0.5) * np.array([x, y], np.float32) + 0.5
    return np.asarray(cv2.perspectiveTransform(target[None], matrix)[0], np.float32)
