"""The synthetic test set: small photos of plates and their labels, in the format of `evaluation.dataset`."""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from plate_nets.errors import DatasetError
from plate_nets.evaluation.dataset import COLUMNS
from plate_nets.plates import PlateScheme
from plate_nets.types import Frame
from training.picture_file import save_picture
from training.synthesis import camera, drawn_plate, placed, texts

SEVERITY = 0.6
"""Milder than training, so that a careful person reads nearly every plate."""
LOWEST = 13.0
LARGEST_BOX = 2.2
"""Minimum height of a line, px, and largest upright box around a one-line plate, in its heights."""
USUAL_SHARE = 0.5
"""Share of the scheme's first format among one-line plates; the others share the rest evenly. Plates of two lines have
all formats evenly."""
_SURROUNDINGS = (0.5, 1.1)
"""Minimum and maximum width of the surroundings of the plate's box in the photo, in plate heights."""


Drawn = tuple[str, Frame, Iterable[tuple[str, Iterable[float]]]]
"""The kind of a photo, the photo, and its plates: each a text with its box and corners in px."""


def write_test_set(
    scheme: PlateScheme, folder: Path, count: int = 2000, seed: int = 0, lines: int = 1
) -> Iterator[Path]:
    """Write a labelled folder of plates with ``lines`` lines, 1 or 2; see `write_dataset`.

    The format is part of the file name: ``taxi_0001.png``.
    """
    return write_dataset(folder, count, seed, lambda rng: _photo(scheme.by_lines[lines], rng, lines))


def write_dataset(folder: Path, count: int, seed: int, draw: Callable[[np.random.Generator], Drawn]) -> Iterator[Path]:
    """Write ``images/`` and ``labels.csv``, one photo per step; each photo depends on (seed, number) alone.

    Raises:
        DatasetError: the folder is not empty.
        InputError: a photo cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise DatasetError(f"{folder}: not empty; expected a new or an empty folder")
    images = folder / "images"
    images.mkdir(parents=True)
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for number in range(count):
            kind, photo, plates = draw(np.random.default_rng((seed, number)))
            path = images / f"{kind.replace(' ', '_')}_{number:04d}.png"
            save_picture(path, photo)
            for text, places in plates:
                numbers = [f"{value:.1f}" for value in places]
                rows.writerow([path.name, *numbers[:4], text, *numbers[4:]])
            yield path


def _photo(scheme: PlateScheme, rng: np.random.Generator, lines: int) -> Drawn:
    usual, *others = (each.name for each in scheme.formats)
    first = rng.random() < (USUAL_SHARE if lines == 1 else 1 / len(scheme.formats))
    kind = usual if first or not others else others[int(rng.integers(len(others)))]
    kind, text = texts.sample_text(scheme, rng, kind)
    height = float(lines * LOWEST * (camera.HIGHEST / LOWEST) ** rng.random())
    picture, corners = drawn_plate(scheme, kind, text, height, rng)
    target = placed(corners, height, rng, LARGEST_BOX)
    margins = height * rng.uniform(*_SURROUNDINGS, 4)
    low, high = target.min(axis=0) - margins[:2], target.max(axis=0) + margins[2:]
    origin = np.floor(low).astype(np.float32)
    width, rows = np.ceil(high - origin).astype(int)
    target = target - origin
    photo = camera.take_photo(picture, corners, target, (int(width), int(rows)), rng, SEVERITY, lines)
    return kind, photo, [(text, (*target.min(axis=0), *target.max(axis=0), *target.ravel()))]
