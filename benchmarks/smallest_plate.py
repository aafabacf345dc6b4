"""`python -m benchmarks.smallest_plate`: the smallest plates that are found and read in full-HD frames.

Training photos show cars from close up. Here each photo is shrunk until its plate has a given height, and put into a
full-HD frame filled with a coarse enlargement of the same photo, in which nothing else can be found.
"""

from pathlib import Path
from typing import Annotated, get_args

import cv2
import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.callers.pictures import FULL_HD
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.detection_metrics import match
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Box, Boxes, Detail, Frame
from training.command import errors_in_one_line

DETAILS: tuple[Detail, ...] = get_args(Detail)
HEIGHTS = (12, 15, 18, 22, 28, 36)
"""Heights of the plate in the frame, px."""
_COARSE = 40
"""Pixels of the frame per point of the background: no plate survives this."""

Shares = dict[tuple[Detail, int], tuple[int, int, int]]
"""By `detail` and the plate's height, px: number of plates, found, found and read."""


@errors_in_one_line()
def main(
    dataset: Annotated[Path, typer.Argument(help="Folder with images/ and labels.csv.")],
    plot: Annotated[Path, typer.Option(help="PNG with the curves.")],
    photos: Annotated[int, typer.Option(min=1, help="How many photos to use, spread evenly over the folder.")] = 100,
) -> None:
    """Find and read labelled plates in full-HD frames, by `detail` and plate height."""
    decoding = DecodingSettings(sure=0.0)
    readers = {each: LocalReader(detection=DetectionSettings(detail=each), decoding=decoding) for each in DETAILS}
    labelled = [(path, labels[0]) for path, labels in load_dataset(dataset, symbols=main_scheme().alphabet).photos()]
    chosen = labelled[:: max(1, len(labelled) // photos)][:photos]
    shares: Shares = {(each, height): (0, 0, 0) for each in DETAILS for height in HEIGHTS}
    for path, label in track(chosen, "finding", console=Console(stderr=True), transient=True):
        photo = read_photo(path)
        for height in HEIGHTS:
            placed = far(photo, label.box, height)
            if placed is None:
                continue
            frame, box = placed
            for each, reader in readers.items():
                plates = reader.read(frame)
                hits = [p for p, hit in zip(plates, match(boxes_of(plates), box[None]), strict=True) if hit == 0]
                count, found, read = shares[each, height]
                exact = any(plate.reading.best == label.text for plate in hits)
                shares[each, height] = (count + 1, found + bool(hits), read + exact)
    Console().print(_table(shares, dataset.name))
    _save(plot, shares)


def far(photo: Frame, box: Box, height: float, hw: tuple[int, int] = FULL_HD) -> tuple[Frame, Boxes] | None:
    """Shrink a photo until its plate is ``height`` px high -> a frame with it, and the plate's box (4,) there.

    None if the plate is already smaller, or the shrunk photo does not fit into the frame.
    """
    scale = height / box.height
    h, w = round(photo.shape[0] * scale), round(photo.shape[1] * scale)
    if scale > 1 or h > hw[0] or w > hw[1]:
        return None
    coarse = cv2.resize(photo, (hw[1] // _COARSE, hw[0] // _COARSE), interpolation=cv2.INTER_AREA)
    frame = cv2.resize(coarse, hw[::-1])
    top, left = (hw[0] - h) // 2, (hw[1] - w) // 2
    frame[top : top + h, left : left + w] = cv2.resize(photo, (w, h), interpolation=cv2.INTER_AREA)
    corners = np.array(box.sides, np.float32) * scale
    return np.asarray(frame, np.uint8), corners + np.array((left, top, left, top), np.float32)


def _table(shares: Shares, name: str) -> Table:
    table = Table("detail", "plate, px", "plates", "found", "found and read", title=f"{name}, in full HD")
    for (detail, height), (count, found, read) in shares.items():
        if count:
            table.add_row(detail, str(height), str(count), f"{found / count:.3f}", f"{read / count:.3f}")
    return table


def _save(path: Path, shares: Shares) -> None:
    from matplotlib.figure import Figure  # imported here: takes a second to import

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for number, detail in enumerate(dict.fromkeys(each for each, _ in shares)):
        rows = [(height, *counts) for (each, height), counts in shares.items() if each == detail and counts[0]]
        heights = [row[0] for row in rows]
        for column, style, what in ((2, "-", "found"), (3, "--", "found and read")):
            values = [row[column] / row[1] for row in rows]
            axes.plot(heights, values, style, color=f"C{number}", marker="o", label=f"{detail}: {what}")
    labels = {"xlabel": "height of the plate in the frame, px", "ylabel": "share of the plates", "title": "full HD"}
    axes.set(**labels, ylim=(0, 1.03))
    axes.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    typer.run(main)
