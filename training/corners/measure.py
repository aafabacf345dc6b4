"""`python -m training.corners.measure`: how far found corners are from labelled ones, and how long finding takes."""

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plate_nets.errors import PlateError
from plate_nets.evaluation.corner_metrics import TURNED, corner_errors, turns
from plate_nets.networks.checkpoint import load_weights, weights_path
from plate_nets.networks.corners import CornerNet
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.plates import default_scheme
from plate_nets.recognition.corners import CornerFinder, CornerNetwork, CornerSettings, cut_windows, first_window
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.quads import Quads
from plate_nets.recognition.rectification import GREY, box_quads, quad_boxes
from plate_nets.runtimes.openvino import compile_torch
from plate_nets.runtimes.torchscript import TorchDetector
from plate_nets.types import WINDOW_HEIGHT, WINDOW_WIDTH, Boxes, Frame
from training.corners.validation import LabelledCorners, load_corners
from training.synthesis.scene import render_scene

LEAST_OVERLAP = 0.3
"""Minimum overlap (IoU) with the box around the labelled corners for a found box to count as that plate's."""


@dataclass(frozen=True)
class Row:
    """Result of one way of finding corners: errors (N, 4) in plate heights of N plates, and which are turned (N,)."""

    name: str
    errors: NDArray[np.float32]
    turned: NDArray[np.bool_]
    expected: NDArray[np.float32] | None = None


def load_corner_net(weights: Path, threads: int = 1) -> CornerNetwork:
    """Weights -> the network in OpenVINO, as `CornerFinder` calls it.

    Raises:
        WeightsError: the file is missing, damaged or belongs to another network.
    """
    network = CornerNet()
    load_weights(network.eval(), weights)
    return compile_torch(network, (3, WINDOW_HEIGHT, WINDOW_WIDTH), threads)


def load_detector(threads: int = 1) -> PlateDetector:
    """The committed detector, in torch."""
    torch.set_num_threads(threads)
    yolo = YOLOv5n()
    load_weights(yolo, weights_path("yolo"))
    yolo.eval().fuse()
    return PlateDetector(TorchDetector(yolo))


def detected(labelled: Iterable[LabelledCorners], detector: PlateDetector) -> tuple[list[LabelledCorners], int]:
    """The same plates with the boxes that the detector finds for them, and the number of plates it misses."""
    kept, missed = [], 0
    for each in labelled:
        boxes, _ = detector.detect(each.read())
        overlaps = iou(quad_boxes(each.quads), boxes)
        pairs = [
            (number, int(row.argmax())) for number, row in enumerate(overlaps) if row.max(initial=0) >= LEAST_OVERLAP
        ]
        missed += len(each.quads) - len(pairs)
        if pairs:
            rows, hits = zip(*pairs, strict=True)
            kept.append(LabelledCorners(each.name, each.read, boxes[list(hits)], each.quads[list(rows)]))
    return kept, missed


def measure(labelled: Sequence[LabelledCorners], network: CornerNetwork, name: str, looks: Sequence[int]) -> list[Row]:
    """Plates with boxes -> a row for the boxes' own corners, and one for each number of looks."""
    turned = np.concatenate([np.abs(turns(each.quads)) > TURNED for each in labelled])
    rows = [Row(f"{name}: the box itself", _errors([(box_quads(each.boxes), each.quads) for each in labelled]), turned)]
    for count in looks:
        finder = CornerFinder(network, CornerSettings(looks=count, settled=0))
        found = [finder.find(each.read(), each.boxes) for each in labelled]
        pairs = [(f.quads, each.quads) for f, each in zip(found, labelled, strict=True)]
        rows.append(Row(f"{name}: {count} look(s)", _errors(pairs), turned, np.concatenate([f.errors for f in found])))
    return rows


def moved(labelled: Iterable[LabelledCorners], seed: int = 0) -> list[LabelledCorners]:
    """The same plates with boxes shifted until they overlap the labelled ones by an IoU of 0.4 to 0.6."""
    rng = np.random.default_rng(seed)
    return [replace(each, boxes=np.stack([_moved(box, rng) for box in each.boxes])) for each in labelled]


def scenes(count: int, seed: int = 0) -> list[LabelledCorners]:
    """Rendered street scenes of 1280 x 720 px, turned by up to 15 degrees, with exact corners of their plates."""
    found = []
    for index in range(count):
        rng = np.random.default_rng((seed, index))
        drawn = render_scene(default_scheme(), rng, plates=2, foreign=0.2)
        if drawn.plates:
            quads = np.stack([plate.quad for plate in drawn.plates])
            frame, quads = turn_frame(drawn.frame, quads, float(rng.uniform(-15, 15)))
            found.append(LabelledCorners(f"scene {index}", partial(_same, frame), quad_boxes(quads), quads))
    return found


