"""The synthetic test set: small photos of plates and their labels, in the format of `evaluation.dataset`."""

import csv
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from plate_nets.errors import DatasetError
from plate_nets.evaluation.dataset import COLUMNS
from plate_nets.plates import PlateScheme
from plate_nets.types import Frame
from training.synthesis import camera, drawn_plate, perspective, texts

SEVERITY = 0.6
"""Milder than training, so that a careful person reads nearly every plate."""
LOWEST = 13.0
LARGEST_BOX = 2.2
"""Least plate height, px, and largest upright box, in plate heights."""
USUAL_SHARE = 0.5
"""Of the scheme's first format; the other half is shared evenly by the others."""
_SURROUNDINGS = (0.5, 1.1)
"""Least and largest width of what the photo shows around the plate's box, in plate heights."""


def write_test_set(scheme: PlateScheme, folder: Path, count: int = 2000, seed: int = 0) -> Iterator[Path]:
    """Writes ``images/`` and ``labels.csv``, one photo a step; each photo depends on (seed, number) alone.

    The format is part of the file name: ``taxi_0001.png``.

    Raises:
        DatasetError: the folder holds something already, or a photo cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise DatasetError(f"{folder}: not empty; expected a new or an empty folder")
    images = folder / "images"
    images.mkdir(parents=True)
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for number in range(count):
            rng = np.random.default_rng((seed, number))
            photo, corners, kind, text = _photo(scheme, rng)
            path = images / f"{kind}_{number:04d}.png"
            if not cv2.imwrite(str(path), photo):
                raise DatasetError(f"{path}: cannot be written")
            box = (*corners.min(axis=0), *corners.max(axis=0))
            numbers = [f"{value:.1f}" for value in (*box, *corners.ravel())]
            rows.writerow([path.name, *numbers[:4], text, *numbers[4:]])
            yield path


def _photo(scheme: PlateScheme, rng: np.random.Generator) -> tuple[Frame, camera.Corners, str, str]:
    usual, *others = (each.name for each in scheme.formats)
    kind = usual if rng.random() < USUAL_SHARE or not others else others[int(rng.integers(len(others)))]
    kind, text = texts.sample_text(scheme, rng, kind)
    height = float(LOWEST * (camera.HIGHEST / LOWEST) ** rng.random())
    target = perspective.sample_corners(rng, height, largest_box=LARGEST_BOX)
    picture, corners = drawn_plate(scheme, kind, text, height, rng)
    margins = height * rng.uniform(*_SURROUNDINGS, 4)
    low, high = target.min(axis=0) - margins[:2], target.max(axis=0) + margins[2:]
    origin = np.floor(low).astype(np.float32)
    width, rows = np.ceil(high - origin).astype(int)
    target = target - origin
    photo = camera.take_photo(picture, corners, target, (int(width), int(rows)), rng, SEVERITY)
    return photo, target, kind, text
