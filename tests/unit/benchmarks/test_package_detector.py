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

torch.manual_seed(0)
text = (Path(yolov5.__file__).parent / "models" / "yolov5n.yaml").read_text(encoding="utf-8")
model = DetectionModel(yaml.safe_load(text) | {"activation": sys.argv[2]}, ch=3, nc=1).eval()
for key, buffer in model.named_buffers():
    if key.endswith("running_var"):
        buffer.uniform_(0.5, 1.5)
    elif key.endswith("running_mean"):
        buffer.uniform_(-0.2, 0.2)
tensors = {f"weights/{key}": value for key, value in model.state_dict().items()}
for hw in ((640, 384), (416, 416)):
    picture = torch.rand(2, 3, *hw)
    with torch.no_grad():
        rows = model(picture)[0]
    tensors |= {f"picture/{hw}": picture, f"rows/{hw}": rows}
save_file(tensors, sys.argv[1])
"""


@pytest.mark.parametrize(("activation", "package"), [("hardswish", "nn.Hardswish()"), ("silu", "nn.SiLU()")])
def test_equal_weights_give_equal_boxes(tmp_path: Path, activation: str, package: str) -> None:
    file = tmp_path / "package.safetensors"
    settings = tmp_path / "settings"
    command = [sys.executable, "-W", "ignore", "-c", PACKAGE, str(file), package]
    subprocess.run(command, env=environment(settings), check=True)
    tensors = load_file(file)
    weights = {key.removeprefix("weights/"): value for key, value in tensors.items() if key.startswith("weights/")}
    ours = YOLOv5n(activation=activation, vehicles=False).eval()
    ours.load_state_dict(from_package(weights))
    for hw in ((640, 384), (416, 416)):
        with torch.no_grad():
            rows = ours(tensors[f"picture/{hw}"])
        assert rows.shape == tensors[f"rows/{hw}"].shape
        assert float((rows - tensors[f"rows/{hw}"]).abs().max()) <= 1e-4


def test_names_map_both_ways() -> None:
    state = YOLOv5n(vehicles=False).state_dict()
    package = to_package(state)
    assert all(key.startswith("model.") for key in package)
    assert from_package(package).keys() == state.keys()
