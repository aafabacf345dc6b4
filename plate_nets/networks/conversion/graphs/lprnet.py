"""LPRNet as an OpenVINO graph; see `networks.lprnet`."""

from openvino import Model, Node
from openvino import opset13 as opset

from plate_nets.networks.conversion.graphs.layers import (
    Sides,
    Weights,
    constant,
    convolution,
    layer_norm,
    linear,
    named,
    parameter,
    reshape,
    transpose,
)
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH

HEADS = 6


def lprnet(weights: Weights) -> Model:
    """Straightened crops (N, 3, 24, 94) RGB -1..1 -> CTC logits (N, classes, 18)."""
    crops = parameter("crops", 3, CROP_HEIGHT, CROP_WIDTH)
    x = conv_norm(crops, weights.part("stem.0"))  # (N, 32, 24, 94)
    x = conv_norm(x, weights.part("stem.1"), (1, 2))  # (N, 64, 24, 47)

    x = small_basic_block(x, weights.part("strokes.0"))
    x = conv_norm(x, weights.part("strokes.1"), (2, 1))  # (N, 96, 12, 47)
    x = small_basic_block(x, weights.part("strokes.2"))
    strokes = small_basic_block(x, weights.part("strokes.3"))

    x = conv_norm(strokes, weights.part("symbols.0"), (2, 2))  # (N, C, 6, 24)
    x = small_basic_block(x, weights.part("symbols.1"))
    symbols = small_basic_block(x, weights.part("symbols.2"))

    # The last column has no partner, because their number is odd. It is averaged alone, as torch does with ceil_mode
    context = opset.avg_pool(strokes, [2, 2], [0, 0], [0, 0], [2, 2], True, "ceil")  # (N, 96, 6, 24)
    x = opset.concat([symbols, normalize_by_power(context)], 1)
    x = conv_norm(x, weights.part("merge"))  # (N, 128, 6, 24)
    columns = convolution(x, weights.part("columns"), weights.part("columns_norm"), padding=(0, 0))
    x = named("columns", opset.relu(columns))

    position = weights["position"]
    _, length, channels = position.shape
    x = transpose(reshape(x, (0, channels, length)), (0, 2, 1)) + constant(position)  # (N, C, 1, 18) -> (N, 18, C)
    for layer in weights.part("attention").parts():
        x = self_attention(x, layer)
    x = linear(layer_norm(x, weights.part("norm")), weights.part("classes"))
    return Model([transpose(x, (0, 2, 1))], [crops], "lprnet")  # (N, 18, classes) -> (N, classes, 18)


def conv_norm(x: Node, weights: Weights, stride: Sides = (1, 1), relu: bool = True) -> Node:
    """Convolution, batch norm and, optionally, ReLU."""
    x = convolution(x, weights.part(0), weights.part(1), stride)
    return named(weights.name, opset.relu(x)) if relu else x


def small_basic_block(x: Node, weights: Weights) -> Node:
    """The paper's block with a residual path: (N, C, H, W) -> the same shape."""
    squeeze, tall, wide, expand = weights.part("body").parts()
    y = conv_norm(conv_norm(conv_norm(x, squeeze), tall), wide)
    return named(weights.name, opset.relu(x + conv_norm(y, expand, relu=False)))


def normalize_by_power(context: Node) -> Node:
    """Divide each sample by the mean square of its own (C, H, W), as the paper's global context does."""
    power = opset.reduce_mean(context * context, [1, 2, 3], True)
    return context / (power + constant(1e-4))


def self_attention(steps: Node, weights: Weights) -> Node:
    """A pre-norm transformer layer over the steps: (N, steps, channels) -> the same shape."""
    qkv = linear(layer_norm(steps, weights.part("norm")), weights.part("qkv"))
    # (N, T, 3C) -> three of (N, heads, T, C / heads)
    qkv = transpose(reshape(qkv, (0, 0, 3, HEADS, -1)), (2, 0, 3, 1, 4))
    q, k, v = (opset.squeeze(each, [0]) for each in opset.split(qkv, 0, 3).outputs())
    mixed = opset.scaled_dot_product_attention(q, k, v)
    mixed = reshape(transpose(mixed, (0, 2, 1, 3)), (0, 0, -1))
    steps = steps + linear(mixed, weights.part("project"))
    mlp = weights.part("mlp")
    hidden = opset.gelu(linear(layer_norm(steps, mlp.part(0)), mlp.part(1)), "erf")
    return steps + linear(hidden, mlp.part(3))
