"""`python -m training.corners.reading`: compares readings from straightened and from upright crops, end to end."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from plate_nets.contract import CROP_DIMS, LPRNET, STN
from plate_nets.errors import DatasetError, PlateError
from plate_nets.evaluation.corner_metrics import TURNED, turns
from plate_nets.evaluation.dataset import Label, load_dataset, read_photo
from plate_nets.evaluation.detection_metrics import match
from plate_nets.evaluation.evaluate import boxes_of, read_plate
from plate_nets.evaluation.reading_metrics import ReadPlate, summarize
from plate_nets.networks.checkpoint import WEIGHTS, weights_path
from plate_nets.networks.registry import NETWORKS
from plate_nets.plates import default_scheme
from plate_nets.recognition.corners import CornerFinder, FoundCorners, distinct
from plate_nets.recognition.decoding import PlateDecoder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.geometry import crop_plates
from plate_nets.recognition.quads import Quads, lines_of
from plate_nets.recognition.rectification import RectificationSettings, crop_rectified, order_corners, quad_boxes
from plate_nets.runtimes.openvino import compile_torch
from plate_nets.types import Boxes, Crops, Frame, Lines, Reading
from training.corners.measure import load_corner_net, load_detector, turn_frame

Cut = Callable[[Frame, Boxes, FoundCorners], tuple[Crops, Lines]]
"""A frame, boxes (N, 4) and their corners -> crops (N, 3, 24, 94) and the lines of their plates."""

MARGINS = ((0, 0), (0.1, 0.1), (0.15, 0.1), (0.15, 0.15), (0.2, 0.15), (0.25, 0.15), (0.2, 0.2), (0.3, 0.2))
"""Margins (x, y) to try, shares of the plate's height."""


@dataclass(frozen=True)
class Case:
    """A labelled plate in a frame; its box and corners are None if it was not found."""

    label: Label
    turned: bool
    frame: int
    row: int | None


@dataclass(frozen=True)
class Seen:
    """A frame, its plates' boxes (N, 4) and corners."""

    frame: Frame
    boxes: Boxes
    corners: FoundCorners


