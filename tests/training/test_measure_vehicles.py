"""How well vehicles are found, beside their teacher: what counts, and the command on empty pictures."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file

from plate_nets.evaluation.detection_metrics import average_precision
from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.types import Box, Vehicle
from tests.commands import invoke
from tests.frames import Placed, compose
from training.detector.measure_vehicles import compared, main, print_figures, save_sheet
from training.detector.names import to_package
from training.detector.objects import Objects
from training.detector.pictures import Picture
from training.detector.trainer import fresh

CAR, BUS = (10.0, 10.0, 110.0, 90.0), (150.0, 20.0, 310.0, 160.0)


def test_uncertain_objects_of_the_teacher_are_ignored() -> None:
    truth = Objects.of([("car", CAR, 0.9), ("bus", BUS, 0.3)])
    found = (Vehicle(Box(*CAR), "car", 0.8), Vehicle(Box(*BUS), "car", 0.7))
    assert average_precision([compared(found, truth, None)]) == 1
    assert average_precision([compared(found[1:], truth, None)]) == 0
    cars = compared(found, truth, "car")
    assert (len(cars.boxes), len(cars.truth), len(cars.ignored)) == (2, 1, 0), "the bus was taken for a car"


def test_a_table_has_each_type(capsys: pytest.CaptureFixture[str]) -> None:
    truth = Objects.of([("car", CAR, 0.9)])
    found: tuple[Vehicle, ...] = (Vehicle(Box(*CAR), "car", 0.8),)
    print_figures(Console(width=120), {"weights": [(found, truth)], "teacher": [((), truth)]})
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert rows["car"][1:] == ["1", "1.0000", "1.0000", "0.0000", "0.0000"] and "bus" in rows


def test_a_sheet_shows_plates_with_and_without_a_vehicle(tmp_path: Path) -> None:
    photo = tmp_path / "a.png"
    cv2.imwrite(str(photo), compose(240, 320, [Placed("A123BC77", 60, 150)]))
    picture = Picture(photo, np.array([[60, 150, 154, 174], [240, 10, 300, 30]], np.float32), True)
    own = save_sheet(tmp_path / "sheet.png", [picture], lambda *_: (Vehicle(Box(20, 20, 220, 200), "car", 0.9),), 5)
    sheet = cv2.imread(str(tmp_path / "sheet.png"))
    assert own == 1 and sheet.shape == (240, 1200, 3)
    assert save_sheet(tmp_path / "sheet.png", [picture], lambda *_: (), 1) == 0


@pytest.mark.slow
def test_the_command_measures_weights_and_their_teacher(tmp_path: Path) -> None:
    """`python -m training.detector.measure_vehicles` with networks that find nothing."""
    (tmp_path / "data" / "images").mkdir(parents=True)
    cv2.imwrite(str(tmp_path / "data" / "images" / "vk_1.png"), compose(240, 320, [Placed("A123BC77", 60, 80)]))
    rows = "file,xmin,ymin,xmax,ymax,text\nvk_1.png,60,80,154,104,A123BC77\n"
    (tmp_path / "data" / "labels.csv").write_text(rows, encoding="utf-8")
    torch.manual_seed(0)
    coco, own = YOLOv5n(80, "silu", vehicles=False), YOLOv5n()
    for head in (coco.detect, own.detect, own.vehicles):
        assert head is not None
        fresh(head)
    save_file(to_package(coco.state_dict()), tmp_path / "coco.safetensors")
    save_weights(own, tmp_path / "yolo.safetensors", {})
    options = ["--vehicles", tmp_path / "coco.safetensors", "--data", tmp_path / "data", "--long-side", 320]
    options += ["--holdout", 0, "--most", 1, "--sheet", tmp_path / "sheet.png"]
    done = invoke(main, tmp_path / "yolo.safetensors", *options)
    assert done.exit_code == 0, done.output
    assert "data, 1 photos, 320 px" in done.output and (tmp_path / "sheet.png").is_file()
