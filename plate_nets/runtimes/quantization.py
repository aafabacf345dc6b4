"""Networks in 8-bit integers: the range of values that each layer takes makes one of a converted network.

The ranges are measured on pictures, by `python -m training.quantize`, and stay with the weights. A value is
rounded to one of 256 steps of its layer's range; a kernel, which is symmetric, to one of 129 steps of its channel's
(Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018).
OpenVINO runs a graph that says so, by nodes "FakeQuantize", in integers.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from plate_nets.errors import WeightsError

if TYPE_CHECKING:
    import openvino

RANGES = "int8_ranges"
"""The key in the metadata of the weights and in the information of an IR: JSON, `Ranges`."""

Ranges = Mapping[str, tuple[float, float]]
"""By the name of a layer in the graph, the lowest and the highest value of what it gives."""

_VALUES, _KERNEL = 256, 255
"""Steps."""
_HEADROOM = 127 / 64
"""The range of a kernel over its largest value, so that a kernel takes 7 of the 8 bits. Processors with AVX2 and
without VNNI add two products in 16 bits, which overflow with all 8: plates of 0.8 then got other boxes."""


def ranges_of(model: "openvino.Model") -> Ranges:
    """A converted network -> its ranges; empty where none were measured.

    Raises:
        WeightsError: they are damaged.
    """
    if not model.has_rt_info([RANGES]):
        return {}
    written = model.get_rt_info([RANGES]).astype(str)
    try:
        return {name: (float(low), float(high)) for name, (low, high) in json.loads(written).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise WeightsError(f"{model.get_friendly_name()}: damaged ranges for int8: {error}") from error


def quantize(model: "openvino.Model") -> None:
    """Rounds what the layers of a network give, and the kernels of its convolutions, as 8-bit integers do; in place.

    Raises:
        WeightsError: it has no ranges, damaged ones, or those of another network.
    """
    from openvino import opset13 as opset

    ranges = ranges_of(model)
    if not ranges:
        command = "`python -m training.quantize`"
        raise WeightsError(f"{model.get_friendly_name()}: its weights have no ranges for int8; {command} measures them")
    nodes = {node.get_friendly_name(): node for node in model.get_ordered_ops()}
    if unknown := sorted(ranges.keys() - nodes.keys()):
        raise WeightsError(f"{model.get_friendly_name()}: ranges for int8 of another network: no layer {unknown[0]}")
    for name, (low, high) in ranges.items():
        readers = nodes[name].output(0).get_target_inputs()
        rounded = opset.fake_quantize(nodes[name], *_ends(low, high), *_ends(low, high), _VALUES)
        for reader in readers:
            reader.replace_source_output(rounded.output(0))
    for node in nodes.values():
        if node.get_type_name() == "Convolution":
            kernel = node.input(1).get_source_output()
            most = _HEADROOM * np.abs(kernel.get_node().data).max(axis=(1, 2, 3), keepdims=True)
            rounded = opset.fake_quantize(kernel, *_ends(-most, most), *_ends(-most, most), _KERNEL)
            node.input(1).replace_source_output(rounded.output(0))


def _ends(low: object, high: object) -> tuple["openvino.Node", "openvino.Node"]:
    from openvino import opset13 as opset

    return opset.constant(np.asarray(low, np.float32)), opset.constant(np.asarray(high, np.float32))