def turn_frame(frame: Frame, quads: Quads, degrees: float) -> tuple[Frame, Quads]:
    """Turn a frame clockwise about its middle, enlarged to hold all of it, together with quads (N, 4, 2)."""
    height, width = frame.shape[:2]
    cos, sin = float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))
    size = (round(width * abs(cos) + height * abs(sin)), round(width * abs(sin) + height * abs(cos)))
    turn = np.array([[cos, -sin], [sin, cos]])
    shift = np.array(size) / 2 - turn @ (width / 2, height / 2)
    centres = shift + turn @ (0.5, 0.5) - 0.5  # OpenCV counts from the centres of pixels
    matrix = np.concatenate((turn, centres[:, None]), axis=1)
    picture = cv2.warpAffine(frame, matrix, size, flags=cv2.INTER_CUBIC, borderValue=(GREY, GREY, GREY))
    return np.asarray(picture, np.uint8), np.asarray(quads @ turn.T + shift, np.float32)


def milliseconds(network: CornerNetwork, frame: Frame, box: Boxes, rounds: int = 200) -> dict[str, float]:
    """Median processor times, ms, of cutting a window, running the network on one, and finding one plate.

    Processor time and not wall time, so that other work on the machine hardly matters.
    """
    window = first_window(box[0])
    cut = cut_windows(frame, [window])
    finder = CornerFinder(network, CornerSettings(settled=0))
    steps: dict[str, Callable[[], object]] = {
        "window": lambda: cut_windows(frame, [window]),
        "network, one window": lambda: network(cut),
        "two looks at a plate": lambda: finder.find(frame, box),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            started = time.process_time()
            step()
            times[name].append((time.process_time() - started) * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def main(
    weights: Annotated[Path, typer.Argument(help="Weights of CornerNet, safetensors.")] = weights_path("corners"),
    data: Annotated[list[Path], typer.Option(help="Labelled folder with corner points. Repeatable.")] = [],  # noqa: B006
    looks: Annotated[str, typer.Option(help="Numbers of looks, comma-separated.")] = "1,2,3",
    rendered: Annotated[int, typer.Option("--scenes", min=0, help="How many rendered scenes to measure too.")] = 0,
    worst: Annotated[int, typer.Option(min=0, help="How many of the worst plates to list.")] = 0,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Print the errors of corners found from labelled and from detected boxes, and the time per plate."""
    cv2.setNumThreads(threads)
    console = Console(width=150)
    try:
        network = load_corner_net(weights, threads)
        detector = load_detector(threads)
        counts = [int(count) for count in looks.split(",")]
        sets = {folder.name: load_corners(folder) for folder in data}
        if rendered:
            sets[f"{rendered} rendered scenes"] = scenes(rendered)
        for name, labelled in sets.items():
            found, missed = detected(track(labelled, "boxes", console=Console(stderr=True), transient=True), detector)
            rows = measure(labelled, network, "labelled boxes", counts)
            rows += measure(moved(labelled), network, "boxes moved", counts)
            rows += measure(found, network, "detected boxes", counts)
            console.print(_table(f"{name}; {missed} plates not detected", rows))
            for line in _worst(found, rows[-1], worst):
                console.print(line)
            times = milliseconds(network, labelled[0].read(), labelled[0].boxes[:1])
            console.print("processor: " + ", ".join(f"{step} {value:.2f} ms" for step, value in times.items()))
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


def _moved(box: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    size = np.tile(box[2:] - box[:2], 2)
    while True:
        other = np.asarray(box + rng.uniform(-0.45, 0.45, 4) * size, np.float32)
        if (other[2:] > other[:2]).all() and 0.4 <= iou(box[None], other[None])[0, 0] <= 0.6:
            return other


def _same(frame: Frame) -> Frame:
    return frame


def _errors(pairs: Iterable[tuple[Quads, Quads]]) -> NDArray[np.float32]:
    return np.concatenate([corner_errors(found, truth) for found, truth in pairs])


def _table(title: str, rows: Iterable[Row]) -> Table:
    table = Table(title=f"corner errors, share of the plate's height: {title}")
    for name in ("", "plates", "median", "95 %", "worst corner: median", "95 %", "turned: median", "95 %", "expected"):
        table.add_column(name)
    for row in rows:
        cells = [f"{value:.3f}" for part in (row.errors, row.errors.max(1)) for value in _two(part)]
        cells += [f"{value:.3f}" for value in _two(row.errors[row.turned])]
        expected = "" if row.expected is None else f"{np.median(row.expected):.3f} ({_rank(row):.2f})"
        table.add_row(row.name, str(len(row.errors)), *cells, expected)
    return table


def _two(errors: NDArray[np.float32]) -> tuple[float, float]:
    if not errors.size:
        return float("nan"), float("nan")
    return float(np.median(errors)), float(np.quantile(errors, 0.95))


def _rank(row: Row) -> float:
    """Rank correlation between expected and real errors of the plates."""
    if row.expected is None or len(row.errors) < 3:
        return float("nan")
    ranks = [np.argsort(np.argsort(values)) for values in (row.expected, row.errors.mean(1))]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _worst(labelled: Sequence[LabelledCorners], row: Row, count: int) -> list[str]:
    names = [each.name for each in labelled for _ in each.quads]
    order = np.argsort(-row.errors.mean(1))[:count]
    expected = row.expected if row.expected is not None else np.zeros(len(names), np.float32)
    return [
        f"{names[i]}: {', '.join(f'{error:.2f}' for error in row.errors[i])}, expected {expected[i]:.2f}" for i in order
    ]


if __name__ == "__main__":
    typer.run(main)
