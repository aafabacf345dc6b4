"""Labelled folders -> the pictures and label files for the yolov5 package."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plate_nets.common.errors import DatasetError
from plate_nets.countries import main_scheme
from plate_nets.evaluation.coding import reduced
from plate_nets.evaluation.dataset import Label, load_dataset, read_photo
from plate_nets.recognition.quads import Quad
from plate_nets.recognition.rectification import order_corners, quad_boxes
from plate_nets.types import Boxes, Frame
from training.corners.sources import Source, replaced
from training.detector.drawn import draw_any_picture, picture_size
from training.picture_file import save_picture
from training.synthesis.scene import render_scene

LEGIBLE = 60
"""Minimum plate width, px, for a close-up: narrower plates would only be blurred."""

SERIES = 50
"""Photos of a numbered series with the same ``number // 50`` count as one scene: neighbours show the same cars."""


@dataclass(frozen=True)
class Picture:
    """A photo with all its known plates."""

    photo: Path
    boxes: Boxes
    complete: bool
    """False if the photo may show plates besides the labelled ones."""
    quad: Quad | None = None
    """Corners (4, 2) of the first plate, if labelled."""


Preparation = Callable[[Frame, Picture], tuple[Frame, Boxes]]
"""A photo -> the part of it to use, and the boxes in that part."""


def groups(photo: Path, labels: Iterable[Label]) -> set[str]:
    """Groups that must not be split: the texts of the photo's plates or, if unknown, its scene."""
    texts = {f"text {label.text}" for label in labels if label.text}
    return texts or {f"scene {scene(photo.name)}"}


def scene(name: str) -> str:
    """A photo's file name -> its video, or its stretch of a numbered series, or itself.

    >>> scene("robertlucian_dayride_type1_001.mp4_t_1054.jpg"), scene("uc3m_00002.jpg")
    ('robertlucian_dayride_type1_001', 'uc3m_#0')
    """
    stem = name.rsplit(".", 1)[0]
    if ".mp4" in stem:
        return stem.split(".mp4")[0]
    series = re.fullmatch(r"(.*?)(\d+)", stem)
    return f"{series[1]}#{int(series[2]) // SERIES}" if series else stem


