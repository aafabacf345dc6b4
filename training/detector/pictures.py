"""Labelled folders -> pictures to learn from, and pictures held out."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.dataset import Label, load_dataset
from plate_nets.types import Boxes

SERIES = 50
"""Photos of a numbered series with the same ``number // 50`` count as one scene: neighbours show the same cars."""


@dataclass(frozen=True)
class Picture:
    """A photo with all its known plates."""

    photo: Path
    boxes: Boxes
    complete: bool
    """False if the photo may show plates besides the labelled ones."""
    groups: frozenset[str] = frozenset()
    """As of `groups`."""


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


def pictures_of(folder: Path) -> list[Picture]:
    """The photos of a labelled folder.

    Raises:
        DatasetError: it cannot be used.
    """
    return [
        Picture(
            photo,
            np.array([label.box.sides for label in labels], np.float32),
            complete=not photo.name.startswith("vk_"),
            groups=frozenset(groups(photo, labels)),
        )
        for photo, labels in load_dataset(folder).photos()
    ]


def split_photos(folders: Iterable[Path], share: float) -> tuple[list[Picture], list[Picture]]:
    """Labelled folders -> pictures to train on and pictures held out.

    Photos that share a group, directly or through others, stay together: held out if any of their groups is. A copy of
    a held-out photo under another name is not trained on. Rows that cannot be used are logged and skipped by
    `load_dataset`.

    Raises:
        DatasetError: a folder cannot be used, or there is nothing to train on or to hold out.
    """
    pictures = [picture for folder in folders for picture in pictures_of(folder)]
    keys = [picture.groups for picture in pictures]
    out = {key for key in set().union(*keys) if held_out(key, share)}
    while True:  # a plate in a held-out photo holds out its other photos too
        more = set().union(*(key for key in keys if key & out)) | out
        if more == out:
            break
        out = more
    train: list[Picture] = []
    held: list[Picture] = []
    for picture, key in zip(pictures, keys, strict=True):
        (held if key & out else train).append(picture)
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
