"""`python -m training.detector.measure_vehicles WEIGHTS --vehicles TEACHER --data DIR`: how well vehicles are found.

The truth is what the teacher is sure of at twice the input size; its less sure objects are ignored. The teacher is
measured too, at the same input size. ``--sheet`` draws labelled plates with their vehicles, for inspection.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.detection_metrics import Detections, average_precision, found
from plate_nets.evaluation.report import figure_table
from plate_nets.recognition.annotation import READ, UNREAD, VEHICLE
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.vehicles import rows_of, vehicles_of, with_vehicles
from plate_nets.types import VEHICLES, Box, Boxes, Frame, Plate, Reading, Vehicle
from training.command import errors_in_one_line
from training.detector.measure import network
from training.detector.objects import KINDS, Objects
from training.detector.pictures import Picture, split_photos
from training.detector.teach import VehicleTeacher
from training.picture_file import save_picture

SURE = 0.5
"""Minimum score of the teacher for a vehicle to be true."""
_LEAST = 0.05
"""Minimum score for the average precision."""
_COLUMNS, _TILE = 5, 240
"""Of a sheet: tiles per row, and px of a tile."""
_MARGIN = 0.15
"""Margin around the content of a tile."""


def vehicles_in(named: Objects) -> tuple[Vehicle, ...]:
    """A teacher's objects -> vehicles, highest score first."""
    order = np.argsort(-named.scores, kind="stable")
    return tuple(
        Vehicle(Box(*named.boxes[row].tolist()), KINDS[named.kinds[row]], float(named.scores[row])) for row in order
    )


def compared(vehicles: Sequence[Vehicle], truth: Objects, kind: str | None) -> Detections:
    """Pair the vehicles found in a picture with the teacher's, of one kind or of all, for matching."""
    rows = rows_of([each for each in vehicles if kind in (None, each.type)])
    named = truth if kind is None else truth.where(truth.kinds == KINDS.index(kind))
    sure = named.scores >= SURE
    return Detections(rows[:, :4], rows[:, 4], named.boxes[sure], named.boxes[~sure])


def print_figures(console: Console, results: dict[str, list[tuple[tuple[Vehicle, ...], Objects]]]) -> None:
    """Print AP50, and the recall at the default score, from the results of each network and the truth."""
    table = figure_table("vehicles", "there", *(f"{name}: {what}" for name in results for what in ("AP50", "recall")))
    threshold = DetectionSettings().vehicle_threshold
    for kind in (None, *VEHICLES):
        cells, count = [], 0
        for pairs in results.values():
            pictures = [compared(vehicles, truth, kind) for vehicles, truth in pairs]
            count = sum(len(each.truth) for each in pictures)
            if count:
                share = float(np.mean(found(pictures, threshold)))
                cells += [f"{average_precision(pictures):.4f}", f"{share:.4f}"]
        table.add_row(kind or "all, of any kind", str(count), *cells)
    console.print(table)


def save_sheet(
    path: Path, pictures: Sequence[Picture], find: Callable[[Frame, Boxes], tuple[Vehicle, ...]], max_tiles: int
) -> int:
    """Draw labelled plates with their vehicles to a PNG of at most ``max_tiles`` tiles -> how many plates have one.

    ``find``: a frame and the boxes (N, 4) of its plates -> the vehicles.

    Raises:
        InputError: it cannot be written.
    """
    tiles: list[Frame] = []
    own = 0
    for picture in pictures:
        frame = read_photo(picture.photo)
        plates = [Plate(Box(*box), 1.0, Reading("", "", 0.0)) for box in np.asarray(picture.boxes).tolist()]
        for plate in with_vehicles(plates, find(frame, picture.boxes)):
            own += plate.vehicle is not None
            tiles.append(_tile(frame, plate, f"{len(tiles)} {picture.photo.stem}"))
            if len(tiles) == max_tiles:
                break
        if len(tiles) == max_tiles:
            break
    tiles += [np.full((_TILE, _TILE, 3), 255, np.uint8)] * (-len(tiles) % _COLUMNS)
    rows = [np.concatenate(tiles[at : at + _COLUMNS], axis=1) for at in range(0, len(tiles), _COLUMNS)]
    path.parent.mkdir(parents=True, exist_ok=True)
    save_picture(path, np.concatenate(rows))
    return own


