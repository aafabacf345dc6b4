"""Regions that a measurement ignores: the file, and their effect on the figures."""

import logging
from pathlib import Path

import numpy as np
import pytest

import training.detector.regions
from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.detection_metrics import Detections
from training.detector.pictures import Picture
from training.detector.regions import read_regions, with_regions

HEADER = "file,xmin,ymin,xmax,ymax"
NONE = np.empty((0, 4), np.float32)


def write(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "regions.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_regions_by_photo(tmp_path: Path) -> None:
    regions = read_regions(write(tmp_path, "a.png,1,2,30,12", "b.png,0,0,5.5,2", "a.png,4,4,9,6"))
    assert sorted(regions) == ["a.png", "b.png"]
    np.testing.assert_array_equal(regions["a.png"], np.array([[1, 2, 30, 12], [4, 4, 9, 6]], np.float32))
    assert read_regions(write(tmp_path)) == {}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("a.png,1,2,x,12", "expected numbers"),
        ("a.png,1,2,30", "expected numbers"),
        ("a.png,1,2,inf,12", "not finite"),
        ("a.png,1,2,1,12", "without area"),
        (",1,2,30,12", "no file name"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str, why: str) -> None:
    with pytest.raises(DatasetError, match=rf"regions\.csv:3 .*{why}"):
        read_regions(write(tmp_path, "a.png,1,2,30,12", row))


def test_no_file_and_no_column(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file"):
        read_regions(tmp_path / "none.csv")
    with pytest.raises(DatasetError, match="missing column ymax"):
        read_regions(write(tmp_path, header="file,xmin,ymin,xmax"))


def test_each_picture_gets_its_regions_and_unused_ones_are_named(caplog: pytest.LogCaptureFixture) -> None:
    regions = {name: np.array([[1, 2, 30, 12]], np.float32) for name in ("b.png", "c.png", "d.png")}
    pictures = [Picture(Path(name), NONE, True) for name in ("a.png", "b.png")]
    empty = Detections(NONE, np.empty(0, np.float32), NONE)
    with caplog.at_level(logging.WARNING):
        first, second = with_regions([empty, empty], pictures, regions)
    assert len(first.ignored) == 0
    np.testing.assert_array_equal(second.ignored, regions["b.png"])
    assert caplog.messages == ["regions of 2 photos that are not measured: c.png, d.png"]


@pytest.mark.parametrize(("name", "photos", "plates"), [("unlabelled.csv", 35, 43), ("unlabelled_ru_dev.csv", 33, 36)])
def test_the_files_in_the_project(name: str, photos: int, plates: int) -> None:
    regions = read_regions(Path(training.detector.regions.__file__).with_name(name))
    assert (len(regions), sum(map(len, regions.values()))) == (photos, plates)
