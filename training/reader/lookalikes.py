"""`python -m training.reader.lookalikes DATASET SHEET`: renders look-alikes of the crops that are read worst.

Photos stay private: each look-alike has its own text, but its crop's size in the photo, brightness, colour, contrast
and sharpness.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer

from plate_nets.countries import PlateScheme, main_scheme
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.evaluation.evaluate import evaluate_given
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.rectification import box_quads
from plate_nets.types import Crops, Frame
from training.command import errors_in_one_line
from training.picture_file import save_picture
from training.reader.real import sharpness
from training.reader.straightened import shoot_straightened
from training.synthesis import Sample, drawn_plate, texts
from training.synthesis.camera import LOWEST
from training.synthesis.layouts.layout import HEIGHT, WIDTH
from training.synthesis.sheet import draw_sheet

COUNT = 30
"""Plates of a sheet."""
_BLURS = tuple(float(sigma) for sigma in np.linspace(0.3, 3.0, 28))
"""Standard deviations of the blur, px of the crop, to try until a look-alike is no sharper than its crop."""


def worst(plates: Sequence[ReadPlate], count: int) -> list[int]:
    """The rows of the worst plates: first those with a wrong best reading, then the least certain ones."""

    def badness(row: int) -> tuple[bool, float]:
        plate = plates[row]
        return plate.best == plate.label, plate.reading.confidence if plate.reading else 0.0

    return sorted(range(len(plates)), key=badness)[:count]


def look_alike(scheme: PlateScheme, plate: ReadPlate, crop: Frame, rng: np.random.Generator) -> Sample:
    """A plate and its crop (24, 94, 3) BGR -> a rendered one-line plate of the same format with another text."""
    one_line = scheme.by_lines[1]
    kind = (one_line.formats_of(plate.label) or one_line.formats)[0].name
    kind, text = texts.sample_text(one_line, rng, kind)
    height = max(plate.height, LOWEST)
    picture, corners = drawn_plate(one_line, kind, text, height, rng)
    half = np.array([WIDTH / HEIGHT, 1.0]) * height / 2
    target = box_quads(np.array([[*-half, *half]], np.float32))[0]
    drawn = shoot_straightened(picture, corners, target, rng, severity=0.0)
    for sigma in _BLURS:  # if none is blurred enough, the last one stays
        blurred = np.asarray(cv2.GaussianBlur(drawn, (0, 0), sigma), np.uint8)
        if sharpness(blurred) <= sharpness(crop):
            break
    deviation = np.maximum(blurred.std(axis=(0, 1)), 1.0)
    centred = blurred.astype(np.float32) - blurred.mean(axis=(0, 1))
    lit = centred / deviation * crop.std(axis=(0, 1)) + crop.mean(axis=(0, 1))
    return Sample(np.clip(lit, 0, 255).astype(np.uint8), text, kind, plate.height)


def pictures_of(crops: Crops) -> list[Frame]:
    """Crops (N, 3, 24, 94) for the reader -> the original pictures (24, 94, 3) BGR uint8."""
    return [np.asarray(crop.transpose(1, 2, 0)[:, :, ::-1] * 128 + 127.5).round().astype(np.uint8) for crop in crops]


@errors_in_one_line()
def main(
    dataset: Annotated[Path, typer.Argument(help="Folder with images/ and labels.csv.")],
    sheet: Annotated[Path, typer.Argument(help="PNG to write.")],
) -> None:
    """Draw a sheet of look-alikes of the crops that are read worst, with labelled boxes."""
    scheme = main_scheme()
    reader = LocalReader(scheme=scheme, decoding=DecodingSettings(sure=0.0))
    photos = load_dataset(dataset, symbols=scheme.alphabet).photos()
    outcome = evaluate_given(photos, reader.cut, reader.read_crops, scheme, keep_crops=True)
    rows = worst(outcome.plates, COUNT)
    crops = pictures_of(np.concatenate([outcome.crops[row] for row in rows]))
    samples = [
        look_alike(scheme, outcome.plates[row], crop, np.random.default_rng((0, number)))
        for number, (row, crop) in enumerate(zip(rows, crops, strict=True))
    ]
    save_picture(sheet, draw_sheet(samples))
    typer.echo(f"{len(samples)} look-alikes: {sheet}")


if __name__ == "__main__":
    typer.run(main)
