"""Plates read again as a distant camera sees them: reduced, coded, blurred, dark."""

import io
import json
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.evaluation.coding import code_h264, code_jpeg, moved
from plate_nets.evaluation.dataset import Label, load_dataset
from plate_nets.evaluation.degradation import DEGRADATIONS, HEIGHTS, Cell, evaluate_degraded, shrink
from plate_nets.evaluation.degradation_report import (
    GATES,
    degradation_figures,
    gate_figures,
    print_degradation,
    save_degradation,
)
from plate_nets.evaluation.evaluate import plate_height
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Box, Boxes, Crops, Frame, PlateCrops, Reading

PICTURE = np.asarray(
    cv2.GaussianBlur(np.random.default_rng(0).integers(0, 255, (61, 121, 3), np.uint8), (0, 0), 3), np.uint8
)


def test_a_coded_picture_differs_only_by_the_loss_of_the_codec() -> None:
    """Odd sizes work; coarser coding loses more."""
    fine, coarse = (code_h264([PICTURE], crf)[-1] for crf in (10, 45))
    assert fine.shape == PICTURE.shape
    fine_loss, coarse_loss = (np.abs(each.astype(int) - PICTURE).mean() for each in (fine, coarse))
    assert fine_loss < coarse_loss
    assert code_jpeg(PICTURE, 40).shape == PICTURE.shape


def test_the_table_of_all_heights_fits_80_columns() -> None:
    cells = [
        {"degradation": name, "height": height, "sure": 100, "right_of_sure": 0.987, "coverage": 0.951}
        for name in DEGRADATIONS
        for height in HEIGHTS
    ]
    gates = [
        {"degradation": name, "least_confidence": gate, "wrong": 0.017, "without_text": 0.709}
        for name in DEGRADATIONS
        for gate in GATES
    ]
    console = Console(width=80, file=io.StringIO())
    print_degradation(console, {"cells": cells, "worst": 0.987, "gates": gates})
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert shown.count("0.987") == len(cells) + 1 and shown.count("(0.95)") == len(cells)
    assert "…" not in shown and all(f"\n {name} " in shown for name in DEGRADATIONS)


def test_coding_keeps_the_number_and_order_of_frames() -> None:
    frames = [moved(PICTURE, right, 0) for right in (0, 6, 12)]
    coded = code_h264(frames, 10)
    assert len(coded) == 3
    losses = np.array([[np.abs(a.astype(int) - b).mean() for b in frames] for a in coded])
    assert (losses.argmin(axis=1) == [0, 1, 2]).all()


def test_a_reduced_photo_has_its_plate_at_the_given_height() -> None:
    quad = np.array([[10, 10], [90, 14], [90, 34], [10, 30]], np.float32)
    label = Label(Path("a.png"), Box(10, 10, 90, 34), "A123BC77", quad)
    small, boxes = shrink(np.zeros((100, 200, 3), np.uint8), label, 10)
    assert small.shape == (50, 100, 3)
    assert boxes.tolist() == [[5, 5, 45, 17]]