def held_out(group: str, share: float) -> bool:
    """Whether a group belongs to the held-out ``share`` (0..1) of the data, by its hash, so always the same."""
    digest = hashlib.sha256(f"plates {group}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def split_photos(folders: Iterable[Path], share: float) -> tuple[list[Picture], list[Picture]]:
    """Labelled folders -> pictures to train on and pictures held out.

    Photos that share a group, directly or through others, stay together: held out if any of their groups is. A copy of
    a held-out photo under another name is not trained on. Rows that cannot be used are logged and skipped by
    `load_dataset`.

    Raises:
        DatasetError: a folder cannot be used, or there is nothing to train on or to hold out.
    """
    photos = [(photo, labels) for folder in folders for photo, labels in load_dataset(folder).photos()]
    keys = [groups(photo, labels) for photo, labels in photos]
    out = {key for key in set().union(*keys) if held_out(key, share)}
    while True:  # a plate in a held-out photo holds out its other photos too
        more = set().union(*(key for key in keys if key & out)) | out
        if more == out:
            break
        out = more
    train: list[Picture] = []
    held: list[Picture] = []
    for (photo, labels), key in zip(photos, keys, strict=True):
        boxes = np.array([label.box.sides for label in labels], np.float32)
        complete = not photo.name.startswith("vk_")
        (held if key & out else train).append(Picture(photo, boxes, complete, labels[0].quad))
    if held:
        copies = {_digest(picture.photo) for picture in held}
        train = [picture for picture in train if _digest(picture.photo) not in copies]
    if not train:
        raise DatasetError(f"nothing to train on: {len(held)} photos, all held out (share {share:g})")
    if share and not held:
        raise DatasetError(
            f"none of {len(train)} photos is held out (share {share:g}); choose a larger one, or add photos"
        )
    return train, held


def _digest(photo: Path) -> bytes:
    """A digest that copies of a photo share."""
    return hashlib.sha256(photo.read_bytes()).digest()


def around(frame: Frame, boxes: Boxes, reach: float = 3.0) -> tuple[Frame, Boxes]:
    """The part of a frame around its labelled plates, ``reach`` plate widths to each side, and the boxes in it.

    Unlabelled plates in the background mostly fall outside.
    """
    far = reach * float((boxes[:, 2] - boxes[:, 0]).max())
    height, width = frame.shape[:2]
    left, top = np.maximum(boxes[:, :2].min(0) - far, 0).astype(int)
    right, bottom = np.minimum(boxes[:, 2:].max(0) + far, (width, height)).astype(int)
    return frame[top:bottom, left:right], boxes - np.array([left, top, left, top], np.float32)


def write_pictures(pictures: Iterable[Picture], folder: Path, long_side: int, prepare: Preparation) -> None:
    """Pictures -> ``folder/images/*.jpg``, no side above ``long_side``, with ``folder/labels/*.txt``."""
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        stem = f"{picture.photo.parent.parent.name}_{picture.photo.stem}"
        write_picture(*prepare(read_photo(picture.photo), picture), folder, stem, long_side)


def write_close_ups(rng: np.random.Generator, pictures: Sequence[Picture], count: int, folder: Path, side: int) -> None:
    """Write up to ``count`` of the ``pictures``, cropped close around one plate, as from a hand-held camera. Photos
    with a plate that is too small are skipped."""
    for index in range(count):
        picture = pictures[int(rng.integers(len(pictures)))]
        plate = picture.boxes[[int(rng.integers(len(picture.boxes)))]]
        if float(plate[0, 2] - plate[0, 0]) >= LEGIBLE:
            cut, boxes = around(read_photo(picture.photo), plate, reach=float(rng.uniform(0.05, 0.8)))
            write_picture(cut, picture.boxes + boxes - plate, folder, f"close_{index}", side)


def write_replaced(rng: np.random.Generator, pictures: Sequence[Picture], count: int, folder: Path, side: int) -> None:
    """Write ``count`` photos whose plate has labelled corners, with another plate drawn over it, half of them with two
    lines, cropped ``around`` it."""
    known = [picture for picture in pictures if picture.quad is not None]
    for index in range(count if known else 0):
        picture = known[int(rng.integers(len(known)))]
        assert picture.quad is not None
        quad = order_corners(picture.quad)
        drawn = replaced(Source(read_photo(picture.photo), quad, quad), rng, two_lines=0.5)
        cut, boxes = around(drawn.picture, quad_boxes(drawn.corners[None]), reach=float(rng.uniform(0.5, 3.0)))
        write_picture(cut, boxes, folder, f"replaced_{index}", side)


def write_drawn(rng: np.random.Generator, count: int, folder: Path, long_side: int) -> None:
    """Write drawn pictures without a car."""
    for index in range(count):
        write_picture(*draw_any_picture(rng, long_side), folder, f"drawn_{index}", long_side)


def write_scenes(rng: np.random.Generator, count: int, folder: Path, long_side: int) -> None:
    """Write rendered street scenes with none to four plates, a third of them of other countries."""
    for index in range(count):
        size = picture_size(rng, long_side)
        drawn = render_scene(main_scheme(), rng, size, plates=int(rng.integers(0, 5)), foreign=1 / 3)
        write_picture(drawn.frame, drawn.boxes, folder, f"scene_{index}", long_side)


def write_picture(frame: Frame, boxes: Boxes, folder: Path, stem: str, long_side: int) -> None:
    """Write one frame as a JPEG, and its boxes as a label file: ``class cx cy w h``, as shares of the picture."""
    height, width = frame.shape[:2]
    save_picture(folder / "images" / f"{stem}.jpg", reduced(frame, long_side / max(height, width)))
    size = np.array([width, height, width, height], np.float32)
    inside = np.clip(boxes, 0, size) / size
    lines = [
        f"0 {(x1 + x2) / 2:.6f} {(y1 + y2) / 2:.6f} {x2 - x1:.6f} {y2 - y1:.6f}\n"
        for x1, y1, x2, y2 in inside.tolist()
        if x2 > x1 and y2 > y1
    ]
    (folder / "labels" / f"{stem}.txt").write_text("".join(lines), encoding="utf-8")
