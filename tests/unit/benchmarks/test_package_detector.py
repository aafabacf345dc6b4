"""Our YOLOv5n against that of the yolov5 package, each in its own process."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.detector import environment
from plate_nets.networks.yolov5 import YOLOv5n
from training.detector.names import from_package, to_package

pytestmark = pytest.mark.slow

PACKAGE = """
import sys
from pathlib import Path
import torch, yaml, yolov5
from safetensors.torch import save_file
from yolov5.models.yolo import DetectionModel

text = (Path(yolov5.__file__).parent / "models" / "yolov5n.yaml").read_text(encoding="utf-8")
tensors = {}
for activation, module in (("hardswish", "nn.Hardswish()"), ("silu", "nn.SiLU()")):
    torch.manual_seed(0)
    model = DetectionModel(yaml.safe_load(text) | {"activation": module}, ch=3, nc=1).eval()
    for key, buffer in model.named_buffers():
        if key.endswith("running_var"):
            buffer.uniform_(0.5, 1.5)
        elif key.endswith("running_mean"):
            buffer.uniform_(-0.2, 0.2)
    tensors |= {f"{activation}/weights/{key}": value for key, value in model.state_dict().items()}
    for hw in ((640, 384), (416, 416)):
        picture = torch.rand(1, 3, *hw)
        with torch.no_grad():
            rows = model(picture)[0]
        tensors |= {f"{activation}/picture/{hw}": picture, f"{activation}/rows/{hw}": rows}
save_file(tensors, sys.argv[1])
"""


def test_equal_weights_give_equal_boxes(tmp_path: Path) -> None:
    file = tmp_path / "package.safetensors"
    command = [sys.executable, "-W", "ignore", "-c", PACKAGE, str(file)]
    subprocess.run(command, env=environment(tmp_path / "settings"), check=True)
    tensors = load_file(file)
    for activation in ("hardswish", "silu"):
        prefix = f"{activation}/weights/"
        weights = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        ours = YOLOv5n(activation=activation, vehicles=False).eval()
        ours.load_state_dict(from_package(weights))
        for hw in ((640, 384), (416, 416)):
            with torch.no_grad():
                rows = ours(tensors[f"{activation}/picture/{hw}"])
            assert rows.shape == tensors[f"{activation}/rows/{hw}"].shape
            assert float((rows - tensors[f"{activation}/rows/{hw}"]).abs().max()) <= 1e-4


def test_names_map_both_ways() -> None:
    state = YOLOv5n(vehicles=False).state_dict()
    package = to_package(state)
    assert all(key.startswith("model.") for key in package)
    assert from_package(package).keys() == state.keys()
