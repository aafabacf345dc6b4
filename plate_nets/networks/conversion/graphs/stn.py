"""STN as an OpenVINO graph; see `networks.stn`."""

import numpy as np
from numpy.typing import NDArray
from openvino import Model
from openvino import opset13 as opset

from plate_nets.networks.conversion.graphs.layers import Weights, constant, convolution, linear, parameter, reshape
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH


def stn(weights: Weights) -> Model:
    """Crops (N, 3, 24, 94) RGB -1..1 -> straightened crops of the same shape and range."""
    crops = parameter("crops", 3, CROP_HEIGHT, CROP_WIDTH)
    localization = weights.part("localization")
    x = crops
    for layer, stride in ((0, (2, 2)), (3, (1, 2)), (6, (2, 2))):  # (N, 24, 12, 47), (N, 32, 12, 24), (N, 48, 6, 12)
        x = opset.relu(convolution(x, localization.part(layer), localization.part(layer + 1), stride))
    x = opset.relu(convolution(x, localization.part(9)))  # (N, 32, 6, 12)
    x = opset.relu(linear(reshape(x, (0, -1)), weights.part("affine.0")))  # (N, 2304) -> (N, 48)
    theta = reshape(linear(x, weights.part("affine.2")), (0, 2, 3))
    # The affine map of every pixel's centre: (N, 2, 3) x (3, 24 * 94) -> (N, 2, 24 * 94) -> (N, 24, 94, 2)
    grid = opset.matmul(constant(_centres()), theta, False, True)
    grid = reshape(grid, (0, CROP_HEIGHT, CROP_WIDTH, 2))
    straight = opset.grid_sample(crops, grid, {"align_corners": False, "mode": "bilinear", "padding_mode": "border"})
    return Model([straight], [crops], "stn")


def _centres() -> NDArray[np.float64]:
    """(x, y, 1) of every pixel's centre, with -1 and 1 at the edges of the crop: (24 * 94, 3)."""
    across = (np.arange(CROP_WIDTH) * 2 + 1) / CROP_WIDTH - 1
    down = (np.arange(CROP_HEIGHT) * 2 + 1) / CROP_HEIGHT - 1
    y, x = np.meshgrid(down, across, indexing="ij")
    centres: NDArray[np.float64] = np.stack((x.ravel(), y.ravel(), np.ones(x.size)), 1)
    return centres
