"""Plates read again as a distant camera sees them: reduced and coded."""

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
from plate_nets.evaluation.dataset import Label, load_dataset
from plate_nets.evaluation.degradation import HEIGHTS, QUALITIES, Cell, evaluate_degraded, shrink
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


def test_the_table_of_all_heights_fits_80_columns() -> None:
    cells = [
        {"quality": quality, "height": height, "sure": 100, "right_of_sure": 0.987, "coverage": 0.951}
        for quality in QUALITIES
        for height in HEIGHTS
    ]
    gates = [
        {"quality": quality, "least_confidence": gate, "wrong": 0.017, "without_text": 0.709}
        for quality in QUALITIES
        for gate in GATES
    ]
    console = Console(width=80, file=io.StringIO())
    print_degradation(console, {"cells": cells, "worst": 0.987, "gates": gates})
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert shown.count("0.987") == len(cells) + 1 and shown.count("(0.95)") == len(cells)
    assert "…" not in shown and all(f"\n JPEG {quality} " in shown for quality in QUALITIES)


def test_a_reduced_photo_has_its_plate_at_the_given_height() -> None:
    quad = np.array([[10, 10], [90, 14], [90, 34], [10, 30]], np.float32)
    label = Label(Path("a.png"), Box(10, 10, 90, 34), "A123BC77", quad)
    small, boxes = shrink(np.zeros((100, 200, 3), np.uint8), label, 10)
    assert small.shape == (50, 100, 3)
    assert boxes.tolist() == [[5, 5, 45, 17]]


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

    cells = evaluate_degraded(photos, cut, read)
    assert [(cell.height, cell.quality, len(cell.plates)) for cell in cells] == [
        (height, quality, int(height < 16)) for quality in QUALITIES for height in HEIGHTS
    ]
    assert heights == pytest.approx([8, 10, 12, 14] * 2, abs=0.1)
    assert plate_height(photos[0][1][0]) == 16


def test_a_plate_at_the_edge_of_the_photo_is_read(folder: Path, reader: LocalReader) -> None:
    row = "a.png,-20,20,40,36,A123BC77,-20,20,40,20,40,36,-20,36\n"
    (folder / "labels.csv").write_text("file,xmin,ymin,xmax,ymax,text,x1,y1,x2,y2,x3,y3,x4,y4\n" + row)
    cells = evaluate_degraded(load_dataset(folder).photos(), reader.cut, lambda _: [Reading("", "A123BC77", 0.1)])
    assert [len(cell.plates) for cell in cells if cell.height < 16] == [1] * 8


def test_a_cell_with_few_sure_texts_is_not_judged(tmp_path: Path) -> None:
    def read(label: str, text: str) -> ReadPlate:
        return ReadPlate("a.png", label, 10.0, Reading(text, text or "A", 0.9 if text else 0.2))

    right, wrong, unread = read("A123BC77", "A123BC77"), read("A123BC77", "A128BC77"), read("A123BC77", "")
    cells = [
        Cell(10, 90, [right] * 19 + [wrong] + [unread] * 20),
        Cell(8, 90, [wrong] * 19 + [unread]),
        Cell(6, 90, []),
    ]
    values = degradation_figures(cells)
    assert values["worst"] == pytest.approx(0.95)
    assert values["cells"][0] == {
        "quality": 90,
        "height": 10,
        "plates": 40,
        "sure": 20,
        "right_of_sure": pytest.approx(0.95),
        "coverage": pytest.approx(19 / 40),
    }
    assert values["cells"][2]["right_of_sure"] is None
    at_half, *_, at_most = gate_figures(cells)  # of 60 plates 20 are wrong; all 39 texts have a confidence of 0.9
    assert (at_half["quality"], at_half["least_confidence"]) == (90, 0.5)
    assert (at_half["wrong"], at_half["without_text"]) == pytest.approx((20 / 60, 21 / 60))
    assert (at_most["wrong"], at_most["without_text"]) == (0, 1)
    save_degradation(tmp_path / "plot.png", cells)
    assert cv2.imread(str(tmp_path / "plot.png")) is not None


def test_the_command_prints_one_row_per_quality(folder: Path) -> None:
    result = CliRunner().invoke(app, ["evaluate", str(folder), "--degrade", "--json", "-"])
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert {row["quality"] for row in values["cells"]} == {*QUALITIES}
    assert "cost of a threshold, per 1,000 plates" in result.stderr
    costs = values["gates"]
    for fewer, more in pairwise(row for row in costs if row["quality"] == 40):
        assert fewer["wrong"] >= more["wrong"] and fewer["without_text"] <= more["without_text"]
