"""CornerNet as an OpenVINO graph; see `networks.corners`."""

import numpy as np
from numpy.typing import NDArray
from openvino import Model, Node
from openvino import opset13 as opset

from plate_nets.networks.conversion.graphs.layers import (
    Weights,
    constant,
    convolution,
    enlarge,
    linear,
    named,
    parameter,
    reshape,
)
from plate_nets.types import WINDOW_HEIGHT, WINDOW_WIDTH

STRIDE = 4
REACH = 16


def corners(weights: Weights) -> Model:
    """Windows (N, 3, 64, 128) RGB -1..1 -> (N, 10): four corners in pixels of the window, the natural logarithm
    of the expected error, and the correction of the detector's log-odds."""
    windows = parameter("windows", 3, WINDOW_HEIGHT, WINDOW_WIDTH)
    first, second = weights.part("stem").parts()
    stem = conv_norm(conv_norm(windows, first, 2), second, 2)  # (N, 32, 16, 32)
    down, middle_block = weights.part("middle").parts()
    middle = residual(conv_norm(stem, down, 2), middle_block)  # (N, 48, 8, 16)
    down, *deep_blocks = weights.part("deep").parts()
    deep = conv_norm(middle, down, 2)  # (N, 96, 4, 8)
    for block in deep_blocks:
        deep = residual(deep, block)
    whole = opset.reduce_mean(deep, [2, 3], False)  # (N, 96)
    pools = (opset.reduce_mean, opset.reduce_max)
    pooled = [pool(each, [2, 3], False) for each in (stem, middle, deep) for pool in pools]
    plate = two_layers(opset.concat(pooled, 1), weights.part("plate"))
    deep = named("whole", opset.relu(deep + reshape(linear(whole, weights.part("whole")), (0, -1, 1, 1))))
    middle = conv_norm(middle + enlarge(convolution(deep, weights.part("from_deep"))), weights.part("joined"))
    fine = conv_norm(stem + enlarge(convolution(middle, weights.part("from_middle"))), weights.part("fine"))

    votes = reshape(convolution(fine, weights.part("votes")), (0, 3, 4, -1))  # (N, 3, 4, cells)
    counts, *offsets = (opset.squeeze(each, [1]) for each in opset.split(votes, 1, 3).outputs())
    counts = opset.softmax(counts, 2)
    # A corner is the weighted mean of the cells' votes, across and down: (N, 4, 1) each
    means = [mean_vote(counts, offset, centre) for offset, centre in zip(offsets, _centres(), strict=True)]
    points = reshape(opset.concat(means, 2), (0, 8))
    error = two_layers(whole, weights.part("error"))
    return Model([opset.concat([points, error, plate], 1)], [windows], "corners")


def two_layers(x: Node, layers: Weights) -> Node:
    """Two linear layers with a ReLU between them: (N, C) -> (N, outputs)."""
    return linear(named(layers.name, opset.relu(linear(x, layers.part(0)))), layers.part(2))


def conv_norm(x: Node, weights: Weights, stride: int = 1) -> Node:
    """A 3x3 convolution, batch norm and ReLU."""
    return named(weights.name, opset.relu(convolution(x, weights.part(0), weights.part(1), (stride, stride))))


def residual(x: Node, weights: Weights) -> Node:
    """Two 3x3 convolutions with an identity shortcut: (N, C, H, W) -> the same shape."""
    y = convolution(conv_norm(x, weights.part("first")), weights.part("second"), weights.part("norm"))
    return named(weights.name, opset.relu(x + y))


def mean_vote(counts: Node, offsets: Node, centres: NDArray[np.float64]) -> Node:
    """Weights and offsets of the votes (N, 4, cells), and the cells' centres in pixels -> weighted means (N, 4, 1)."""
    places = offsets * constant(REACH) + constant(centres)
    return opset.reduce_sum(places * counts, [2], True)


def _centres() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The x and the y of the centres of all cells, row by row, in pixels of the window: (cells,) each."""
    rows, columns = WINDOW_HEIGHT // STRIDE, WINDOW_WIDTH // STRIDE
    down, across = np.meshgrid((np.arange(rows) + 0.5) * STRIDE, (np.arange(columns) + 0.5) * STRIDE, indexing="ij")
    return across.ravel(), down.ravel()
