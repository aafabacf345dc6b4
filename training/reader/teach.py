"""`python -m training.reader.teach FOLDER --model MODEL --out OUT`: labels plates that only have boxes.

Another reader is the teacher, see `benchmarks.measures.other_reader`: a text that both it and our reader read becomes
the label, and the teacher's sure region becomes the country. Nothing of the teacher is shipped. The plates are split by
text, as by `training.reader.locate`.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from benchmarks.measures.other_reader import OtherReader
from plate_nets.countries import load_schemes
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.rectification import quad_boxes
from training.command import errors_in_one_line
from training.reader.locate import LocatedPlate, part_of, write_parts
from training.reader.real import readable

_SHORTEST = 4
"""Minimum number of symbols of a text: shorter ones may agree by chance."""
_SURE = 0.8
"""Minimum probability of a region that becomes the country. A guess."""


def taught(folder: Path, reader: LocalReader, teacher: OtherReader) -> Iterator[LocatedPlate]:
    """The unlabelled plates of a folder on which both readers agree, with that text.

    Raises:
        DatasetError: as `plate_nets.evaluation.dataset.load_dataset`.
    """
    for path, labels in load_dataset(folder).photos():
        unread = [label for label in labels if not label.text]
        if not unread:
            continue
        photo, boxes = read_photo(path), boxes_of(unread)
        cut = reader.cut(photo, boxes)
        stretched = teacher.cut(photo, boxes)
        answers = zip(unread, reader.read_crops(cut), cut.corners, strict=True)
        results = zip(answers, teacher.read(stretched), teacher.regions(stretched), strict=True)
        for (label, reading, points), text, (country, probability) in results:
            if text == reading.best and len(text) >= _SHORTEST and readable(text):
                quad = points.reshape(4, 2)
                unknown = (quad_boxes(quad[None])[0] == boxes_of([label])[0]).all()
                yield LocatedPlate(
                    replace(label, text=text),
                    None if unknown else quad,
                    country if probability >= _SURE else "",
                    part_of(text),
                )


@errors_in_one_line()
def main(
    folder: Annotated[Path, typer.Argument(help="Labelled folder with boxes but no texts.")],
    model: Annotated[Path, typer.Option(help="The teacher: an ONNX file of fast-plate-ocr.")],
    out: Annotated[Path, typer.Option(help="Parent of two new labelled folders, FOLDER_train and FOLDER_validation.")],
    scheme: Annotated[str, typer.Option(help="Countries that our reader reads, comma-separated.")] = "latin",
) -> None:
    """Label plates with the texts on which two readers agree."""
    own, teacher = LocalReader(scheme=load_schemes(scheme), threads=1), OtherReader(model, threads=1)
    plates = track(taught(folder, own, teacher), folder.name)
    for written, count in write_parts(plates, out, folder.name).items():
        typer.echo(f"{written}: {count} plates")


if __name__ == "__main__":
    typer.run(main)
