"""Networks in 8-bit integers, made from a converted network and the ranges of its layers' outputs.

The ranges are measured on pictures by `python -m training.quantize` and stored with the weights. A value is rounded to
one of 256 steps of its layer's range, and a kernel, which is symmetric, to one of 129 steps of its channel's range
(Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018).
OpenVINO runs a graph with such "FakeQuantize" nodes in integers.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from plate_nets.common.errors import WeightsError

if TYPE_CHECKING:
    import openvino

RANGES = "int8_ranges"
"""The key of `Ranges`, as JSON, in the metadata of the weights and in the runtime information of an IR."""

Ranges = Mapping[str, tuple[float, float]]
"""The lowest and the highest output of a layer, by its name in the graph."""

_VALUES, _KERNEL = 256, 255
"""Quantization levels."""
_HEADROOM = 127 / 64
"""A kernel's range as a multiple of its largest value, so that a kernel uses 7 of the 8 bits. Processors with AVX2
but without VNNI add two products in 16 bits, which overflow with 8 bits: plates with a score of 0.8 then got other
boxes."""


def ranges_of(model: "openvino.Model") -> Ranges:
    """A converted network -> its ranges; empty if none were measured.

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
    """Round the outputs of a network's layers, and the kernels of its convolutions, as 8-bit integers do; in place.

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
