"""Labelled folders -> pictures to learn from, and pictures held out."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.types import Boxes
from training.real import one_each

SERIES = 50
"""Photos of a numbered series with the same ``number // 50`` count as one scene: neighbours show the same cars."""


@dataclass(frozen=True)
class Picture:
    """A photo with all its known plates.

    ``complete``: whether the photo shows no plates besides the labelled ones. ``groups``: what must not be split: the
    texts of the photo's plates or, if unknown, its scene.
    """

    photo: Path
    boxes: Boxes
    complete: bool
    groups: frozenset[str] = frozenset()


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


def pictures_of(folder: Path) -> list[Picture]:
    """The photos of a labelled folder; rows that cannot be used are logged and skipped, and so are all labels of a
    plate but the last.

    Raises:
        DatasetError: it cannot be used.
    """
    pictures = []
    for photo, all_labels in load_dataset(folder).photos():
        labels = [all_labels[row] for row in one_each(all_labels, boxes_of(all_labels))]
        groups = {f"text {label.text}" for label in labels if label.text} or {f"scene {scene(photo.name)}"}
        pictures.append(Picture(photo, boxes_of(labels), not photo.name.startswith("vk_"), frozenset(groups)))
    return pictures


def split_photos(folders: Iterable[Path], share: float) -> tuple[list[Picture], list[Picture]]:
    """Labelled folders -> pictures to train on and pictures held out.

    Photos that share a group, directly or through others, stay together: held out if any of their groups is. A copy of
    a held-out photo under another name is not trained on.

    Raises:
        DatasetError: a folder cannot be used, or there is nothing to train on or to hold out.
    """
    pictures = [picture for folder in folders for picture in pictures_of(folder)]
    out = {group for each in pictures for group in each.groups if held_out(group, share)}
    while more := {group for each in pictures if each.groups & out for group in each.groups} - out:
        out |= more  # a plate in a held-out photo holds out its other photos too
    held = [each for each in pictures if each.groups & out]
    copies = {_digest(each.photo) for each in held}
    train = [each for each in pictures if not each.groups & out and not (copies and _digest(each.photo) in copies)]
    if not train:
        raise DatasetError(f"nothing to train on: {len(held)} photos, all held out (share {share:g})")
    if share and not held:
        none = f"none of {len(train)} photos is held out (share {share:g})"
        raise DatasetError(f"{none}; choose a larger one, or add photos")
    return train, held


def _digest(photo: Path) -> bytes:
    """A digest that copies of a photo share."""
    return hashlib.sha256(photo.read_bytes()).digest()
