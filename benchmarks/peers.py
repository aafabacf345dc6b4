"""`python -m benchmarks.peers FOLDER...`: another reader of plates beside this one, on the same labelled plates.

The other reads crops of the labelled boxes, stretched; ours looks for the corners in these boxes first. They take
turns, so that a busy machine slows both. It needs `pip install onnxruntime`, which the project does not have.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plate_nets.errors import InputError, PlateError
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.plates import load_schemes
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Boxes, Frame, Reading

_SYMBOLS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HEIGHT, _WIDTH = 64, 128


class OtherReader:
    """A reader as fast-plate-ocr publishes them: uint8 (N, 64, 128, 3) RGB -> (N, slots, 37), "_" last.

    ``model``: its ONNX file.
    """

    def __init__(self, model: Path, threads: int) -> None:
        try:
            onnxruntime: Any = import_module("onnxruntime")
        except ModuleNotFoundError as error:
            raise InputError("benchmarks.peers: expected onnxruntime; pip install onnxruntime brings it") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name

    def cut(self, frame: Frame, boxes: Boxes) -> NDArray[np.uint8]:
        """Boxes (N, 4) xyxy of a frame, BGR -> what the model takes."""
        height, width = frame.shape[:2]
        cut = []
        for x0, y0, x1, y1 in boxes.round().astype(int).clip(0, (width, height, width, height)).tolist():
            crop = cv2.resize(frame[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)], (_WIDTH, _HEIGHT))
            cut.append(cv2.cvtColor(crop, cv2.COLOR_BGR2RGB))
        return np.stack(cut).astype(np.uint8)

    def read(self, crops: NDArray[np.uint8]) -> list[str]:
        """Crops -> texts; it has no way to say that it is not sure."""
        (told, *_) = self._session.run(["plate"], {self._input: crops})
        return ["".join(_SYMBOLS[i] for i in row if i < len(_SYMBOLS)) for row in told.argmax(axis=2).tolist()]


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
    alphabet = set(_SYMBOLS)
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
