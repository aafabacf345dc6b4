"""`python -m training.reader.locate FOLDER --out OUT`: prepares plates that only have boxes for training.

Loose crops and boxes say too little about the position of a plate's characters. Our own detector and CornerNet find
the corners, so that the reader learns from what it will be given; boxes become those around the corners. If the boxes
are tight, corners that disagree are dropped and the box stays as it is.

The plates are split by text, or as their source did, if the `note` of a row says "valid".
"""

import csv
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from rich.progress import track

from plate_nets.countries import load_scheme
from plate_nets.evaluation.dataset import COLUMNS, REQUIRED, Label, csv_rows, load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.geometry import GREY
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.quads import Quad
from plate_nets.recognition.rectification import quad_boxes
from plate_nets.types import CORNER_COLUMNS, Frame
from training.command import errors_in_one_line
from training.reader.real import countries_in, readable

TRAIN, VALIDATION = "train", "validation"
COUNTRY = "country"
"""The column after those of every labelled folder."""
_MARGIN = 0.5
"""Border added around a photo, in its heights: of 60 loose crops of US plates 45 are found with it, 25 without."""

_NEAR = 0.1
"""Minimum overlap (IoU) of a found plate with the box of a loose crop."""
_SAME = 0.6
"""Minimum overlap (IoU) of a plate's own box with the box around its corners. A guess."""


@dataclass(frozen=True)
class LocatedPlate:
    """A label whose corners are known now, (4, 2), or None if only its box is known.

    ``country``: ISO 3166, or empty. ``part``: `TRAIN` or `VALIDATION`.
    """

    label: Label
    quad: Quad | None
    country: str
    part: str

    @property
    def row(self) -> list[str | float]:
        """Its row of a label file, with the country last."""
        photo, text = self.label.photo.name, self.label.text
        if self.quad is None:
            box: list[float] = boxes_of([self.label])[0].tolist()
            return [photo, *box, text, *[""] * len(CORNER_COLUMNS), self.country]
        quad = self.quad.astype(np.float64).round(2)
        return [photo, *quad.min(axis=0), *quad.max(axis=0), text, *quad.reshape(-1), self.country]


def part_of(text: str) -> str:
    """`TRAIN` or `VALIDATION`: one text in ten is for validation, by its hash."""
    return VALIDATION if hashlib.sha256(text.encode()).digest()[0] < 26 else TRAIN


def locate(
    photo: Frame, labels: Sequence[Label], reader: LocalReader, tight: bool = False
) -> Iterator[tuple[Label, Quad | None]]:
    """A photo (H, W, 3) BGR and its labels -> each with corners: those of the found plate nearest to the box or,
    without one, those that CornerNet sees in the box. ``tight``: drop corners that do not fill the box."""
    pad = round(_MARGIN * photo.shape[0])
    around = cv2.copyMakeBorder(photo, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=(GREY, GREY, GREY))
    plates = reader.read(np.asarray(around, np.uint8))
    boxes = boxes_of(labels) + np.float32(pad)
    corners = reader.cut(np.asarray(around, np.uint8), boxes).corners
    for label, seen, overlaps in zip(labels, corners, iou(boxes, boxes_of(plates)), strict=True):
        near = len(plates) > 0 and overlaps.max() > _NEAR
        quad = np.array(plates[int(overlaps.argmax())].corners if near else seen, np.float32)
        quad = quad.reshape(4, 2) - np.float32(pad)
        known = not tight or iou(boxes_of([label]), quad_boxes(quad[None]))[0, 0] > _SAME
        yield label, quad if known else None


def located(folder: Path, alphabet: str, tight: bool) -> Iterator[LocatedPlate]:
    """The plates of a labelled folder with a text in an alphabet.

    Raises:
        DatasetError: as `plate_nets.evaluation.dataset.load_dataset`.
    """
    rows = csv_rows(folder / "labels.csv", REQUIRED)
    valid = {row["text"] for _, row in rows if row.get("note") == "valid"}  # set aside by the data's source
    countries = countries_in(folder)
    reader = LocalReader(threads=1)
    for path, labels in load_dataset(folder, symbols=alphabet).photos():
        known = [label for label in labels if readable(label.text)]
        for label, quad in locate(read_photo(path), known, reader, tight) if known else ():
            part = part_of(label.text)
            if valid:
                part = VALIDATION if label.text in valid else TRAIN
            yield LocatedPlate(label, quad, countries[path.name].lower(), part)


def write_parts(plates: Iterable[LocatedPlate], out: Path, name: str) -> dict[Path, int]:
    """Write plates with their photos to two labelled folders in ``out`` -> the number of plates in each."""
    rows: dict[str, list[list[str | float]]] = {TRAIN: [], VALIDATION: []}
    folders = {part: out / f"{name}_{part}" for part in rows}
    for folder in folders.values():
        (folder / "images").mkdir(parents=True, exist_ok=True)
    for plate in plates:
        rows[plate.part].append(plate.row)
        shutil.copyfile(plate.label.photo, folders[plate.part] / "images" / plate.label.photo.name)
    for part, folder in folders.items():
        with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([[*COLUMNS, COUNTRY], *rows[part]])
    return {folder: len(rows[part]) for part, folder in folders.items()}


@errors_in_one_line()
def main(
    folder: Annotated[Path, typer.Argument(help="Labelled folder with texts.")],
    out: Annotated[
        Path, typer.Option(help=f"Parent of two new labelled folders, FOLDER_{TRAIN} and FOLDER_{VALIDATION}.")
    ],
    scheme: Annotated[str, typer.Option(help="Scheme with the alphabet of the texts.")] = "latin",
    tight: Annotated[bool, typer.Option("--tight", help="The boxes fit the plates tightly.")] = False,
) -> None:
    """Find the corners of labelled plates, and split the plates by text."""
    plates = track(located(folder, load_scheme(scheme).alphabet, tight), folder.name)
    for written, count in write_parts(plates, out, folder.name).items():
        typer.echo(f"{written}: {count} plates")


if __name__ == "__main__":
    typer.run(main)