@pytest.mark.parametrize("name", DEGRADATIONS)
def test_a_degradation_is_the_same_in_every_run(name: str) -> None:
    first, again = (DEGRADATIONS[name](PICTURE, 12.0, np.random.default_rng(3)) for _ in range(2))
    assert first.shape == PICTURE.shape and first.dtype == np.uint8
    assert (first == again).all()
    assert (first != PICTURE).any()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One photo with a plate of 16 px and one without a text."""
    (tmp_path / "images").mkdir()
    cv2.imwrite(str(tmp_path / "images" / "a.png"), np.full((100, 200, 3), 90, np.uint8))
    rows = ["a.png,20,20,80,36,A123BC77,20,20,80,20,80,36,20,36", "a.png,120,60,170,70,,,,,,,,,"]
    header = "file,xmin,ymin,xmax,ymax,text,x1,y1,x2,y2,x3,y3,x4,y4"
    (tmp_path / "labels.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return tmp_path


def test_each_plate_with_a_text_is_read_in_each_cell_below_its_height(folder: Path) -> None:
    photos = list(load_dataset(folder).photos())
    heights: list[float] = []

    def cut(frame: Frame, boxes: Boxes) -> PlateCrops[Crops]:
        heights.append(float(boxes[0, 3] - boxes[0, 1]))
        crops = np.zeros((1, 3, 24, 94), np.float32)
        return PlateCrops(crops, np.zeros((1, 8), np.float32), crops[:0], crops)

    def read(cut: PlateCrops[Crops]) -> list[Reading]:
        return [Reading("A123BC77", "A123BC77", 0.9)]

    cells = evaluate_degraded(photos, cut, read, (8, 12, 20), ("JPEG 90", "night"))
    assert [(cell.height, cell.degradation, len(cell.plates)) for cell in cells] == [
        (8, "JPEG 90", 1),
        (12, "JPEG 90", 1),
        (20, "JPEG 90", 0),
        (8, "night", 1),
        (12, "night", 1),
        (20, "night", 0),
    ]
    assert heights == pytest.approx([8, 12, 8, 12])
    assert plate_height(photos[0][1][0]) == 16


def test_a_plate_at_the_edge_of_the_photo_is_read(folder: Path, reader: LocalReader) -> None:
    row = "a.png,-20,20,40,36,A123BC77,-20,20,40,20,40,36,-20,36\n"
    (folder / "labels.csv").write_text("file,xmin,ymin,xmax,ymax,text,x1,y1,x2,y2,x3,y3,x4,y4\n" + row)
    (cell,) = evaluate_degraded(
        load_dataset(folder).photos(), reader.cut, lambda _: [Reading("", "A123BC77", 0.1)], (12,), ("night",)
    )
    assert len(cell.plates) == 1


def test_a_cell_with_few_sure_texts_is_not_judged(tmp_path: Path) -> None:
    def read(label: str, text: str) -> ReadPlate:
        return ReadPlate("a.png", label, 10.0, Reading(text, text or "A", 0.9 if text else 0.2))

    right, wrong, unread = read("A123BC77", "A123BC77"), read("A123BC77", "A128BC77"), read("A123BC77", "")
    cells = [
        Cell(10, "JPEG 90", [right] * 19 + [wrong] + [unread] * 20),
        Cell(8, "JPEG 90", [wrong] * 19 + [unread]),
        Cell(6, "JPEG 90", []),
    ]
    values = degradation_figures(cells)
    assert values["worst"] == pytest.approx(0.95)
    assert values["cells"][0] == {
        "degradation": "JPEG 90",
        "height": 10,
        "plates": 40,
        "sure": 20,
        "right_of_sure": pytest.approx(0.95),
        "coverage": pytest.approx(19 / 40),
    }
    assert values["cells"][2]["right_of_sure"] is None
    at_half, *_, at_most = gate_figures(cells)  # of 60 plates 20 are wrong; all 39 texts have a confidence of 0.9
    assert (at_half["degradation"], at_half["least_confidence"]) == ("JPEG 90", 0.5)
    assert (at_half["wrong"], at_half["without_text"]) == pytest.approx((20 / 60, 21 / 60))
    assert (at_most["wrong"], at_most["without_text"]) == (0, 1)
    save_degradation(tmp_path / "plot.png", cells)
    assert cv2.imread(str(tmp_path / "plot.png")) is not None


def test_the_command_prints_one_row_per_degradation(folder: Path) -> None:
    result = CliRunner().invoke(app, ["evaluate", str(folder), "--degrade", "--quick", "--json", "-"])
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert {row["degradation"] for row in values["cells"]} == {"JPEG 90", "JPEG 40"}
    assert "cost of a threshold, per 1,000 plates" in result.stderr
    costs = values["gates"]
    for fewer, more in pairwise(row for row in costs if row["degradation"] == "JPEG 40"):
        assert fewer["wrong"] >= more["wrong"] and fewer["without_text"] <= more["without_text"]
