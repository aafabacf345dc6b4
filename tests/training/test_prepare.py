"""The first stage of a recipe: corners are found, texts held out, and faults of a labelled folder told in a line."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
import pytest

from plate_nets.common.errors import DatasetError
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.quads import quad_size
from plate_nets.types import Box
from tests.frames import Placed, compose
from tests.other_readers import ToldReader
from tests.real_plates import write_labels
from training.recipe.prepare import is_held_out, prepared, taught
from training.recipe.recipe import DataSet

RUSSIA = main_scheme()
NAMES = [f"A{number}BC77" for number in range(123, 128)]
"""By their hashes, none of these is held out."""


def write_folder(folder: Path, rows: Sequence[str], columns: str = "") -> Path:
    """A labelled folder; the photo of a row shows the plate A123BC77, or that of its text, in 320 x 120 px."""
    shown = {row.split(",")[0]: row.split(",")[5] for row in rows}
    plates = {name: Placed(text if RUSSIA.is_plate(text) else NAMES[0], 60, 40) for name, text in shown.items()}
    return write_labels(folder, {name: compose(120, 320, [plate]) for name, plate in plates.items()}, rows, columns)


def test_loose_boxes_get_the_corners_of_the_plate_and_tight_ones_stay(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "loose", [f"{name}.png,0,0,320,120,{name}" for name in NAMES])
    loose = prepared(RUSSIA, folder, DataSet(boxes="loose"), tmp_path / "out")
    assert [each.label.text for each in loose] == NAMES and not any(each.held_out for each in loose)
    for each in loose:
        assert each.label.quad is not None
        heights, widths = quad_size(each.label.quad[None])
        assert 3.5 < float(widths[0] / heights[0]) < 6, "the plate's corners, not those of the loose box"
    tight = prepared(RUSSIA, folder, DataSet(boxes="tight"), tmp_path / "out")
    assert all(each.label.quad is None and each.label.box == Box(0, 0, 320, 120) for each in tight)


@pytest.mark.parametrize("boxes", ["loose", "tight"])
def test_of_two_labels_for_one_plate_the_later_counts_whatever_their_boxes(
    boxes: Literal["loose", "tight"], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ["a.png,0,0,320,120,A124BC77", "a.png,58,38,157,66,A123BC77"]
    folder = write_folder(tmp_path / "crops", rows)
    with caplog.at_level(logging.WARNING):
        (kept,) = prepared(RUSSIA, folder, DataSet(boxes=boxes, held_out=0), tmp_path / "out")
    assert kept.label.text == "A123BC77"
    assert "two labels for one plate, 'A124BC77' and 'A123BC77'; the later one counts" in caplog.text


def test_prepared_plates_are_kept_with_country_and_lines_and_follow_their_folder(tmp_path: Path) -> None:
    rows = ["a.png,0,0,320,120,A123BC77,1,,RU", "b.png,0,0,320,120,A124BC77,,us,"]
    folder = write_folder(tmp_path / "one", rows, ",lines,country,note")
    first = prepared(RUSSIA, folder, DataSet(), tmp_path / "out")
    assert [(each.country, each.lines) for each in first] == [("", 1), ("us", 1)]
    (tmp_path / "another machine").mkdir()
    moved = folder.rename(tmp_path / "another machine" / "one")
    again = prepared(RUSSIA, moved, DataSet(), tmp_path / "out")
    assert [each.label.photo for each in again] == [moved / "images" / f"{name}.png" for name in "ab"]
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_texts_are_held_out_by_their_hash_or_as_their_source_says(tmp_path: Path) -> None:
    rows = [f"{number}.png,0,0,320,120,A{number}BC77,{note}" for number, note in ((123, "train"), (124, "valid"))]
    folder = write_folder(tmp_path / "crops", [*rows, "again.png,0,0,320,120,A124BC77,train"], ",note")
    found = prepared(RUSSIA, folder, DataSet(), tmp_path / "out")
    assert [each.held_out for each in found] == [False, True, True], "a text is held out in all photos"
    assert all(each.held_out for each in prepared(RUSSIA, folder, DataSet(use="check"), tmp_path / "out"))
    shares = [np.mean([is_held_out(str(text), share) for text in range(1000)]) for share in (0, 0.1, 0.5, 1)]
    assert shares == pytest.approx([0, 0.1, 0.5, 1], abs=0.04)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("b.png,400,0,500,120,A124BC77,", "b.png): box 400,0,500,120 outside the photo of 320x120"),
        ("b.png,0,0,320,120,QQ124,", "b.png): unknown character 'Q' in 'QQ124'; expected"),
    ],
)
def test_a_faulty_row_is_left_out_with_a_line(
    row: str, fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_folder(tmp_path / "crops", ["a.png,0,0,320,120,A123BC77,", row], ",lines")
    with caplog.at_level(logging.WARNING):
        (kept,) = prepared(RUSSIA, folder, DataSet(), tmp_path / "out")
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert line.startswith("left out ") and fault in line
    assert kept.label.text == "A123BC77"


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "empty").mkdir()
    missing = r"labels\.csv: no such file; expected a folder with images/ and labels\.csv"
    with pytest.raises(DatasetError, match=missing):
        prepared(RUSSIA, tmp_path / "empty", DataSet(), tmp_path / "out")
    crops = write_folder(tmp_path / "crops", ["a.png,0,0,320,120,QQ124,three"], ",lines")
    with pytest.raises(DatasetError, match=r"labels\.csv: no usable row \(1 left out\)"):
        prepared(RUSSIA, crops, DataSet(), tmp_path / "out")
    with pytest.raises(DatasetError, match=r"a\.png\): lines: expected 1 or 2, got 'three'"):
        prepared(RUSSIA, crops, DataSet(use="foreign"), tmp_path / "out")


def test_texts_in_other_scripts_are_counted_for_a_reader_that_has_a_class_for_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_folder(tmp_path / "cn", ["a.png,0,0,320,120,京N84E28", "b.png,0,0,320,120,ABC123"])
    with caplog.at_level(logging.INFO):
        prepared(load_scheme("latin"), folder, DataSet(held_out=0), tmp_path / "out")
    assert caplog.messages[-1] == "cn: 2 plates, 0 held out, 1 with signs that the reader does not know"


def test_a_text_on_which_two_readers_agree_becomes_the_label(reader: LocalReader, tmp_path: Path) -> None:
    rows = [f"a.png,60,{top},220,{top + 35}," for top in (40, 160)] + ["a.png,5,5,20,15,X999XX99"]
    folder = write_folder(tmp_path / "boxes", rows)
    frame = compose(240, 320, [Placed("A123BC77", 60, 40), Placed("K456MH99", 60, 160)])
    cv2.imwrite(str(folder / "images" / "a.png"), frame)
    plates = prepared(RUSSIA, folder, DataSet(), tmp_path / "out")
    teacher = ToldReader(["A123BC77", "K456MH98"], [("br", 0.9), ("ro", 0.5)])  # it is only sure of one region
    found = list(taught(frame, plates, reader, teacher))
    assert [(each.label.text, each.country) for each in found] == [("X999XX99", ""), ("A123BC77", "br")]
