"""Label files: what is usable, and what is reported about the rest."""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.common.errors import DatasetError
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import COLUMNS, REQUIRED, load_dataset, read_photo
from tests import bombs

GOOD = "a.png,1,2,30,12,A123BC77,1,2,30,2,30,12,1,12"


def write(folder: Path, *rows: str, header: str = ",".join(COLUMNS)) -> Path:
    (folder / "images").mkdir(exist_ok=True)
    cv2.imwrite(str(folder / "images" / "a.png"), np.zeros((40, 60, 3), np.uint8))
    (folder / "images" / "broken.png").write_bytes(b"no picture")
    (folder / "images" / "huge.png").write_bytes(bombs.png(bombs.header(50_000), bombs.IDAT, bombs.IEND))
    (folder / "labels.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return folder


def test_valid_rows_are_loaded(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path, GOOD, "a.png,5,5,9,9,,,,,,,,,"))
    first, second = dataset.labels
    assert first.text == "A123BC77" and first.quad is not None and first.quad.shape == (4, 2)
    assert second.text == "" and second.quad is None
    assert [len(labels) for _, labels in dataset.photos()] == [2]
    assert read_photo(first.photo).shape == (40, 60, 3)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("a.png,1,2,1,12,,,,,,,,,", "box without area"),
        ("a.png,100,2,130,12,,,,,,,,,", "outside the photo of 60x40"),
        ("a.png,1,2,x,12,,,,,,,,,", "expected numbers"),
        ("a.png,1,2,nan,12,,,,,,,,,", "not finite"),
        ("a.png,-1e300,2,1e300,12,,,,,,,,,", "expected coordinates of at most 6,250,000 px, got 1e+300"),
        ("a.png,1,2,30,12,,1,2,3,4,5,6,7,-1e30", "expected coordinates of at most 6,250,000 px, got 1e+30"),
        ("a.png,1,2,30,12,,1,2,3,,,,,", "expected 8 corner coordinates"),
        ("a.png,1,2,30,12,A123QQ77,,,,,,,,", "unknown character 'Q'"),
        ("none.png,1,2,30,12,,,,,,,,,", "missing or cannot be opened"),
        ("broken.png,1,2,30,12,,,,,,,,,", "missing or cannot be opened"),
        ("../images/a.png,1,2,30,12,,,,,,,,,", "expected a photo below images/"),
        ("/etc/passwd,1,2,30,12,,,,,,,,,", "expected a photo below images/"),
        ("huge.png,1,2,30,12,,,,,,,,,", "missing or cannot be opened"),
    ],
)
def test_faulty_row_is_named_and_left_out(tmp_path: Path, row: str, why: str) -> None:
    folder = write(tmp_path, GOOD, row)
    dataset = load_dataset(folder, symbols=main_scheme().alphabet)
    assert len(dataset.labels) == 1
    (fault,) = dataset.faults
    assert why in str(fault) and "labels.csv:3" in str(fault)
    with pytest.raises(DatasetError, match=r"labels\.csv:3"):
        load_dataset(folder, symbols=main_scheme().alphabet, strict=True)


def test_only_the_first_of_a_million_faulty_rows_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    long = "\0" * 100_000
    rows = [GOOD, f"{long},1,2,3,4,", f"a.png,{long},2,3,4,", *["none.png,1,2,30,12,"] * 1000]
    dataset = load_dataset(write(tmp_path, *rows))
    assert (len(dataset.labels), len(dataset.faults)) == (1, 1002)
    assert len(caplog.messages) == 101
    assert caplog.messages[-1] == f"{tmp_path}/labels.csv: left out 902 more rows"
    assert max(len(str(each)) for each in dataset.faults) < 1000


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
def test_labels_that_are_not_a_file_are_reported(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path) / "labels.csv"
    path.unlink()
    {"fifo": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": Path.mkdir}[kind](path)
    with pytest.raises(DatasetError, match=r"labels\.csv: is not a file$"):
        load_dataset(tmp_path)


def test_missing_column(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="missing column text"):
        load_dataset(write(tmp_path, header=",".join(c for c in COLUMNS if c != "text")))


def test_corner_columns_may_be_left_out(tmp_path: Path) -> None:
    (label,) = load_dataset(write(tmp_path, "a.png,1,2,30,12,A123BC77", header=",".join(REQUIRED))).labels
    assert (label.text, label.quad) == ("A123BC77", None)


def test_a_table_of_a_spreadsheet_begins_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert len(load_dataset(write(tmp_path, GOOD, header="\ufeff" + ",".join(COLUMNS))).labels) == 1


@pytest.mark.parametrize("row", [GOOD.replace("A123BC77", "\udcff"), GOOD.replace("A123BC77", "A" * 200_000)])
def test_an_unreadable_table_gives_one_clear_error(tmp_path: Path, row: str) -> None:
    folder = write(tmp_path)
    (folder / "labels.csv").write_bytes("\n".join((",".join(COLUMNS), GOOD, row)).encode("utf-8", "surrogateescape"))
    with pytest.raises(DatasetError, match=r"labels\.csv: expected CSV in UTF-8 after line \d: "):
        load_dataset(folder)


def test_no_folder_and_no_rows(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file"):
        load_dataset(tmp_path / "none")
    with pytest.raises(DatasetError, match="no usable row"):
        load_dataset(write(tmp_path))
