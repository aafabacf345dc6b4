"""Ranges of layers, measured on photos by `python -m training.quantize`."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from plate_nets.contract import LPRNET
from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import load_weights, read_metadata, read_weights, save_weights, weights_path
from plate_nets.networks.conversion.graphs.lprnet import lprnet
from plate_nets.networks.conversion.graphs.yolov5 import yolov5
from plate_nets.networks.conversion.openvino_ir import build
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.quantization import RANGES, quantize
from plate_nets.networks.yolov5 import YOLOv5n
from tests.commands import invoke, succeed
from tests.frames import Placed, compose
from training.quantize import main


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
    assert "on 2 inputs in 2 photos" in succeed(main, weights, "--pictures", pictures, "--count", "2").output

    after = read_weights(weights)
    assert before.keys() == after.keys() and all((before[name] == after[name]).all() for name in before)
    metadata = read_metadata(weights)
    assert metadata["seed"] == "0"
    ranges = json.loads(metadata[RANGES])
    assert 0 <= ranges["x"][0] < ranges["x"][1] <= 1
    assert all(low >= -0.38 for name, (low, _) in ranges.items() if name.startswith("down"))  # the minimum of HardSwish
    load_weights(YOLOv5n(), weights)
    quantize(build(yolov5, weights))


def test_the_inputs_of_the_reader_are_the_plates_of_the_photos(tmp_path: Path) -> None:
    weights = tmp_path / "reader.safetensors"
    weights.write_bytes(weights_path(LPRNET.name).read_bytes())
    cv2.imwrite(str(tmp_path / "1.jpg"), compose(240, 320, [Placed("A123BC77", 40, 60)]))
    done = succeed(main, weights, "--pictures", tmp_path, "--network", LPRNET.name)
    assert "on 1 inputs in 1 photos" in done.output
    ranges = json.loads(read_metadata(weights)[RANGES])
    assert len(ranges) == 26 and all(low == 0 for low, _ in ranges.values())  # the output of ReLUs
    NETWORKS[LPRNET.name].load(main_scheme(), weights)
    quantize(build(lprnet, weights))


def test_without_a_plate_or_a_network_the_weights_stay(tmp_path: Path) -> None:
    weights = tmp_path / "reader.safetensors"
    weights.write_bytes(before := weights_path(LPRNET.name).read_bytes())
    cv2.imwrite(str(tmp_path / "empty.jpg"), np.zeros((240, 320, 3), np.uint8))
    unknown = "--network: expected yolo, yolo_fast, country"
    for network, fault in ((LPRNET.name, "no plate was found"), ("stn", unknown), ("corners", unknown)):
        done = invoke(main, weights, "--pictures", tmp_path, "--network", network)
        assert done.exit_code == 1 and fault in done.output
    assert weights.read_bytes() == before


def test_no_pictures(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    done = invoke(main, weights, "--pictures", tmp_path / "none")
    assert done.exit_code == 1 and "contains no picture" in done.output
