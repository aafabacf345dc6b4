"""CountryNet as an OpenVINO graph; see `networks.country`."""

from openvino import Model
from openvino import opset13 as opset

from plate_nets.networks.conversion.graphs.corners import conv_norm, residual, two_layers
from plate_nets.networks.conversion.graphs.layers import Weights, parameter, reshape
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH


def country(weights: Weights) -> Model:
    """Crops (N, 3, 24, 94) RGB -1..1 -> logits (N, K + G) of designs and grounds."""
    crops = parameter("crops", 3, CROP_HEIGHT, CROP_WIDTH)
    first, second, block, third, last = weights.part("features").parts()
    x = residual(conv_norm(conv_norm(crops, first, 2), second, 2), block)  # (N, 48, 6, 24)
    x = residual(conv_norm(x, third, 2), last)  # (N, 64, 3, 12)
    features = reshape(x, (0, -1))
    logits = [two_layers(features, weights.part(head)) for head in ("head", "ground")]
    return Model([opset.concat(logits, 1)], [crops], "country")
