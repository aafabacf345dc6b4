"""`python -m benchmarks.peers FOLDER...`: compares another plate reader with this one, on the same labelled plates.

The other reader gets stretched crops of the labelled boxes; ours first finds the corners in these boxes. They take
turns, so that a busy machine slows both. If the labels have a column `country`, as `training.reader.locate` writes it,
the table says how often the country is right among the plates with a right text. It needs `pip install onnxruntime`,
which is not a dependency of the project.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import cv2
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.measures.other_reader import SYMBOLS, OtherReader
from plate_nets.evaluation.dataset import REQUIRED, csv_rows, load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.plates import load_schemes
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Reading
from training.command import errors_in_one_line


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
            *self._shares(self.ours, ("best", "text", "wrong", "country")),
            *self._shares(self.other, ("text", "wrong", "country")),
            f"{ours:.2f} / {other:.2f} = {ours / other:.2f}",
        ]

    def _shares(self, answers: Sequence[Answer], columns: Sequence[str]) -> list[str]:
        pairs = list(zip(answers, self.labels, strict=True))
        of_country = [answer.country == country for answer, (text, country) in pairs if country and answer.text == text]
        found = {
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
    scheme: Annotated[str, typer.Option(help="Countries that our reader reads, comma-separated.")] = "world",
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Print how many plates each reader reads right, with 95 % intervals, and the time of each per plate."""
    schemes = load_schemes(scheme)
    ours, other = LocalReader(scheme=schemes, threads=threads), OtherReader(model, threads)
    cv2.setNumThreads(threads)
    title = f"{scheme}; of the plates, shares with intervals of 95 %"
    table = Table("folder", "plates", "best right", "text right", "wrong", "country right", title=title)
    for name in ("other: text right", "wrong", "country right", "ms a plate, ours / other"):
        table.add_column(name)
    for folder in folders:
        table.add_row(*compare(folder, ours, other).cells())
    Console(width=200).print(table)


def compare(folder: Path, ours: LocalReader, other: OtherReader) -> Compared:
    """Compare both readers on the plates of a labelled folder.

    Raises:
        PlateError: the folder cannot be read.
    """
    countries = {scheme.name: scheme.country for scheme in ours.schemes}
    labelled = {row["file"]: (row.get("country") or "").lower() for _, row in csv_rows(folder / "labels.csv", REQUIRED)}
    found = Compared(folder.name)
    for path, plates in track(list(load_dataset(folder).photos()), folder.name, console=Console(stderr=True)):
        known = [plate for plate in plates if plate.text and not set(plate.text) - set(SYMBOLS)]
        if not known:
            continue
        frame, boxes = read_photo(path), boxes_of(known)
        cut = ours.cut(frame, boxes)
        stretched = other.cut(frame, boxes)
        readings: Sequence[Reading] = _timed(partial(ours.read_crops, cut), found.our_ms, len(known))
        texts: Sequence[str] = _timed(partial(other.read, stretched), found.other_ms, len(known))
        found.labels += [(plate.text, labelled[path.name]) for plate in known]
        found.ours += [Answer(each.text, each.best, each.country or countries[each.scheme]) for each in readings]
        regions = other.regions(stretched)
        found.other += [Answer(text, text, country) for text, (country, _) in zip(texts, regions, strict=True)]
    return found


def _cell(share: Share) -> str:
    if not share.count:
        return "-"
    low, high = share.interval
    return f"{share.value:.2f} ({low:.2f}-{high:.2f})"


def _timed(read: Callable[[], Sequence[Any]], times: list[float], plates: int) -> Sequence[Any]:
    started = time.perf_counter()
    answer = read()
    times.append((time.perf_counter() - started) * 1000 / plates)
    return answer


if __name__ == "__main__":
    typer.run(main)
