"""The ranges of a detector's layers, measured on pictures."""

import json
from pathlib import Path

import cv2
import pytest
import torch
from typer.testing import CliRunner

from plate_nets.conversion.graphs.yolov5 import yolov5
from plate_nets.conversion.openvino_ir import build
from plate_nets.nets.checkpoint import load_weights, read_metadata, read_weights, save_weights
from plate_nets.nets.yolov5 import YOLOv5n
from plate_nets.runtimes.quantization import RANGES, quantize
from tests.frames import Placed, compose
from training.detector.quantize import app


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    path = tmp_path / "yolo.safetensors"
    save_weights(YOLOv5n(), path, {"seed": "0"})
    return path


def test_the_ranges_are_written_beside_the_weights(weights: Path, tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for index in range(3):
        cv2.imwrite(str(pictures / f"{index}.jpg"), compose(240, 320, [Placed("A123BC77", 40 + 20 * index, 60)]))
    before = read_weights(weights)
    done = CliRunner().invoke(app, [str(weights), "--pictures", str(pictures), "--count", "2"])
    assert done.exit_code == 0, done.output
    assert "on 2 pictures" in done.output

    after = read_weights(weights)
    assert before.keys() == after.keys() and all((before[name] == after[name]).all() for name in before)
    metadata = read_metadata(weights)
    assert metadata["seed"] == "0"
    ranges = json.loads(metadata[RANGES])
    assert 0 <= ranges["x"][0] < ranges["x"][1] <= 1
    assert all(low >= -0.38 for name, (low, _) in ranges.items() if name.startswith("down"))  # HardSwish's least
    load_weights(YOLOv5n(), weights)
    quantize(build(yolov5, weights))


def test_no_pictures(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    done = CliRunner().invoke(app, [str(weights), "--pictures", str(tmp_path / "none")])
    assert done.exit_code == 1 and "no picture in it" in done.output