class Reader:
    """Crops (N, 3, 24, 94) -> readings, with the networks of a folder in OpenVINO."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        scheme = default_scheme()
        loaded = (NETWORKS[name].load(scheme, folder / f"{name}.safetensors") for name in (STN.name, LPRNET.name))
        self._stn, self._lprnet = (compile_torch(network, CROP_DIMS, threads) for network in loaded)
        self._decoder = PlateDecoder(scheme)

    def read(self, crops: Crops, lines: Lines) -> list[Reading]:
        """One reading per crop, given the number of lines of each plate."""
        return self._decoder.decode(np.array(self._lprnet(np.array(self._stn(crops)))), lines) if len(crops) else []


def upright(margin: float) -> Cut:
    """Crops along the boxes."""
    return lambda frame, boxes, _: (crop_plates(frame, boxes, margin), np.ones(len(boxes), np.intp))


def straightened(settings: RectificationSettings, box_margin: float = DetectionSettings().crop_margin) -> Cut:
    """Crops along the corners."""

    def cut(frame: Frame, boxes: Boxes, corners: FoundCorners) -> tuple[Crops, Lines]:
        lines = lines_of(corners.quads)
        return crop_rectified(frame, corners.quads, boxes, lines, box_margin, settings), lines

    return cut


def gather(
    photos: Sequence[tuple[Path, tuple[Label, ...]]],
    detector: PlateDetector,
    finder: CornerFinder,
    degrees: float = 0.0,
    share: float = 0.0,
    given: bool = False,
) -> tuple[list[Seen], list[Case]]:
    """Labelled photos -> what is found in them, and each readable label with the row of the plate that it is.

    A plate is found if its labelled box overlaps the box around the corners, or the detector's, by 0.5 or more.
    ``degrees``: turn each photo by this angle first. ``share``: if above 0, crop it around its first plate until the
    plate takes this share of the width. ``given``: use the labelled boxes.
    """
    frames: list[Seen] = []
    cases: list[Case] = []
    for index, (path, labels) in enumerate(photos):
        labels = labels[:1] if share else labels
        frame, boxes_of_labels, quads = turned_photo(read_photo(path), labels, degrees)
        if share:
            frame, boxes_of_labels, quads = close_up(frame, boxes_of_labels, quads, share)
        boxes, scores = boxes_of_labels, np.ones(len(labels), np.float32)
        if not given:
            boxes, scores = detector.detect(frame)
        corners = finder.find(frame, boxes)
        kept = distinct(corners, scores)
        boxes, corners = boxes[kept], corners.rows(kept)
        hits = match(boxes, boxes_of_labels).tolist()
        by_corners = match(quad_boxes(corners.quads), boxes_of_labels).tolist()
        for number, label in enumerate(labels):
            if label.text and not set(label.text) - set(default_scheme().alphabet):
                where = by_corners if number in by_corners else hits
                row = where.index(number) if number in where else None
                turned = quads is not None and abs(float(turns(quads[number : number + 1])[0])) > TURNED
                cases.append(Case(label, turned, index, row))
        frames.append(Seen(frame, boxes, corners))
    return frames, cases


def turned_photo(frame: Frame, labels: Sequence[Label], degrees: float) -> tuple[Frame, Boxes, Quads | None]:
    """Turn a photo clockwise about its middle, with the boxes (N, 4) of its plates, and their corners if all are known.

    After a turn, the boxes are those around the turned corners.
    """
    known = [label.quad for label in labels if label.quad is not None]
    quads = np.stack([order_corners(quad) for quad in known]) if len(known) == len(labels) else None
    if not degrees:
        return frame, boxes_of(labels), quads
    if quads is None:
        raise DatasetError(f"{labels[0].photo}: cannot be turned: corners are unknown")
    picture, turned = turn_frame(frame, quads, degrees)
    return picture, quad_boxes(turned), turned


def close_up(frame: Frame, boxes: Boxes, quads: Quads | None, share: float) -> tuple[Frame, Boxes, Quads | None]:
    """Crop a frame 3:2 around its first box, so that the box takes ``share`` of the width, or less at the edge."""
    xmin, ymin, xmax, ymax = (float(v) for v in boxes[0])
    half_x = (xmax - xmin) / share / 2
    half_y = max(half_x / 1.5, ymax - ymin)
    height, width = frame.shape[:2]
    left, top = max(0, int((xmin + xmax) / 2 - half_x)), max(0, int((ymin + ymax) / 2 - half_y))
    right, bottom = min(width, int((xmin + xmax) / 2 + half_x)), min(height, int((ymin + ymax) / 2 + half_y))
    origin = np.array([left, top], np.float32)
    part, inside = np.ascontiguousarray(frame[top:bottom, left:right]), boxes - np.tile(origin, 2)
    return part, np.asarray(inside, np.float32), None if quads is None else np.asarray(quads - origin, np.float32)


def read_cases(seen: Sequence[Seen], cases: Sequence[Case], reader: Reader, cut: Cut) -> list[ReadPlate]:
    """Cases -> the reading of each."""
    readings = [reader.read(*cut(each.frame, each.boxes, each.corners)) for each in seen]
    return [read_plate(case.label, None if case.row is None else readings[case.frame][case.row]) for case in cases]


def main(
    dataset: Annotated[Path, typer.Argument(help="Folder with images/ and labels.csv.")],
    corners: Annotated[Path, typer.Option(help="Weights of CornerNet.")] = weights_path("corners"),
    reader: Annotated[Path, typer.Option(help="Folder with stn.safetensors and lprnet.safetensors.")] = WEIGHTS,
    turn: Annotated[
        list[float], typer.Option(help="Turn the photos by this angle (degrees). Repeatable for several angles.")
    ] = [0.0],  # noqa: B006
    share: Annotated[
        list[float],
        typer.Option(help="Cut the photos so that the plate takes this share of the width. Repeatable."),
    ] = [0.0],  # noqa: B006
    relabel: Annotated[list[str], typer.Option(help="Correct a label: vk_1090.jpg=P602KP197. Repeatable.")] = [],  # noqa: B006
    rendered: Annotated[
        bool,
        typer.Option("--rendered", help="The set is rendered: use only the served margins, and report by plate type."),
    ] = False,
    given: Annotated[bool, typer.Option("--given", help="Use the labelled boxes instead of detected ones.")] = False,
    photos: Annotated[int | None, typer.Option(min=1, help="Use only the first photos.")] = None,
    differences: Annotated[
        bool, typer.Option("--differences", help="List the plates that are read differently.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Print the plates read exactly, from upright crops and from straightened ones with several margins."""
    cv2.setNumThreads(threads)
    console = Console(width=150)
    try:
        names = dict(pair.split("=", 1) for pair in relabel)
        dataset_photos = load_dataset(dataset, symbols=default_scheme().alphabet).photos()
        labelled = [(path, _relabelled(labels, names)) for path, labels in dataset_photos]
        detector, finder = load_detector(threads), CornerFinder(load_corner_net(corners, threads))
        networks = Reader(reader, threads)
        for degrees, part in ((degrees, part) for part in share for degrees in turn):
            seen, cases = gather(labelled[:photos], detector, finder, degrees, part, given)
            title = f"{dataset.name}, {'labelled' if given else 'detected'} boxes, turned by {degrees:g} degrees"
            title += f", plate {part:g} of the width" if part else ""
            found = sum(case.row is not None for case in cases)
            console.print(f"{found} of {len(cases)} plates found")
            read = {name: read_cases(seen, cases, networks, cut) for name, cut in variants(rendered).items()}
            console.print(_table(title, read, np.array([case.turned for case in cases])))
            if rendered:
                console.print(_kinds_table(list(read.values())[-1]))
            if differences:
                _list_differences(console, read)
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


