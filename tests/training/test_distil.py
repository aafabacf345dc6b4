"""A detector that learns to give another one's outputs."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from plate_nets.common.errors import WeightsError
from plate_nets.networks.checkpoint import load_weights, read_metadata, save_weights
from plate_nets.networks.yolov5 import YOLOv5n
from tests.commands import invoke
from tests.frames import Placed, compose
from training.detector.distil import SIZE, Parts, distance, main

PICTURES = 3


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for index in range(PICTURES):
        cv2.imwrite(str(folder / f"{index}.jpg"), compose(240, 320, [Placed("A123BC77", 40 + 20 * index, 60)]))
    return folder


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights with SiLU, which weights of 0.2 do not declare."""
    torch.manual_seed(0)
    network = YOLOv5n(activation="silu")
    path = tmp_path_factory.mktemp("teacher") / "yolo.safetensors"
    save_weights(network, path, {})
    return path


def test_parts_are_a_function_of_the_step(pictures: Path) -> None:
    parts = Parts(sorted(pictures.iterdir()), batch=2, seed=3)
    assert torch.equal(parts[5], parts[5]) and not torch.equal(parts[5], parts[6])
    assert parts[5].shape == (2, 3, *SIZE) and parts[5].min() >= 0 and parts[5].max() <= 1


def test_the_distance_counts_the_boxes_that_the_teacher_is_sure_of() -> None:
    wanted = torch.full((1, 18, 4, 4), -6.0)
    assert distance(wanted, wanted) == 0
    elsewhere = wanted.clone()
    elsewhere[:, 0] += 2  # a place without a box
    assert distance(elsewhere, wanted) == 0
    wanted[:, 4] = 6.0
    assert distance(elsewhere, wanted) > 1


def test_the_training_learns_and_can_be_resumed(pictures: Path, teacher: Path, tmp_path: Path) -> None:
    options = ["--pictures", pictures, "--teacher", teacher, "--out", tmp_path, "--batch", 1, "--seed", 3]
    options += ["--workers", "0", "--every", "2"]
    for steps in ("2", "4"):
        done = invoke(main, *options, "--steps", steps, *(["--resume"] if steps == "4" else []))
        assert done.exit_code == 0, done.output
    weights = tmp_path / "last" / "yolo.safetensors"
    assert read_metadata(weights)["steps"] == "4"
    student, former = YOLOv5n(), YOLOv5n(activation="silu")
    load_weights(student, weights)
    load_weights(former, teacher)
    assert not np.allclose(student.down1.conv.weight.detach(), former.down1.conv.weight.detach())


def test_weights_of_another_activation_are_refused(teacher: Path) -> None:
    with pytest.raises(WeightsError, match=r"activation silu, expected hardswish; .*training\.detector\.distil"):
        load_weights(YOLOv5n(), teacher)


def test_no_pictures(teacher: Path, tmp_path: Path) -> None:
    done = invoke(main, "--pictures", tmp_path, "--teacher", teacher, "--out", tmp_path / "out")
    assert done.exit_code == 1 and "contains no picture" in done.output
