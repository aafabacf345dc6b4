"""`python -m training.reader.teach FOLDER --model MODEL --out OUT`: texts for plates that have only boxes.

Another reader is the teacher, see `benchmarks.measures.other_reader`: what it and our own read alike is taken for the
text, and the region that it is sure of for the country. Nothing of the teacher goes into what is shipped. The plates
are split by text, as `training.reader.locate` does.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from benchmarks.measures.other_reader import OtherReader
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.plates import load_schemes
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.rectification import quad_boxes
from training.loop import faults_in_a_line
from training.reader.locate import LocatedPlate, part_of, write_parts
from training.reader.real import readable

_SHORTEST = 4
"""Symbols of a text at least: on shorter ones two readers agree by chance."""
_SURE = 0.8
"""The least probability of a region that is taken for the country. A guess."""


def taught(folder: Path, own: LocalReader, teacher: OtherReader) -> Iterator[LocatedPlate]:
    """A labelled folder -> its plates without a text on which both readers agree, with that text.

    Raises:
        DatasetError: as `plate_nets.evaluation.dataset.load_dataset`.
    """
    for path, labels in load_dataset(folder).photos():
        unread = [label for label in labels if not label.text]
        if not unread:
            continue
        photo, boxes = read_photo(path), boxes_of(unread)
        crops, corners, as_one = own.cut(photo, boxes)
        stretched = teacher.cut(photo, boxes)
        answers = zip(unread, own.read_crops(crops, corners, as_one), corners, strict=True)
        told = zip(answers, teacher.read(stretched), teacher.regions(stretched), strict=True)
        for (label, reading, points), text, (country, probability) in told:
            if text == reading.best and len(text) >= _SHORTEST and readable(text):
                quad = points.reshape(4, 2)
                unknown = (quad_boxes(quad[None])[0] == boxes_of([label])[0]).all()
                yield LocatedPlate(
                    replace(label, text=text),
                    None if unknown else quad,
                    country if probability >= _SURE else "",
                    part_of(text),
                )


def main(
    folder: Annotated[Path, typer.Argument(help="Labelled folder with boxes without texts.")],
    model: Annotated[Path, typer.Option(help="The teacher: an ONNX file of fast-plate-ocr.")],
    out: Annotated[Path, typer.Option(help="For two labelled folders, FOLDER_train and FOLDER_validation.")],
    scheme: Annotated[str, typer.Option(help="Countries that our reader reads, comma-separated.")] = "latin",
) -> None:
    """Labels plates by what two readers read alike."""
    with faults_in_a_line():
        own, teacher = LocalReader(scheme=load_schemes(scheme), threads=1), OtherReader(model, threads=1)
        plates = track(taught(folder, own, teacher), folder.name)
        for written, count in write_parts(plates, out, folder.name).items():
            typer.echo(f"{written}: {count} plates")


if __name__ == "__main__":
    typer.run(main)
