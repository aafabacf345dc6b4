"""``python -m training.detector.measure WEIGHTS --data DIR...``: how well a detector's weights find labelled plates.

Two files beside this one have visible plates without a label, which detectors proposed and a person inspected:
`unlabelled_ru_dev.csv` for `ru_dev`, where only the main plate is labelled, and `unlabelled.csv` for the part of
`world_boxes` held out at 0.12.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import track

from plate_nets.contract import YOLO
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import BOX_COLUMNS, csv_rows, parse_box, read_photo
from plate_nets.evaluation.detection_metrics import Detections
from plate_nets.evaluation.report import detection_figures, print_detection
from plate_nets.networks.registry import NETWORKS, YOLO_FAST
from plate_nets.networks.runtimes.torchscript import TorchDetector
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.recognition.detection import DetectionSettings, DetectorNetwork, PlateDetector
from plate_nets.types import Boxes
from training.command import errors_in_one_line
from training.detector.pictures import split_photos

LONG_SIDE = 640
"""Long side of the input, px."""


def network(weights: Path) -> DetectorNetwork:
    """Weights -> the network as `PlateDetector` calls it, in torch: the small one if the file has its name."""
    registered = YOLO_FAST if weights.stem == YOLO_FAST.name else NETWORKS[YOLO.name]
    module = registered.load(main_scheme(), weights)
    assert isinstance(module, YOLOv5n)
    return TorchDetector(module.fuse())


def read_regions(path: Path) -> dict[str, Boxes]:
    """A file ``file,xmin,ymin,xmax,ymax`` -> the regions (K, 4) of each photo, by file name."""
    rows: dict[str, list[tuple[float, ...]]] = {}
    for _, row in csv_rows(path, ("file", *BOX_COLUMNS)):
        rows.setdefault(row["file"], []).append(parse_box(row).sides)
    return {name: np.array(boxes, np.float32) for name, boxes in rows.items()}


@errors_in_one_line()
def main(
    weights: Annotated[Path, typer.Argument(help="Weights of a detector, safetensors.")],
    data: Annotated[list[Path], typer.Option(help="Labelled folder. Repeatable.")],
    holdout: Annotated[
        float, typer.Option(help="Only the photos that training holds out at this share; 0: all.")
    ] = 0.0,
    ignore: Annotated[
        Path | None,
        typer.Option(help="CSV of regions where boxes do not count: file,xmin,ymin,xmax,ymax.", exists=True),
    ] = None,
) -> None:
    """Print AP, recall and precision over thresholds, and recall by plate height; with --ignore, without regions."""
    torch.set_num_threads(1)
    console = Console()
    regions = read_regions(ignore) if ignore else {}
    detector = PlateDetector(network(weights), DetectionSettings(long_side=LONG_SIDE, proposal=0.01))
    for folder in data:
        chosen, held = split_photos([folder], holdout)
        results = []
        for picture in track(held if holdout else chosen, folder.name, console=Console(stderr=True)):
            found = Detections(*detector.detect(read_photo(picture.photo)), picture.boxes)
            results.append(replace(found, ignored=regions.get(picture.photo.name, found.ignored)))
        count = sum(len(result.ignored) for result in results)
        console.print(f"{folder.name}, {len(results)} photos, {LONG_SIDE} px, {count} regions ignored")
        print_detection(console, detection_figures(results, DetectionSettings().score_threshold))


if __name__ == "__main__":
    typer.run(main)
