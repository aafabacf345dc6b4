"""The detector's network on OpenVINO, cut before its last layers: pixels go in as they are, likely rows come out.

Scaling and colour order are a part of its graph. What YOLOv5 does with its three maps, a sigmoid and the place of each
cell, is done here for the few rows that count, and in float32 whatever the precision of the network.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import WeightsError
from plate_nets.runtimes.openvino import Precision, compile_model, read_ir

if TYPE_CHECKING:
    import openvino

STRIDES = (8, 16, 32)
"""Pixels of the input that a cell of each map covers along a side."""
HEAD, SIZES = "head", "sizes"
"""With the stride after them, the names in the graph: of a map (N, 3 * values, h, w), before its sigmoid, and of the
sizes (3, 2, 1), px, that a width and height of 1 stand for after it."""
NEGLIGIBLE = 1e-3
"""Rows with less objectness than this are left out."""

Pictures = NDArray[np.uint8]


class OpenVINODetector:
    """A converted detector: pictures (1, h, w, 3) BGR, h and w multiples of 32 -> rows (1, A, 5 + classes).

    A row is as those of `nets.yolov5`; A counts those with an objectness of `NEGLIGIBLE` or more. For one caller at a
    time.

    Raises:
        WeightsError: no such file, a damaged one, or one that a former version has converted.
    """

    def __init__(self, path: Path, threads: int, precision: Precision) -> None:
        model = read_ir(path)
        nodes = {node.get_friendly_name(): node for node in model.get_ops()}
        try:
            heads = [nodes[f"{HEAD}{stride}"].output(0) for stride in STRIDES]
            self._sizes = [nodes[f"{SIZES}{stride}"].data.reshape(-1, 2).copy() for stride in STRIDES]
        except KeyError as error:
            raise WeightsError(f"{path}: has no {error}; run `python -m converters`") from error
        self._request = compile_model(_on_pixels(model, heads), threads, precision).create_infer_request()

    def __call__(self, pictures: Pictures, least: float = NEGLIGIBLE) -> NDArray[np.float32]:
        """Pictures -> rows; ``least``: the objectness, 0 to below 1, from which on they are given."""
        found = self._request.infer([pictures], share_inputs=True, share_outputs=True)
        maps = [found[index][0] for index in range(len(STRIDES))]
        return np.concatenate(list(self._rows(maps, least)))[None]

    def _rows(self, maps: list[NDArray[np.float32]], least: float) -> Iterator[NDArray[np.float32]]:
        smallest = np.log(least / (1 - least)) if least > 0 else -np.inf
        for found, sizes, stride in zip(maps, self._sizes, STRIDES, strict=True):
            logits = found.reshape(len(sizes), -1, *found.shape[1:])  # (3, values, h, w)
            anchor, y, x = np.nonzero(logits[:, 4] >= smallest)
            values = 1 / (1 + np.exp(-logits[anchor, :, y, x]))
            # "xy" of a cell reaches half a cell beyond its own sides, "wh" up to four times the anchor
            values[:, 0:2] = (2 * values[:, 0:2] + np.stack((x, y), axis=1) - 0.5) * stride
            values[:, 2:4] = values[:, 2:4] ** 2 * sizes[anchor]
            yield values.astype(np.float32)


def _on_pixels(model: "openvino.Model", heads: "list[openvino.Output]") -> "openvino.Model":
    """The part of a network up to its heads, on pictures (1, h, w, 3) BGR uint8."""
    import openvino
    from openvino.preprocess import ColorFormat, PrePostProcessor

    steps = PrePostProcessor(openvino.Model(heads, model.get_parameters(), model.get_friendly_name()))
    steps.input().tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC")).set_color_format(
        ColorFormat.BGR
    )
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(openvino.Type.f32).convert_color(ColorFormat.RGB).scale(255.0)
    whole = steps.build()
    whole.reshape({0: openvino.PartialShape([1, -1, -1, 3])})
    return whole
