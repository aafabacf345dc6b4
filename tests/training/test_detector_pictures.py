from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.dataset import COLUMNS
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.overlap import iou
from plate_nets.types import Boxes
from training.detector.background import complete
from training.detector.drawn import draw_picture
from training.detector.pictures import (
    LEGIBLE,
    Picture,
    around,
    held_out,
    scene,
    split_photos,
    write_close_ups,
    write_pictures,
    write_replaced,
    write_scenes,
)
from training.detector.signs import stamp_time, with_signs


def dataset(folder: Path, rows: list[tuple[str, str, str]], size: tuple[int, int] = (60, 80)) -> Path:
    """A labelled folder: rows of file name, box, text."""
    (folder / "images").mkdir(parents=True)
    lines = [",".join(COLUMNS)]
    for number, (name, box, text) in enumerate(rows):
        photo = np.full((*size, 3), 90, np.uint8)
        photo[:8, :8] = np.random.default_rng(number).integers(0, 256, (8, 8, 3))  # all different
        cv2.imwrite(str(folder / "images" / name), photo)
        lines.append(f"{name},{box},{text},,,,,,,,")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


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
    assert sides[0]
    assert sides[1]
    assert not sides[0] & sides[1]
    assert len(train) + len(held) == len(texts)


def test_a_copy_of_a_held_out_photo_is_not_trained_on(tmp_path: Path) -> None:
    names = [f"{letter}.jpg" for letter in "abcdefghijklmnopqrst"]
    folder = dataset(tmp_path / "set", [(name, "10,10,40,20", "") for name in names], size=(60, 80))
    for index, name in enumerate(names):  # pairs of copies
        cv2.imwrite(str(folder / "images" / name), np.full((60, 80, 3), 10 * (index // 2), np.uint8))
    train, held = split_photos([folder], 0.3)
    sides = [{(p.photo).read_bytes() for p in side} for side in (train, held)]
    assert sides[0] and sides[1]
    assert not sides[0] & sides[1]
    assert len({p.photo for p in (*train, *held)}) < len(names)


def test_close_ups_show_the_plate_large_and_whole(tmp_path: Path) -> None:
    width = LEGIBLE
    rows = [("near.jpg", f"400,300,{400 + width},320", ""), ("far.jpg", f"400,300,{400 + width // 2},310", "")]
    pictures, _ = split_photos([dataset(tmp_path / "set", rows, size=(600, 800))], 0)
    write_pictures([], tmp_path / "out", 640, lambda frame, picture: (frame, picture.boxes))
    write_close_ups(np.random.default_rng(0), pictures, 12, tmp_path / "out", 640)
    written = sorted((tmp_path / "out" / "labels").glob("*.txt"))
    assert 0 < len(written) < 12  # none of the distant plate
    for path in written:
        ((_, cx, cy, w, h),) = (map(float, line.split()) for line in path.read_text(encoding="utf-8").splitlines())
        assert w > 0.35
        assert w / 2 <= cx <= 1 - w / 2
        assert h / 2 <= cy <= 1 - h / 2


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


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no usable row"):
        split_photos([dataset(tmp_path / "empty", [])], 0.0)
    with pytest.raises(DatasetError, match="nothing to train on"):
        split_photos([dataset(tmp_path / "set", [("a.jpg", "1,1,9,5", "X")])], 1.0)
    with pytest.raises(DatasetError, match="no such file"):
        split_photos([tmp_path / "nowhere"], 0.0)


def picture(boxes: Boxes, complete: bool = False) -> Picture:
    return Picture(Path("set/images/p.jpg"), boxes, complete)


def test_pictures_are_written_in_the_format_of_the_package(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", [("a.jpg", "10,15,50,30", "X"), ("a.jpg", "60,40,90,50", "Y")])
    pictures, _ = split_photos([folder], 0.0)
    write_pictures(pictures, tmp_path / "out", 40, lambda frame, picture: (frame, picture.boxes))
    written = cv2.imread(str(tmp_path / "out" / "images" / "set_a.jpg"))
    assert written is not None
    assert written.shape == (30, 40, 3)
    lines = (tmp_path / "out" / "labels" / "set_a.txt").read_text(encoding="utf-8").splitlines()
    # the second box extends beyond the photo and is cut at its border
    np.testing.assert_allclose(
        [float(v) for v in lines[0].split()], [0, 30 / 80, 22.5 / 60, 40 / 80, 15 / 60], atol=1e-5
    )
    np.testing.assert_allclose([float(v) for v in lines[1].split()], [0, 70 / 80, 45 / 60, 20 / 80, 10 / 60], atol=1e-5)


def test_a_picture_is_cropped_around_its_plates() -> None:
    frame = np.zeros((400, 600, 3), np.uint8)
    part, boxes = around(frame, np.array([[300, 200, 340, 210]], np.float32), reach=2.0)
    assert part.shape == (170, 200, 3)
    np.testing.assert_allclose(boxes, [[80, 80, 120, 90]])


def proposing(*rows: tuple[float, ...]) -> PlateDetector:
    """A detector that returns the same rows (cx, cy, w, h, score) for any 640x640 frame."""
    answer = np.array([[*row, 1.0] for row in rows], np.float32).reshape(1, -1, 6)
    return PlateDetector(lambda picture: answer)


def test_certain_proposals_become_labels_and_uncertain_ones_grey() -> None:
    labelled = np.array([[100, 100, 200, 120]], np.float32)
    detector = proposing((150, 110, 100, 20, 0.9), (400, 300, 100, 20, 0.8), (400, 500, 100, 20, 0.4))
    frame = np.zeros((640, 640, 3), np.uint8)
    shown, boxes = complete(frame, picture(labelled), detector)
    np.testing.assert_allclose(boxes, [[100, 100, 200, 120], [350, 290, 450, 310]])
    assert (shown[500, 400] == 114).all()
    assert not shown[300, 400].any()
    assert not shown[110, 150].any()
    assert not frame.any()
    shown, boxes = complete(frame, picture(labelled, complete=True), detector)
    np.testing.assert_allclose(boxes, labelled)
    assert (shown[300, 400] == 114).all()


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


def test_scenes_are_pictures_with_plates_in_them(tmp_path: Path) -> None:
    write_pictures([], tmp_path, 320, lambda frame, picture: (frame, picture.boxes))
    write_scenes(np.random.default_rng(1), 4, tmp_path, 320)
    assert len(list((tmp_path / "images").glob("scene_*.jpg"))) == 4
    rows = [line.split() for path in (tmp_path / "labels").iterdir() for line in path.read_text("utf-8").splitlines()]
    assert rows
    assert all(row[0] == "0" and all(0 < float(value) < 1 for value in row[1:]) for row in rows)


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


def test_another_plate_is_drawn_over_the_labelled_one(tmp_path: Path) -> None:
    photo = np.full((240, 320, 3), 90, np.uint8)
    cv2.imwrite(str(tmp_path / "a.png"), photo)
    quad = np.array([[100, 100], [180, 104], [180, 121], [100, 117]], np.float32)
    known = Picture(tmp_path / "a.png", np.array([[100, 100, 180, 121]], np.float32), True, quad)
    unknown = Picture(tmp_path / "none.png", np.array([[0, 0, 9, 9]], np.float32), True)
    write_pictures([], tmp_path / "out", 320, lambda frame, picture: (frame, picture.boxes))
    write_replaced(np.random.default_rng(0), [unknown, known], 3, tmp_path / "out", 320)
    for path in (tmp_path / "out" / "images").iterdir():
        drawn = cv2.imread(str(path))
        assert drawn is not None
        height, width = drawn.shape[:2]
        row = (tmp_path / "out" / "labels" / f"{path.stem}.txt").read_text(encoding="utf-8").split()
        x, y, w, h = (float(v) for v in row[1:])
        inside = drawn[int((y - h / 4) * height) : int((y + h / 4) * height), int((x - w / 3) * width) : int(x * width)]
        assert inside.std() > 10
    assert len(list((tmp_path / "out" / "images").iterdir())) == 3


def test_a_time_stamp_is_drawn_at_an_edge() -> None:
    frame = np.full((240, 320, 3), 80, np.uint8)
    stamp_time(np.random.default_rng(2), frame)
    rows = np.flatnonzero((frame != 80).any(axis=(1, 2)))
    assert len(rows) and (rows.max() < 60 or rows.min() > 180)
