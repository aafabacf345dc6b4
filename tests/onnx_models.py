"""A detector and a reader in ONNX as fast-alpr runs them, so small that they always find and read the same."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import yaml
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

SIDE = 48
CONFIG = {
    "max_plate_slots": 10,
    "alphabet": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_",
    "pad_char": "_",
    "img_height": 8,
    "img_width": 16,
    "keep_aspect_ratio": False,
    "image_color_mode": "rgb",
    "plate_regions": ["Unknown"],
}


def write_detector(path: Path, rows: Sequence[Sequence[float]]) -> Path:
    """A detector of 48 x 48 px that always gives these rows: picture, xyxy, class, score."""
    found = np.asarray(rows, np.float32).reshape(-1, 7)
    constant = helper.make_node("Constant", [], ["rows"], value=numpy_helper.from_array(found))
    given = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, SIDE, SIDE])
    told = helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["batch", 7])
    return _write(path, [constant], given, told)


def write_reader(path: Path, text: str, sure: float, **changes: object) -> Path:
    """A reader that always gives a text with this probability of each symbol; its configuration, with these changes,
    lies beside it."""
    config = CONFIG | changes
    path.with_name(f"{path.stem}_plate_config.yaml").write_text(yaml.safe_dump(config))
    channels = 3 if config["image_color_mode"] == "rgb" else 1
    alphabet = str(CONFIG["alphabet"])
    slots: NDArray[np.float32] = np.zeros((1, 10, len(alphabet)), np.float32)
    for slot, symbol in enumerate(text.ljust(10, "_")):
        slots[0, slot, alphabet.index(symbol)] = sure
    constants: dict[str, NDArray] = {"zero": np.zeros(1, np.float32), "slots": slots, "axes": np.array([2], np.int64)}
    nodes = [
        *(helper.make_node("Constant", [], [n], value=numpy_helper.from_array(each)) for n, each in constants.items()),
        helper.make_node("Cast", ["pixels"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["float"], ["mean"], axes=[2, 3], keepdims=0),  # (N, 8)
        helper.make_node("ReduceMean", ["mean"], ["one"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["one", "zero"], ["nothing"]),
        helper.make_node("Unsqueeze", ["nothing", "axes"], ["each"]),
        helper.make_node("Add", ["each", "slots"], ["plate"]),
    ]
    given = helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["n", 8, 16, channels])
    told = helper.make_tensor_value_info("plate", TensorProto.FLOAT, ["n", 10, len(alphabet)])
    return _write(path, nodes, given, told)


def _write(path: Path, nodes: Sequence[onnx.NodeProto], given: onnx.ValueInfoProto, told: onnx.ValueInfoProto) -> Path:
    graph = helper.make_graph(list(nodes), "test", [given], [told])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path
