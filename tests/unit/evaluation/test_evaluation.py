"""Figures of an evaluation: each plate is exact, wrong or unread; intervals, heights, sheet, command."""

import io
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import cv2
import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.countries import main_scheme
from plate_nets.evaluation.calibration import calibration_error, reliability
from plate_nets.evaluation.dataset import COLUMNS, load_dataset
from plate_nets.evaluation.evaluate import Outcome, evaluate_detected, evaluate_given, plate_height
from plate_nets.evaluation.reading_metrics import (
    ReadPlate,
    Share,
    by_format,
    by_height,
    edit_distance,
    summarize,
    threshold_trade,
    withdraw_unsure,
)
from plate_nets.evaluation.report import figures, print_figures, save_curves
from plate_nets.recognition.geometry import crop_plates
from plate_nets.recognition.rectification import box_quads
from plate_nets.types import Box, Boxes, Crops, Frame, Plate, PlateCrops, Reading
from tests.disk import SmallDisk

RUSSIA = main_scheme()


def plate(label: str, text: str, best: str = "", confidence: float = 0.9, height: float = 25.0) -> ReadPlate:
    return ReadPlate("a.jpg", label, height, Reading(text, best or text, confidence))


EXACT = plate("A123BC77", "A123BC77")
WRONG = plate("A123BC77", "A128BC77", height=15)
UNSURE = plate("A123BC777", "", "A123BC77", 0.4, height=55)
MISSED = ReadPlate("a.jpg", "AA12377", 12.0, None)


def test_each_plate_is_exact_wrong_or_unread() -> None:
    summary = summarize([EXACT, WRONG, UNSURE, MISSED])
    assert (summary.exact.hits, summary.wrong.hits, summary.unread.hits) == (1, 1, 2)
    assert summary.exact.value + summary.wrong.value + summary.unread.value == pytest.approx(1)
    assert (summary.wrong_of_read.hits, summary.wrong_of_read.count) == (1, 2)
    assert summary.best_exact.hits == 1
    assert summary.characters == pytest.approx(1 - (0 + 1 + 1 + 7) / (8 + 8 + 9 + 7))


def test_no_plates() -> None:
    summary = summarize([])
    assert summary.plates == 0 and summary.exact.value == 0 and summary.exact.interval == (0.0, 1.0)


def test_wilson_interval() -> None:
    """95 % interval of 95 of 100, by the formula of Wilson (1927)."""
    assert Share(95, 100).interval == pytest.approx((0.8882, 0.9785), abs=2e-4)


def test_plates_are_grouped_by_height_format_and_turn() -> None:
    assert [(name, s.plates) for name, s in by_height([EXACT, WRONG, UNSURE, MISSED]).items()] == [
        ("0 to 20 px", 2),
        ("20 to 30 px", 1),
        ("50 px and more", 1),
    ]
    assert {name: s.plates for name, s in by_format([EXACT, UNSURE, MISSED, plate("QQ", "")], RUSSIA).items()} == {
        "private": 2,
        "taxi": 1,
        "other": 1,
    }


def test_the_threshold_trades_wrong_texts_for_unread_plates() -> None:
    sure, unsure = plate("A123BC77", "A123BC77", confidence=0.95), plate("A123BC77", "A128BC77", confidence=0.5)
    assert threshold_trade([sure, unsure], [0.0, 0.9]) == [(0.0, 0.5, 0.0), (0.9, 0.0, 0.5)]


def test_reliability_counts_texts_by_their_confidence() -> None:
    given = [plate("A123BC77", "A123BC77", confidence=c) for c in (0.92, 0.96, 1.0)]
    given += [plate("A123BC77", "A128BC77", confidence=0.94), plate("A123BC77", "", confidence=0.99), MISSED]
    sure, surest = reliability(given)
    assert (sure.low, sure.high, str(sure.right)[:6], sure.right.count) == (0.9, 0.97, "0.6667", 3)
    assert sure.confidence == pytest.approx(0.94) and (surest.right.hits, surest.right.count) == (1, 1)
    assert calibration_error([sure, surest]) == pytest.approx(0.75 * (0.94 - 2 / 3))
    assert reliability([MISSED]) == [] and calibration_error([]) == 0


def test_the_number_of_lines_of_a_label_determines_its_format() -> None:
    one, two = plate("A123BC77", "A123BC77"), replace(plate("A123BC77", "A123BC77"), lines=2)
    assert list(by_format([one, two], RUSSIA)) == ["private", "square"]


