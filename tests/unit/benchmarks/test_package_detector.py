"""Our detector against that of the yolov5 package, each in its own process. No test judges the time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.detector import environment, main
from plate_nets.networks.yolov5 import YOLOv5n
from tests.commands import succeed
from training.detector.names import from_package

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


def test_both_detectors_are_timed_with_the_same_result(tmp_path: Path) -> None:
    report = tmp_path / "detector.json"
    done = succeed(main, "--threads", 1, "--rounds", 1, "--frames", 2, "--json", report)
    found = json.loads(report.read_text(encoding="utf-8"))["detector"]
    assert [row["boxes"] for row in found["rows"]] == [1, 1, 1]
    ours, _, package = (row["ms"] for row in found["rows"])
    assert found["ratio"] == ours / package
    assert "ours over the package's" in done.stdout
