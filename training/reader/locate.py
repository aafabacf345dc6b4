"""`python -m training.reader.locate FOLDER --out OUT`: plates whose boxes alone are known, made ready for training.

Loose crops and boxes tell too little of where a plate's characters stand. The product's own detector and CornerNet find
the corners, so that the reader learns from what it is going to be given; boxes are those around the corners. The plates
are split by text.
"""

import csv
import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from rich.progress import track

from plate_nets.errors import PlateError
from plate_nets.evaluation.dataset import COLUMNS, Label, load_dataset, read_photo
from plate_nets.evaluation.detection_metrics import iou
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.plates import load_scheme
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.quads import Quads
from plate_nets.recognition.rectification import GREY, quad_boxes
from plate_nets.types import Frame
from training.reader.real import readable

TRAIN, VALIDATION = "train", "validation"
_MARGIN = 0.5
"""What is added around a photo, in its heights: of 60 loose crops of US plates 45 are found with it, 25 without."""

_NEAR = 0.1
"""The least overlap (IoU) of a found plate with the box of a loose crop."""


@dataclass(frozen=True)
class LocatedPlate:
    """A label whose corners are known now."""

    label: Label
    quad: Quads

    @property
    def part(self) -> str:
        """`TRAIN` or `VALIDATION`: one text in ten is for validation, by its hash."""
        return VALIDATION if hashlib.sha256(self.label.text.encode()).digest()[0] < 26 else TRAIN


def locate(photo: Frame, labels: tuple[Label, ...], reader: LocalReader) -> Iterator[LocatedPlate]:
    """A photo (H, W, 3) BGR and its labels -> the same with corners: those of the plate found nearest to the box, or,
    where none is found, those that CornerNet sees in the box."""
    pad = round(_MARGIN * photo.shape[0])
    around = cv2.copyMakeBorder(photo, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=(GREY, GREY, GREY))
    plates = reader.read(np.asarray(around, np.uint8))
    boxes = boxes_of(labels) + np.float32(pad)
    _, corners = reader.cut(np.asarray(around, np.uint8), boxes)
    for label, seen, overlaps in zip(labels, corners, iou(boxes, boxes_of(plates)), strict=True):
        near = len(plates) > 0 and overlaps.max() > _NEAR
        quad = np.array(plates[int(overlaps.argmax())].corners if near else seen, np.float32)
        yield LocatedPlate(label, quad.reshape(4, 2) - np.float32(pad))


def main(
    folder: Annotated[Path, typer.Argument(help="Labelled folder with texts.")],
    out: Annotated[Path, typer.Option(help=f"For two labelled folders, FOLDER_{TRAIN} and FOLDER_{VALIDATION}.")],
    scheme: Annotated[str, typer.Option(help="Whose alphabet the texts have.")] = "latin",
) -> None:
    """Finds the corners of labelled plates, and splits these by text."""
    try:
        alphabet = load_scheme(scheme).alphabet
        reader = LocalReader(threads=1)
        rows: dict[str, list[list[str | float]]] = {TRAIN: [], VALIDATION: []}
        for part in rows:
            (out / f"{folder.name}_{part}" / "images").mkdir(parents=True, exist_ok=True)
        photos = [
            (path, known)
            for path, labels in load_dataset(folder, symbols=alphabet).photos()
            if (known := tuple(label for label in labels if readable(label.text)))
        ]
        for path, labels in track(photos, folder.name):
            for plate in locate(read_photo(path), labels, reader):
                corners = plate.quad.round(2).reshape(-1).tolist()
                box = quad_boxes(plate.quad[None])[0].round(2).tolist()
                rows[plate.part].append([path.name, *box, plate.label.text, *corners])
                shutil.copyfile(path, out / f"{folder.name}_{plate.part}" / "images" / path.name)
        for part, lines in rows.items():
            written = out / f"{folder.name}_{part}"
            with (written / "labels.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([COLUMNS, *lines])
            typer.echo(f"{written}: {len(lines)} plates")
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    typer.run(main)
