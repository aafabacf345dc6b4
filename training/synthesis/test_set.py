"""The synthetic test set: small photos of plates and their labels, in the format of `evaluation.dataset`."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from plate_nets.common.errors import DatasetError
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.dataset import COLUMNS
from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame
from training.picture_file import save_picture
from training.synthesis import camera, crops, drawn_plate, placed, texts

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


def write_test_set(
    schemes: Sequence[PlateScheme],
    folder: Path,
    count: int = 2000,
    seed: int = 0,
    lines: int = 1,
    inverted: bool = False,
    hidden: bool = False,
) -> Iterator[Path]:
    """Write a labelled folder of plates of schemes in turn, with ``lines`` lines, 1 or 2, one photo per step.

    Schemes without plates of one line have two. ``inverted``: as negatives, so that most signs are light on dark.
    ``hidden``: something hides the first sign of those of one line. Each photo depends on (seed, number) alone. Its
    format is part of the file name: ``taxi_0001.png``.

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
        rows.writerow([*COLUMNS, "country"])
        for number in range(count):
            scheme = schemes[number % len(schemes)]
            shown = max(lines, scheme.fewest_lines)
            rng = np.random.default_rng((seed, number))
            kind, text, photo, quad = _photo(scheme.by_lines[shown], rng, shown, inverted, hidden and shown == 1)
            path = images / f"{kind.replace(' ', '_')}_{number:04d}.png"
            save_picture(path, photo)
            numbers = [f"{value:.1f}" for value in (*quad.min(axis=0), *quad.max(axis=0), *quad.ravel())]
            rows.writerow([path.name, *numbers[:4], scheme.text_of(text), *numbers[4:], scheme.country])
            yield path


def _photo(
    scheme: PlateScheme, rng: np.random.Generator, lines: int, inverted: bool, hidden: bool
) -> tuple[str, str, Frame, Quad]:
    """The format and the text of a plate, its photo, and its corners (4, 2) there, px."""
    usual, *others = (each.name for each in scheme.formats)
    first = rng.random() < (USUAL_SHARE if lines == 1 else 1 / len(scheme.formats))
    kind = usual if first or not others else others[int(rng.integers(len(others)))]
    kind, text = texts.sample_text(scheme, rng, kind)
    height = float(lines * LOWEST * (crops.HEIGHTS["near"][1] / LOWEST) ** rng.random())
    picture, corners = drawn_plate(scheme, kind, text, height, rng, inverted=inverted)
    if hidden:
        picture, _ = crops.without_first_sign(picture, corners, rng.spawn(1)[0])
    target = placed(corners, height, rng, LARGEST_BOX)
    margins = height * rng.uniform(*_SURROUNDINGS, 4)
    low, high = target.min(axis=0) - margins[:2], target.max(axis=0) + margins[2:]
    origin = np.floor(low).astype(np.float32)
    width, rows = np.ceil(high - origin).astype(int)
    target = target - origin
    photo = camera.take_photo(picture, corners, target, (int(width), int(rows)), rng, SEVERITY, lines)
    return kind, text, photo, target
