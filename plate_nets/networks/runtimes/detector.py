"""The detector's network on OpenVINO, without its last layers: pictures go in unchanged, likely rows come out.

Scaling and colour order are part of its graph. The last steps of YOLOv5 on its three maps, a sigmoid and the offset of
each cell, are done here, only for the rows that matter and always in float32.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import WeightsError
from plate_nets.networks.runtimes.openvino import Precision, check_output, compile_model, infer, read_ir

if TYPE_CHECKING:
    import openvino

STRIDES = (8, 16, 32)
"""The size of a cell of each map in pixels of the input."""
HEAD, SIZES = "head", "sizes"
"""Name prefixes in the graph, each followed by the stride: a map (N, 3 * values, h, w) before its sigmoid, and the
sizes (3, 2, 1) in pixels that scale its widths and heights."""
PLATES, VEHICLES = "detect", "vehicles"
HEADS = {PLATES: "", VEHICLES: "vehicle_"}
"""The heads at the end of the network, and the prefixes of their names."""
NEGLIGIBLE = 1e-3
"""Rows with a lower objectness are dropped."""

FREQUENT, FIXED = 50, 2
"""After this many pictures of one shape, the shape gets its own network, for at most this many shapes, if the detector
has one thread. Such a network takes 0.93 of the time of the one for any shape (0.97 with two threads), and 20 MB.
Creating it delays one picture by a third of a second."""

Pictures = NDArray[np.uint8]


class OpenVINODetector:
    """A converted detector: pictures (1, h, w, 3) BGR, h and w multiples of 32 -> rows (1, A, 5 + classes).

    The rows are those of `networks.yolov5` with an objectness of at least `NEGLIGIBLE`. Not thread-safe. The head for
    vehicles is loaded with the first request for vehicles, which takes 20 MB and a third of a second.

    Raises:
        WeightsError: the file is missing, damaged, or from an older converter; for int8, its weights have no ranges.
    """

    def __init__(self, path: Path, threads: int, precision: Precision) -> None:
        self._path, self._threads, self._precision = path, threads, precision
        try:
            self._plates = self._network(PLATES)
        except KeyError as error:
            raise WeightsError(f"{path}: has no {error}; run `python -m converters`") from error

    def __call__(self, pictures: Pictures, least: float = NEGLIGIBLE) -> NDArray[np.float32]:
        """Pictures -> rows. ``least``: the minimum objectness of a row, at least 0 and below 1."""
        return self._plates(pictures, least)[0]

    def both(
        self, pictures: Pictures, least: float = NEGLIGIBLE
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Pictures -> rows of plates, and rows of vehicles, or None if the weights have no head for them."""
        if self._both is None:
            return self(pictures, least), None
        plates, vehicles = self._both(pictures, least)
        return plates, vehicles

    @cached_property
    def _both(self) -> "_Heads | None":
        try:
            return self._network(*HEADS)
        except KeyError:
            return None

    def _network(self, *parts: str) -> "_Heads":
        return _Heads(read_ir(self._path, self._precision), parts, self._threads, self._precision)


class _Heads:
    """Some heads of a converted detector: pictures -> the rows of each head."""

    def __init__(self, model: "openvino.Model", parts: tuple[str, ...], threads: int, precision: Precision) -> None:
        nodes = {node.get_friendly_name(): node for node in model.get_ops()}
        self._sizes = [
            nodes[f"{HEADS[p]}{SIZES}{stride}"].data.reshape(-1, 2).copy() for p in parts for stride in STRIDES
        ]
        self._network, self._threads, self._precision = _on_pixels(up_to_heads(model, parts)), threads, precision
        self._name = self._network.get_friendly_name()
        self._any_shape = self._request((1, -1, -1, 3))
        self._by_shape: dict[tuple[int, ...], openvino.InferRequest] = {}
        self._seen: Counter[tuple[int, ...]] = Counter()

    def __call__(self, pictures: Pictures, least: float) -> list[NDArray[np.float32]]:
        """Pictures -> rows of each head."""
        found = infer(self._request_for(pictures.shape), pictures, self._name, share_outputs=True)
        rows = [self._rows(found[index][0], index, least) for index in range(len(self._sizes))]
        return [np.concatenate(rows[first : first + len(STRIDES)])[None] for first in range(0, len(rows), len(STRIDES))]

    def _request_for(self, shape: tuple[int, ...]) -> "openvino.InferRequest":
        if self._threads == 1 and shape not in self._by_shape and len(self._by_shape) < FIXED:
            self._seen[shape] += 1
            if self._seen[shape] >= FREQUENT:
                self._by_shape[shape] = self._request(shape)
        return self._by_shape.get(shape, self._any_shape)

    def _request(self, shape: tuple[int, ...]) -> "openvino.InferRequest":
        """The network for pictures of a shape; -1 is any size."""
        import openvino

        network = self._network.clone()
        network.reshape({0: openvino.PartialShape(list(shape))})
        return compile_model(network, self._threads, self._precision).create_infer_request()

    def _rows(self, found: NDArray[np.float32], index: int, least: float) -> NDArray[np.float32]:
        """The map (3 * values, h, w) with this index -> its rows."""
        check_output(found, self._network.get_friendly_name())
        smallest = np.log(least / (1 - least)) if least > 0 else -np.inf
        sizes, stride = self._sizes[index], STRIDES[index % len(STRIDES)]
        logits = found.reshape(len(sizes), -1, *found.shape[1:])  # (3, values, h, w)
        anchor, y, x = np.nonzero(logits[:, 4] >= smallest)
        values = 1 / (1 + np.exp(-logits[anchor, :, y, x]))
        # The centre may lie half a cell beyond its cell, and the sides may be four times those of the anchor
        values[:, 0:2] = (2 * values[:, 0:2] + np.stack((x, y), axis=1) - 0.5) * stride
        values[:, 2:4] = values[:, 2:4] ** 2 * sizes[anchor]
        return values.astype(np.float32)


def up_to_heads(model: "openvino.Model", parts: Iterable[str] = (PLATES,)) -> "openvino.Model":
    """A converted detector -> its part up to the maps (N, 3 * values, h, w) of some `HEADS`, for each of `STRIDES`.

    Raises:
        KeyError: it has no such maps.
    """
    import openvino

    nodes = {node.get_friendly_name(): node for node in model.get_ops()}
    heads = [nodes[f"{HEADS[part]}{HEAD}{stride}"].output(0) for part in parts for stride in STRIDES]
    return openvino.Model(heads, model.get_parameters(), model.get_friendly_name())


def _on_pixels(model: "openvino.Model") -> "openvino.Model":
    """The part of a network up to its heads -> the same for pictures (1, h, w, 3) BGR uint8."""
    import openvino
    from openvino.preprocess import ColorFormat, PrePostProcessor

    steps = PrePostProcessor(model)
    steps.input().tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC")).set_color_format(
        ColorFormat.BGR
    )
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(openvino.Type.f32).convert_color(ColorFormat.RGB).scale(255.0)
    return steps.build()
