"""The table that compares another reader with this one."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import compare, main
from plate_nets.evaluation.onnx_pair import OnnxDetector
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Boxes, Frame
from tests.commands import invoke
from tests.frames import Placed, compose
from tests.other_readers import ToldReader
from tests.real_plates import write_labels

OTHER = ToldReader(["A123BC77"] * 2, [("ro", 0.9)] * 2)
"""Reads the same from every plate."""


class Finder(OnnxDetector):
    """Finds the first of the plates below, and something that is no plate."""

    def __init__(self) -> None:
        pass

    def find(self, frame: Frame) -> Boxes:
        return np.array([[200, 0, 300, 30], [62, 42, 220, 75]], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A labelled folder with one photo of two plates."""
    plates = [Placed("A123BC77", 60, 40), Placed("K456MH99", 60, 160)]
    rows = [f"a.png,{plate.x},{plate.y},{plate.x + 160},{plate.y + 35},{plate.text},ru" for plate in plates]
    return write_labels(tmp_path, {"a.png": compose(240, 320, plates)}, rows, ",country")


def test_each_reader_reads_whole_photos_with_its_own_detector(reader: LocalReader, folder: Path) -> None:
    found = compare(folder, reader, OTHER, Finder())
    assert [answer.text for answer in found.ours] == ["A123BC77", "K456MH99"]
    assert [answer.text for answer in found.other] == ["A123BC77", ""]


def test_both_readers_are_judged_by_the_same_labels(reader: LocalReader, folder: Path) -> None:
    found = compare(folder, reader, OTHER)
    assert [(answer.text, answer.country) for answer in found.ours] == [("A123BC77", "ru"), ("K456MH99", "ru")]
    cells = found.cells()
    assert cells[:2] == [folder.name, "2"]
    expected = ["1.00", "1.00", "0.00", "1.00", "1.00", "0.50", "0.50", "0.00"]
    assert [cell.split()[0] for cell in cells[2:10]] == expected


def test_a_model_that_cannot_be_used_is_named(folder: Path) -> None:
    (folder / "other.onnx").write_bytes(b"?")
    models = ["--model", folder / "other.onnx", "--detector", folder / "none.onnx"]
    done = invoke(main, folder, *models, "--scheme", "russia", "--threads", 1)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: {folder}/other.onnx: ")
    assert len(done.stderr.splitlines()) == 1