def _tile(frame: Frame, plate: Plate, name: str) -> Frame:
    """The part of a frame with a plate and its vehicle, or the region where its car would be."""
    drawn = frame.copy()
    line = max(2, max(frame.shape[:2]) // 300)
    shown, colour = plate.box, READ if plate.vehicle else UNREAD
    if plate.vehicle:
        shown = plate.vehicle.box
        _rectangle(drawn, shown, VEHICLE, line)
    else:
        unit = shown.width
        shown = Box(shown.xmin - 2 * unit, shown.ymin - 3 * unit, shown.xmax + 2 * unit, shown.ymax + 1.5 * unit)
    _rectangle(drawn, plate.box, colour, line)
    h, w = frame.shape[:2]
    x, y = _MARGIN * shown.width, _MARGIN * shown.height
    left, right = np.clip((round(shown.xmin - x), round(shown.xmax + x)), 0, w)
    top, bottom = np.clip((round(shown.ymin - y), round(shown.ymax + y)), 0, h)
    part = drawn[top:bottom, left:right]
    scale = (_TILE - 24) / max(part.shape[:2])
    small = cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    tile = np.full((_TILE, _TILE, 3), 255, np.uint8)
    tile[20 : 20 + small.shape[0], 2 : 2 + small.shape[1]] = small
    own = f"{plate.vehicle.type} {plate.vehicle.score:.2f}" if plate.vehicle else "none"
    cv2.putText(tile, f"{name[:20]} {own}", (2, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.4, colour, 1, cv2.LINE_AA)
    return tile


def _rectangle(frame: Frame, box: Box, colour: tuple[int, int, int], line: int) -> None:
    left, top, right, bottom = (round(side) for side in box.sides)
    cv2.rectangle(frame, (left, top), (right, bottom), colour, line)


@errors_in_one_line()
def main(
    weights: Annotated[Path, typer.Argument(help="Weights of the detector, with a head for vehicles.")],
    data: Annotated[list[Path], typer.Option(help="Labelled folder. Repeatable.")],
    vehicles: Annotated[Path, typer.Option(help="Teacher for vehicles: YOLOv5n of COCO, safetensors.")],
    long_side: Annotated[int, typer.Option(help="Long side of the input (px).")] = 640,
    holdout: Annotated[
        float, typer.Option(help="Only the photos that training holds out at this share; 0: all.")
    ] = 0.0,
    most: Annotated[
        int, typer.Option(min=1, help="Maximum number of photos per folder, and of tiles in a sheet.")
    ] = 200,
    sheet: Annotated[Path | None, typer.Option(help="Also write a picture of plates with their vehicles.")] = None,
) -> None:
    """Print AP50 and recall of vehicles, for the weights and for the teacher at the same input size."""
    console = Console()
    least = PlateDetector(network(weights), DetectionSettings(long_side=long_side, vehicle_threshold=_LEAST))
    teacher = VehicleTeacher(vehicles, (long_side,))
    oracle = VehicleTeacher(vehicles, (2 * long_side,))
    detector = PlateDetector(network(weights), DetectionSettings(long_side=long_side))

    def as_served(frame: Frame, plates: Boxes) -> tuple[Vehicle, ...]:
        return vehicles_of(detector.with_large_vehicles(frame, plates, detector.detect_both(frame)[2]))

    for folder in data:
        chosen, held = split_photos([folder], holdout)
        pictures = (held if holdout else chosen)[:most]
        results: dict[str, list[tuple[tuple[Vehicle, ...], Objects]]] = {"weights": [], "teacher": []}
        for picture in track(pictures, folder.name, console=Console(stderr=True)):
            frame = read_photo(picture.photo)
            truth = oracle(frame)
            results["weights"].append((vehicles_of(least.detect_both(frame)[2]), truth))
            results["teacher"].append((vehicles_in(teacher(frame)), truth))
        console.print(f"{folder.name}, {len(pictures)} photos, {long_side} px")
        print_figures(console, results)
        if sheet:
            own = save_sheet(sheet, pictures, as_served, most)
            console.print(f"{sheet}: {own} plates with a vehicle")


if __name__ == "__main__":
    typer.run(main)
