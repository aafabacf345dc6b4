"""`python -m benchmarks.peers FOLDER...`: compares another plate reader with this one, on the same labelled plates.

The other reader gets stretched crops of the labelled boxes; ours first finds the corners in these boxes. With
``--detector`` both read whole photos: each finds the plates by itself, and a plate that it does not find has no text.
They take turns, so that a busy machine slows both. If the labels have a column `country`, as those that
`python -m training` holds out, the table says how often the country is right among the plates with a right text. It
needs the extra `onnx`, and the configuration of the reader, `*_config.yaml`, beside its file.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.measures.other_reader import OtherReader
from plate_nets.countries import load_schemes
from plate_nets.evaluation.dataset import REQUIRED, csv_rows, load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.evaluation.onnx_pair import OnnxDetector
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.overlap import iou
from plate_nets.types import Boxes, Frame, Plate, Reading
from training.command import errors_in_one_line

_OVERLAP = 0.3
"""Minimum overlap (IoU) of a found plate with the labelled box."""


@dataclass(frozen=True)
class Answer:
    """A reader's answer for a plate: its text, empty if uncertain; its best guess, and the country, or ""."""

    text: str
    best: str
    country: str


@dataclass
class Compared:
    """Plates of a folder: texts and countries (empty: unknown), both readers' answers, and ms per plate of each."""

    folder: str
    labels: list[tuple[str, str]] = field(default_factory=list)
    ours: list[Answer] = field(default_factory=list)
    other: list[Answer] = field(default_factory=list)
    our_ms: list[float] = field(default_factory=list)
    other_ms: list[float] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Its row of the table."""
        ours, other = statistics.median(self.our_ms), statistics.median(self.other_ms)
        return [
            self.folder,
            str(len(self.labels)),
            *self._shares(self.ours, ("best", "text", "wrong", "sure", "country")),
            *self._shares(self.other, ("text", "wrong", "country")),
            f"{ours:.2f} / {other:.2f} = {ours / other:.2f}",
        ]

    def _shares(self, answers: Sequence[Answer], columns: Sequence[str]) -> list[str]:
        pairs = list(zip(answers, self.labels, strict=True))
        of_country = [answer.country == country for answer, (text, country) in pairs if country and answer.text == text]
        told = [answer.text == text for answer, (text, _) in pairs if answer.text]
        found = {
            "sure": Share(sum(told), len(told)),
            "best": Share(sum(answer.best == text for answer, (text, _) in pairs), len(pairs)),
            "text": Share(sum(answer.text == text for answer, (text, _) in pairs), len(pairs)),
            "wrong": Share(sum(answer.text not in ("", text) for answer, (text, _) in pairs), len(pairs)),
            "country": Share(sum(of_country), len(of_country)),
        }
        return [_cell(found[name]) for name in columns]


@errors_in_one_line()
def main(
    folders: Annotated[list[Path], typer.Argument(help="Labelled folders.")],
    model: Annotated[Path, typer.Option(help="The other reader: an ONNX file of fast-plate-ocr.")],
    detector: Annotated[
        Path | None,
        typer.Option(help="The other detector, to read whole photos: an ONNX file of open-image-models."),
    ] = None,
    scheme: Annotated[str, typer.Option(help="Countries that our reader reads, comma-separated.")] = "world",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of each reader.")] = 1,
) -> None:
    """Print how many plates each reader reads right, with 95 % intervals, and the time of each per plate."""
    schemes = load_schemes(scheme)
    ours, other = LocalReader(scheme=schemes, threads=threads), OtherReader(model, threads)
    finder = None if detector is None else OnnxDetector(detector, threads)
    cv2.setNumThreads(threads)
    title = f"{scheme}; of the plates, shares with intervals of 95 %"
    table = Table(
        "folder", "plates", "best right", "text right", "wrong", "right of sure", "country right", title=title
    )
    for name in ("other: text right", "wrong", "country right", "ms a plate, ours / other"):
        table.add_column(name)
    for folder in folders:
        table.add_row(*compare(folder, ours, other, finder).cells())
    Console(width=200).print(table)


def compare(folder: Path, ours: LocalReader, other: OtherReader, detector: OnnxDetector | None = None) -> Compared:
    """Compare both readers on the plates of a labelled folder: in the labelled boxes or, with the other's detector, in
    whole photos.

    Raises:
        PlateError: the folder cannot be read.
    """
    labelled = {row["file"]: (row.get("country") or "").lower() for _, row in csv_rows(folder / "labels.csv", REQUIRED)}
    countries = {scheme.name: scheme.country for scheme in ours.schemes}
    found = Compared(folder.name)
    for path, plates in track(list(load_dataset(folder).photos()), folder.name, console=Console(stderr=True)):
        known = [plate for plate in plates if plate.text]  # in any script: no text may be told of what is not read
        if not known:
            continue
        frame, boxes = read_photo(path), boxes_of(known)
        if detector is None:
            cut, stretched = ours.cut(frame, boxes), other.cut(frame, boxes)
            readings: Sequence[Reading] = _timed(partial(ours.read_crops, cut), found.our_ms, len(known))
            texts: Sequence[str] = _timed(partial(other.read, stretched), found.other_ms, len(known))
            found.ours += [_answer(reading, countries) for reading in readings]
            found.other += _answers(texts, stretched, other)
        else:
            seen: Sequence[Plate] = _timed(partial(ours.read, frame), found.our_ms, len(known))
            found.ours += _of_labels(boxes, boxes_of(seen), [_answer(plate.reading, countries) for plate in seen])
            pair = partial(_read_whole, frame, detector, other)
            theirs, texts, stretched = _timed(pair, found.other_ms, len(known))
            found.other += _of_labels(boxes, theirs, _answers(texts, stretched, other))
        found.labels += [(plate.text, labelled[path.name]) for plate in known]
    return found


def _read_whole(
    frame: Frame, detector: OnnxDetector, reader: OtherReader
) -> tuple[Boxes, Sequence[str], NDArray[np.uint8]]:
    """A photo -> the boxes of the other detector, the texts in them, and the crops that were read."""
    boxes = detector.find(frame)
    if not len(boxes):
        return boxes, (), np.empty(0, np.uint8)
    crops = reader.cut(frame, boxes)
    return boxes, reader.read(crops), crops


def _answer(reading: Reading, countries: Mapping[str, str]) -> Answer:
    return Answer(reading.text, reading.best, reading.country or countries[reading.scheme])


def _answers(texts: Sequence[str], crops: NDArray[np.uint8], reader: OtherReader) -> list[Answer]:
    regions = reader.regions(crops) if len(texts) else []
    return [Answer(text, text, country) for text, (country, _) in zip(texts, regions, strict=True)]


def _of_labels(labelled: Boxes, found: Boxes, answers: Sequence[Answer]) -> list[Answer]:
    """Boxes (N, 4) of labels and (M, 4) of M answers -> the answer to each label, empty if no box overlaps it."""
    overlaps = iou(labelled, found)
    return [answers[int(row.argmax())] if row.max(initial=0) > _OVERLAP else Answer("", "", "") for row in overlaps]


def _cell(share: Share) -> str:
    if not share.count:
        return "-"
    low, high = share.interval
    return f"{share.value:.2f} ({low:.2f}-{high:.2f})"


def _timed(read: Callable[[], Any], times: list[float], plates: int) -> Any:
    started = time.perf_counter()
    answer = read()
    times.append((time.perf_counter() - started) * 1000 / plates)
    return answer


if __name__ == "__main__":
    typer.run(main)
