"""YOLOv5n as an OpenVINO graph; see `networks.yolov5`."""

from openvino import Model, Node
from openvino import opset13 as opset

from plate_nets.networks.conversion.graphs.layers import (
    Array,
    Weights,
    constant,
    convolution,
    enlarge,
    named,
    parameter,
    reshape,
    transpose,
)
from plate_nets.networks.runtimes.detector import HEAD, HEADS, PLATES, SIZES, STRIDES, VEHICLES


def yolov5(weights: Weights) -> Model:
    """RGB pictures (N, 3, H, W), 0..1, H and W multiples of 32 -> rows (N, A, 5 + classes) of plates, then of vehicles.

    If the weights have no head for vehicles, there is no second output.
    """
    frames = parameter("x", 3, -1, -1)
    maps = features(frames, weights)
    rows = [detect(maps, weights.part(PLATES))]
    if (vehicles := weights.part(VEHICLES)).parts():
        rows.append(detect(maps, vehicles))
    return Model(rows, [frames], "yolo")


def features(x: Node, weights: Weights) -> tuple[Node, Node, Node]:
    """Pictures (N, 3, H, W) -> maps (N, C, H/8, W/8), (N, C', H/16, W/16), (N, C'', H/32, W/32)."""
    x = conv(x, weights.part("down1"), 2)
    x = c3(conv(x, weights.part("down2"), 2), weights.part("stage2"))
    p3 = c3(conv(x, weights.part("down3"), 2), weights.part("stage3"))
    p4 = c3(conv(p3, weights.part("down4"), 2), weights.part("stage4"))
    p5 = c3(conv(p4, weights.part("down5"), 2), weights.part("stage5"))

    top = conv(sppf(p5, weights.part("pyramid")), weights.part("reduce5"))
    x = c3(opset.concat([enlarge(top), p4], 1), weights.part("merge4"), shortcut=False)
    middle = conv(x, weights.part("reduce4"))
    out3 = c3(opset.concat([enlarge(middle), p3], 1), weights.part("merge3"), shortcut=False)
    x = opset.concat([conv(out3, weights.part("up4"), 2), middle], 1)
    out4 = c3(x, weights.part("out4"), shortcut=False)
    x = opset.concat([conv(out4, weights.part("up5"), 2), top], 1)
    out5 = c3(x, weights.part("out5"), shortcut=False)
    return out3, out4, out5


def conv(x: Node, weights: Weights, stride: int = 1) -> Node:
    """Convolution with "same" padding, batch normalisation, HardSwish."""
    padding = (weights["conv.weight"].shape[2] - 1) // 2
    x = convolution(x, weights.part("conv"), weights.part("bn"), (stride, stride), (padding, padding), epsilon=1e-3)
    return named(weights.name, opset.hswish(x))


def c3(x: Node, weights: Weights, shortcut: bool = True) -> Node:
    """Cross-stage-partial block with three convolutions around a chain of bottlenecks."""
    y = conv(x, weights.part("cv1"))
    for bottleneck in weights.part("m").parts():
        z = conv(conv(y, bottleneck.part("cv1")), bottleneck.part("cv2"))
        y = named(bottleneck.name, y + z) if shortcut else z
    return conv(opset.concat([y, conv(x, weights.part("cv2"))], 1), weights.part("cv3"))


def sppf(x: Node, weights: Weights) -> Node:
    """Spatial pyramid pooling: a 5x5 maximum applied once, twice and three times, together with the input."""
    maps = [conv(x, weights.part("cv1"))]
    for _ in range(3):
        maps.append(opset.max_pool(maps[-1], [1, 1], [1, 1], [2, 2], [2, 2], [5, 5]).output(0))
    return conv(opset.concat(maps, 1), weights.part("cv2"))


def detect(features: tuple[Node, Node, Node], weights: Weights) -> Node:
    """Feature maps at strides 8, 16, 32 -> (N, A, 5 + classes), A = 3 * cells of all maps."""
    prefix = HEADS[weights.name]
    heads = zip(features, weights.part("m").parts(), weights["anchors"], STRIDES, strict=True)
    return opset.concat([boxes(convolution(x, head), anchors, stride, prefix) for x, head, anchors, stride in heads], 1)


def boxes(head: Node, anchors: Array, stride: int, prefix: str) -> Node:
    """The output of a head, (N, 3 * values, h, w), and its anchors (3, 2) in cells -> (N, 3 * h * w, values)."""
    named(f"{prefix}{HEAD}{stride}", head)
    values = head.get_output_partial_shape(0)[1].get_length() // len(anchors)
    x = opset.sigmoid(reshape(head, (0, len(anchors), values, -1)))  # (N, 3, values, h * w)
    xy, wh, scores = opset.variadic_split(x, 2, [2, 2, values - 4]).outputs()
    # The centre may lie half a cell beyond its cell, and the sides may be four times those of the anchor
    xy = opset.multiply(xy, constant(2 * stride)) + (cells(head) - constant(0.5)) * constant(stride)
    sizes = named(f"{prefix}{SIZES}{stride}", constant(4 * stride * anchors[:, :, None]))
    wh = opset.multiply(wh, wh) * sizes
    x = transpose(opset.concat([xy, wh, scores], 2), (0, 1, 3, 2))  # (N, 3, h * w, values)
    return reshape(x, (0, -1, values))


def cells(head: Node) -> Node:
    """A feature map (N, C, h, w) -> the column and the row of each cell: (2, h * w)."""
    size = opset.gather(opset.shape_of(head), [2, 3], 0)
    h, w = (opset.squeeze(side, [0]) for side in opset.split(size, 0, 2).outputs())
    columns = opset.broadcast(opset.range(0, w, 1, "f32"), size)
    rows = opset.broadcast(opset.unsqueeze(opset.range(0, h, 1, "f32"), 1), size)
    return opset.concat([reshape(columns, (1, -1)), reshape(rows, (1, -1))], 0)
