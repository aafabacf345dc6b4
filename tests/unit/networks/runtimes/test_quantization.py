"""Networks in 8-bit integers, with the ranges stored in their weights."""

import json
from pathlib import Path

import numpy as np
import openvino
import pytest
from openvino import opset13 as opset

from plate_nets.common.errors import WeightsError
from plate_nets.contract import CORNERS, YOLO
from plate_nets.networks.checkpoint import read_metadata, weights_path
from plate_nets.networks.conversion.graphs.yolov5 import yolov5
from plate_nets.networks.conversion.openvino_ir import build
from plate_nets.networks.runtimes.quantization import RANGES, Ranges, quantize, ranges_of

KERNEL = np.array([[[[0.5]]], [[[-200.0]]]], np.float32)
"""Two channels with very different values."""


def network(ranges: Ranges) -> openvino.Model:
    """A convolution of one value to two."""
    given = opset.parameter([1, 1, 1, -1], np.float32, "x")
    given.set_friendly_name("x")
    model = openvino.Model([opset.convolution(given, opset.constant(KERNEL), [1, 1], [0, 0], [0, 0], [1, 1])], [given])
    if ranges:
        model.set_rt_info(json.dumps(ranges), [RANGES])
    return model


def test_values_and_kernels_are_rounded() -> None:
    model = network({"x": (0.0, 2.55)})
    quantize(model)
    run = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = run(np.array([[[[0.0, 0.014, 1.5, 7.0]]]], np.float32))[0]
    expected = np.array([0, 0.01, 1.5, 2.55])  # to a 255th of the range, clipped at its ends
    np.testing.assert_allclose(found[0, :, 0], KERNEL[:, 0, 0] * expected, rtol=1e-4, atol=1e-4)


def test_a_network_without_ranges_is_refused() -> None:
    assert ranges_of(network({})) == {}
    with pytest.raises(WeightsError, match=r"no ranges for int8; `python -m training\.quantize` measures"):
        quantize(network({}))


def test_ranges_of_another_network_are_refused() -> None:
    with pytest.raises(WeightsError, match="of another network: no layer y"):
        quantize(network({"x": (0, 1), "y": (0, 1)}))


@pytest.mark.parametrize("written", ["{", "[1]", '{"x": 1}', '{"x": [0]}', '{"x": [0, "high"]}', '{"x": [0, null]}'])
def test_damaged_ranges_are_refused(written: str) -> None:
    model = network({})
    model.set_rt_info(written, [RANGES])
    with pytest.raises(WeightsError, match="damaged ranges for int8"):
        ranges_of(model)


def test_the_ranges_come_with_the_weights(tmp_path: Path) -> None:
    """The metadata's ranges get into the graph, because its layers have the same names in every build."""
    weights = weights_path(YOLO.name)
    models = [build(yolov5, weights) for _ in range(2)]
    for model in models:
        written = json.loads(read_metadata(weights)[RANGES])
        assert ranges_of(model) == {name: tuple(ends) for name, ends in written.items()}
        quantize(model)
    rounded = [sum(node.get_type_name() == "FakeQuantize" for node in model.get_ops()) for model in models]
    assert rounded == [len(ranges_of(models[0])) + 63] * 2  # and 63 kernels
    assert RANGES not in read_metadata(weights_path(CORNERS.name))