def variants(served: bool = False) -> dict[str, Cut]:
    """The variants to compare, by name; ``served``: only with the served margins."""
    usual = RectificationSettings()
    margin = DetectionSettings().crop_margin
    cuts = {f"upright, margin {margin:g}": upright(margin)}
    for x, y in ((usual.margin_x, usual.margin_y),) if served else MARGINS:
        settings = RectificationSettings(margin_x=x, margin_y=y)
        cuts[f"straightened, margins {x:g}, {y:g}"] = straightened(settings)
    return cuts


def _relabelled(labels: Iterable[Label], texts: dict[str, str]) -> tuple[Label, ...]:
    return tuple(replace(label, text=texts.get(label.photo.name, label.text)) for label in labels)


def _table(title: str, read: dict[str, list[ReadPlate]], turned: NDArray[np.bool_]) -> Table:
    table = Table(title=title)
    measured = ("exact", "wrong", "best exact")
    for name in ("crops", "plates", *measured, f"over {TURNED:g} degrees", *measured):
        table.add_column(name)
    for name, plates in read.items():
        cells = [name]
        for part in (plates, [plate for plate, is_turned in zip(plates, turned, strict=True) if is_turned]):
            summary = summarize(part)
            values = (summary.exact.value, summary.wrong.value, summary.best_exact.value)
            cells += [str(summary.plates), *(f"{value:.3f}" for value in values)]
        table.add_row(*cells)
    return table


def _kinds_table(plates: Iterable[ReadPlate]) -> Table:
    """Plates of a rendered test set, grouped by the type in their file names."""
    kinds: dict[str, list[ReadPlate]] = {}
    for plate in plates:
        kinds.setdefault(plate.source.rpartition("_")[0], []).append(plate)
    table = Table("type", "plates", "exact", "wrong", "best exact")
    for kind, members in sorted(kinds.items()):
        s = summarize(members)
        table.add_row(kind, str(s.plates), *(f"{share.value:.3f}" for share in (s.exact, s.wrong, s.best_exact)))
    return table


def _list_differences(console: Console, read: dict[str, list[ReadPlate]]) -> None:
    first, *others = read.items()
    for name, plates in others:
        for before, after in zip(first[1], plates, strict=True):
            if before.exact != after.exact:
                console.print(f"{name}: {before.source} {before.label}: {_shown(before)} -> {_shown(after)}")


def _shown(plate: ReadPlate) -> str:
    return f"{plate.best} {plate.reading.confidence:.2f}" if plate.reading else "not found"


if __name__ == "__main__":
    typer.run(main)
