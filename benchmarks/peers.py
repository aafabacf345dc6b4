"""`python -m benchmarks.peers FOLDER...`: another reader of plates beside this one, on the same labelled plates.

The other reads crops of the labelled boxes, stretched; ours looks for the corners in these boxes first. They take
turns, so that a busy machine slows both. It needs `pip install onnxruntime`, which the project does not have.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import cv2
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.measures.other_reader import SYMBOLS, OtherReader
from plate_nets.errors import PlateError
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.plates import load_schemes
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Reading


def main(
    folders: Annotated[list[Path], typer.Argument(help="Labelled folders.")],
    model: Annotated[Path, typer.Option(help="The other reader: an ONNX file of fast-plate-ocr.")],
    scheme: Annotated[str, typer.Option(help="Whose plates ours reads.")] = "latin",
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Prints how many plates both read right, and what a plate takes both."""
    try:
        ours, other = LocalReader(scheme=load_schemes(scheme), threads=threads), OtherReader(model, threads)
        cv2.setNumThreads(threads)
        table = Table("folder", "plates", "best exact", "text exact", "wrong", "ms a plate", title=scheme)
        for name in ("other: exact", "wrong", "ms a plate"):
            table.add_column(name)
        for folder in folders:
            table.add_row(*_compare(folder, ours, other))
        Console(width=140).print(table)
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


def _compare(folder: Path, ours: LocalReader, other: OtherReader) -> Sequence[str]:
    alphabet = set(SYMBOLS)
    labels: list[str] = []
    found: list[Reading] = []
    others: list[str] = []
    times: dict[str, list[float]] = {"ours": [], "other": []}
    for path, plates in track(list(load_dataset(folder).photos()), folder.name, console=Console(stderr=True)):
        known = [plate for plate in plates if plate.text and not set(plate.text) - alphabet]
        if not known:
            continue
        frame, boxes = read_photo(path), boxes_of(known)
        crops, corners = ours.cut(frame, boxes)
        stretched = other.cut(frame, boxes)
        labels += [plate.text for plate in known]
        found += _timed(partial(ours.read_crops, crops, corners), times["ours"], len(known))
        others += _timed(partial(other.read, stretched), times["other"], len(known))
    count = len(labels)

    def share(rows: Sequence[bool]) -> str:
        return f"{sum(rows) / max(count, 1):.3f}"

    texts = [(label, reading) for label, reading in zip(labels, found, strict=True)]
    return (
        folder.name,
        str(count),
        share([reading.best == label for label, reading in texts]),
        share([reading.text == label for label, reading in texts]),
        share([reading.text not in ("", label) for label, reading in texts]),
        f"{statistics.median(times['ours']):.2f}",
        share([a == b for a, b in zip(others, labels, strict=True)]),
        share([a not in ("", b) for a, b in zip(others, labels, strict=True)]),
        f"{statistics.median(times['other']):.2f}",
    )


def _timed(read: Callable[[], Sequence[Any]], times: list[float], plates: int) -> Sequence[Any]:
    started = time.perf_counter()
    answer = read()
    times.append((time.perf_counter() - started) * 1000 / plates)
    return answer


if __name__ == "__main__":
    typer.run(main)