def test_texts_below_the_confidence_are_withdrawn_but_stay_the_best_reading() -> None:
    kept, withdrawn, missed = withdraw_unsure(
        [plate("A123BC77", "A123BC77", confidence=0.9), plate("A123BC77", "A128BC77", confidence=0.89), MISSED], 0.9
    )
    assert kept.exact and withdrawn.unread and missed.unread
    assert withdrawn.best == "A128BC77"


@pytest.mark.parametrize(("a", "b", "edits"), [("", "", 0), ("A", "", 1), ("A77", "A777", 1), ("A12", "B12", 1)])
def test_edit_distance(a: str, b: str, edits: int) -> None:
    assert edit_distance(a, b) == edit_distance(b, a) == edits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One photo with two plates, only one of them with a text, and a faulty row."""
    (tmp_path / "images").mkdir()
    cv2.imwrite(str(tmp_path / "images" / "a.png"), np.full((100, 200, 3), 90, np.uint8))
    rows = [
        "a.png,20,20,80,36,A123BC77,20,20,80,22,80,36,20,34",
        "a.png,120,60,170,70,,,,,,,,,",
        "b.png,1,1,2,2,,,,,,,,,",
    ]
    (tmp_path / "labels.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    return tmp_path


def cut(frame: Frame, boxes: Boxes) -> PlateCrops[Crops]:
    crops = crop_plates(frame, boxes, 0.1)
    return PlateCrops(crops, box_quads(boxes).reshape(-1, 8), crops[:0], crops)


def read_crops(cut: PlateCrops[Crops]) -> list[Reading]:
    return [Reading("A123BC77", "A123BC77", 1.0)] * len(cut.crops)


def test_given_boxes(folder: Path) -> None:
    dataset = load_dataset(folder)
    outcome = evaluate_given(dataset.photos(), cut, read_crops, RUSSIA)
    assert [p.exact for p in outcome.plates] == [True]
    # two corners of the box (20, 20) and (80, 36) are 2 px off the labelled ones; the plate is 14 px high
    assert outcome.plates[0].turn == pytest.approx(np.degrees(np.arctan(2 / 60)))
    assert outcome.plates[0].corner_errors == pytest.approx((0, 2 / 14, 0, 2 / 14))
    values = figures(outcome, 0.5, [(2, 1), (0, 0), (1, 0), (0, 0)])
    assert values["by_turn"]["turned up to 3 degrees"]["corner_errors"] == pytest.approx((1 / 14, 2 / 14))
    assert values["plate_free"] == {
        "pictures": 4,
        "boxes_per_picture": 0.75,
        "texts_per_picture": 0.25,
        "with_box": 0.5,
        "with_text": 0.25,
    }
    assert outcome.left_out == 1
    assert plate_height(dataset.labels[0]) == pytest.approx(14)
    assert plate_height(dataset.labels[1]) == pytest.approx(10)


def test_many_plates_of_one_photo_are_read_in_parts(folder: Path) -> None:
    read = Mock(side_effect=read_crops)
    ((photo, (label, *_)),) = load_dataset(folder).photos()
    outcome = evaluate_given([(photo, (label,) * 150)], cut, read, RUSSIA)
    sizes = [len(each.args[0].crops) for each in read.call_args_list]
    assert (sizes, len(outcome.plates), outcome.crops) == ([64, 64, 22], 150, [])
    assert len(evaluate_given([(photo, (label,) * 150)], cut, read, RUSSIA, keep_crops=True).crops) == 150


def test_a_plate_that_is_not_found_is_unread_and_counts_twice_if_it_is_labelled_twice(folder: Path) -> None:
    ((photo, (label, *_)),) = load_dataset(folder).photos()
    assert label.quad is not None
    twice = (label, replace(label, quad=label.quad.copy()))
    outcome = evaluate_detected([(photo, twice)], cut, lambda _: [], RUSSIA, score_threshold=0.5)
    assert [plate.unread for plate in outcome.plates] == [True, True]
    assert figures(outcome, 0.5, ())["detection"]["recall"] == 0


def test_detected_boxes(folder: Path) -> None:
    def read(_: Frame) -> list[Plate]:
        return [
            Plate(Box(21, 20, 81, 36), 0.9, Reading("A128BC77", "A128BC77", 0.99)),
            Plate(Box(120, 60, 170, 70), 0.2, Reading("", "", 0.0)),
        ]

    outcome = evaluate_detected(load_dataset(folder).photos(), cut, read, RUSSIA, score_threshold=0.5)
    assert [p.wrong for p in outcome.plates] == [True]
    values = figures(outcome, 0.5, ())
    assert values["detection"]["recall"] == 0.5
    assert values["detection"]["precision"] == 1.0
    assert values["detection"]["ap50"] == pytest.approx(1.0)
    beside = {row["score"]: row["beside_a_photo"] for row in values["detection"]["by_score"]}
    assert beside == dict.fromkeys(beside, 0.0)
    assert values["wrong"] == 1.0
    save_curves(folder / "curves.png", outcome.pictures, [(0.0, 1.0, 0.0)], reliability(outcome.plates), 0.15)
    assert cv2.imread(str(folder / "curves.png")) is not None


@pytest.mark.parametrize(
    ("boxes", "options"), [("given", ()), ("detected", ()), ("detected", ("--scheme", "latin", "--sure", "0.8"))]
)
def test_command(folder: Path, boxes: str, options: tuple[str, ...]) -> None:
    path = folder / "figures.json"
    arguments = ["evaluate", str(folder), "--boxes", boxes, "--json", str(path), "--worst", str(folder / "worst")]
    result = CliRunner().invoke(app, [*arguments, *options])
    assert result.exit_code == 0, result.output
    values = json.loads(path.read_text())
    assert values["plates"] == 1
    assert values["exact"] + values["wrong"] + values["unread"] == pytest.approx(1)
    assert "characters" in values
    assert "1 row left out" in result.output
    assert cv2.imread(str(folder / "worst" / "worst.png")) is not None


@pytest.mark.parametrize("boxes", ["given", "detected"])
def test_plate_free_pictures_are_measured_and_a_bad_one_is_left_out(folder: Path, boxes: str) -> None:
    free = folder / "free"
    free.mkdir()
    cv2.imwrite(str(free / "a.png"), np.full((100, 200, 3), 90, np.uint8))
    (free / "bad.jpg").write_bytes(b"nonsense")
    command = ["evaluate", str(folder), "--boxes", boxes, "--plate-free", str(free), "--json", "-"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["plate_free"]["pictures"] == 1
    assert "1 plate-free picture left out: bad.jpg: cannot be opened as a picture: image: expected " in result.stderr
    assert result.stderr.endswith(", got 8 bytes of something else\n")
    strict = CliRunner().invoke(app, [*command, "--strict"])
    assert strict.exit_code == 2


def test_the_figures_fit_into_eighty_columns() -> None:
    plates = [replace(each, turn=12.0, corner_errors=(0.06,) * 4) for each in (EXACT, WRONG, UNSURE, MISSED)] * 5000
    values = figures(Outcome(RUSSIA, plates), 0.5, ())
    console = Console(width=80, record=True, file=io.StringIO())
    print_figures(console, values, threshold_trade(plates, [0.5]), reliability(plates))
    shown = console.export_text()
    assert "…" not in shown
    (row,) = (line for line in shown.splitlines() if line.split()[:2] == ["all", "20000"])
    whole = values["exact_interval"]
    assert row.split()[2:] == [
        *("0.2500", f"{whole[0]:.3f}", "to", f"{whole[1]:.3f}", "0.2500", "0.5000"),
        *(f"{values[name]:.4f}" for name in ("best_exact", "characters")),
    ]


@pytest.mark.parametrize(("option", "name"), [("--json", "x"), ("--worst", "x"), ("--curves", "x"), ("--curves", "")])
def test_figures_are_printed_even_if_a_file_cannot_be_written(folder: Path, option: str, name: str) -> None:
    (folder / "file.none").touch()
    result = CliRunner().invoke(
        app, ["evaluate", str(folder), "--boxes", "given", option, str(folder / "file.none" / name)]
    )
    assert result.exit_code == (2 if name else 0)
    assert "1 row left out" in result.stdout
    assert bool(name) is result.stderr.splitlines()[-1].startswith("plates: ")


@pytest.mark.parametrize("option", ["--json", "--worst", "--curves"])
def test_a_full_disk_is_reported_for_the_file_and_leaves_no_part_of_it(
    folder: Path, small_disk: SmallDisk, option: str
) -> None:
    small_disk.fill()
    result = CliRunner().invoke(app, ["evaluate", str(folder), option, str(small_disk.path / "x")])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"plates: {small_disk.path}/x")
    assert result.stderr.endswith("No space left on device\n")
    assert not [each for each in small_disk.path.rglob("*") if each.is_file() and each.name != "filling"]
