from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.common.errors import DatasetError
from plate_nets.recognition.overlap import iou
from tests.real_plates import write_labels
from training.detector.drawn import draw_picture
from training.detector.pictures import held_out, pictures_of, scene, split_photos
from training.detector.signs import stamp_time, with_signs


def dataset(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    """A labelled folder: rows of file name, box, text."""
    photos = {name: np.full((60, 80, 3), 90, np.uint8) for name, _, _ in rows}
    for number, photo in enumerate(photos.values()):
        photo[:8, :8] = np.random.default_rng(number).integers(0, 256, (8, 8, 3))  # all different
    return write_labels(folder, photos, [",".join(row) for row in rows])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ride_001.mp4_t_1054.jpg", "ride_001"),
        ("ride_001.mp4_t_7.jpg", "ride_001"),
        ("uc3m_00049.jpg", "uc3m_#0"),
        ("uc3m_00050.jpg", "uc3m_#1"),
        ("street.jpg", "street"),
    ],
)
def test_neighbouring_frames_are_one_scene(name: str, expected: str) -> None:
    assert scene(name) == expected


def test_the_held_out_share_is_close_to_the_given_one_and_constant() -> None:
    drawn = [held_out(f"text {number}", 0.2) for number in range(2000)]
    assert 0.17 < np.mean(drawn) < 0.23
    assert drawn == [held_out(f"text {number}", 0.2) for number in range(2000)]
    assert all(held_out(f"text {n}", 0.4) for n, is_out in enumerate(drawn) if is_out)


def test_no_plate_or_scene_is_both_trained_on_and_held_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"vk_{i}.jpg", "10,10,40,20", f"A{rng.integers(60):03}AA77") for i in range(120)]
    rows += [(f"vk_{i}.jpg", "40,30,70,40", f"B{rng.integers(60):03}BB77") for i in range(0, 120, 3)]
    rows += [(f"cam_{i:04}.jpg", "10,10,40,20", "") for i in range(0, 600, 10)]
    texts: dict[str, set[str]] = {}
    for name, _, text in rows:
        texts.setdefault(name, set()).add(text or scene(name))
    train, held = split_photos([dataset(tmp_path / "set", rows)], 0.15)
    sides = [set().union(*(texts[p.photo.name] for p in side)) for side in (train, held)]
    assert all(sides)
    assert not sides[0] & sides[1]
    assert len(train) + len(held) == len(texts)


def test_a_copy_of_a_held_out_photo_is_not_trained_on(tmp_path: Path) -> None:
    names = [f"{letter}.jpg" for letter in "abcdefghijklmnopqrst"]
    folder = dataset(tmp_path / "set", [(name, "10,10,40,20", "") for name in names])
    for index, name in enumerate(names):  # pairs of copies
        cv2.imwrite(str(folder / "images" / name), np.full((60, 80, 3), 10 * (index // 2), np.uint8))
    train, held = split_photos([folder], 0.3)
    sides = [{(p.photo).read_bytes() for p in side} for side in (train, held)]
    assert all(sides)
    assert not sides[0] & sides[1]
    assert len({p.photo for p in (*train, *held)}) < len(names)


def test_only_the_main_plate_of_vk_photos_is_known(tmp_path: Path) -> None:
    rows = [("vk_1.jpg", "10,10,40,20", "A001AA77"), ("web_1.jpg", "10,10,40,20", "A002AA77")]
    train, _ = split_photos([dataset(tmp_path / "set", rows)], 0.0)
    assert {p.photo.name: p.complete for p in train} == {"vk_1.jpg": False, "web_1.jpg": True}


def test_bad_rows_are_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = dataset(tmp_path / "set", [("a.jpg", "10,10,40,20", "X"), ("b.jpg", "10,10,10,20", "Y")])
    train, _ = split_photos([folder], 0.0)
    assert [p.photo.name for p in train] == ["a.jpg"]
    assert "b.jpg" in caplog.text
    assert "without area" in caplog.text


def test_of_two_labels_for_one_plate_the_later_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [("a.jpg", "10,10,40,20", "X"), ("a.jpg", "50,10,78,20", "Z"), ("a.jpg", "11,10,41,20", "Y")]
    (picture,) = pictures_of(dataset(tmp_path / "set", rows))
    assert picture.boxes.tolist() == [[50, 10, 78, 20], [11, 10, 41, 20]]
    assert picture.groups == {"text Y", "text Z"}
    assert "two labels for one plate, 'X' and 'Y'; the later one counts" in caplog.text


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no usable row"):
        split_photos([dataset(tmp_path / "empty", [])], 0.0)
    with pytest.raises(DatasetError, match="nothing to train on"):
        split_photos([dataset(tmp_path / "set", [("a.jpg", "1,1,9,5", "X")])], 1.0)
    with pytest.raises(DatasetError, match="no such file"):
        split_photos([tmp_path / "nowhere"], 0.0)


def test_signs_never_cover_a_plate() -> None:
    rng = np.random.default_rng(3)
    frame = np.full((300, 400, 3), 80, np.uint8)
    boxes = np.array([[150, 100, 250, 125], [20, 200, 120, 225]], np.float32)
    changed = np.zeros(frame.shape[:2], bool)
    for _ in range(40):
        changed |= (with_signs(rng, frame, boxes) != frame).any(axis=2)
    assert changed.mean() > 0.3
    for x1, y1, x2, y2 in boxes.astype(int):
        assert not changed[y1:y2, x1:x2].any()
    assert (frame == 80).all()


@pytest.mark.parametrize("seed", range(4))
def test_drawn_pictures_show_what_they_are_labelled_with(seed: int) -> None:
    frame, boxes = draw_picture(np.random.default_rng(seed), (320, 240), plates=3)
    again, _ = draw_picture(np.random.default_rng(seed), (320, 240), plates=3)
    assert frame.shape == (240, 320, 3) and np.array_equal(frame, again)
    assert len(boxes) <= 3 and (boxes[:, 2:] > boxes[:, :2]).all()
    assert (boxes >= -1).all() and (boxes[:, ::2] <= 321).all() and (boxes[:, 1::2] <= 241).all()
    assert iou(boxes, boxes).sum() == pytest.approx(len(boxes)), "no plate covers another"


def test_a_drawn_picture_may_have_no_plate() -> None:
    frame, boxes = draw_picture(np.random.default_rng(1), (320, 240), plates=0)
    assert frame.std() > 1 and boxes.shape == (0, 4)


def test_a_time_stamp_is_drawn_at_an_edge() -> None:
    frame = np.full((240, 320, 3), 80, np.uint8)
    stamp_time(np.random.default_rng(2), frame)
    rows = np.flatnonzero((frame != 80).any(axis=(1, 2)))
    assert len(rows) and (rows.max() < 60 or rows.min() > 180)
