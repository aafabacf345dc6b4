"""``python -m training.detector.measure WEIGHTS --data DIR...``: how well a detector's weights find labelled plates."""

import logging
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import track

from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.detection_metrics import Detections
from plate_nets.evaluation.report import detection_figures, print_detection
from plate_nets.networks.checkpoint import load_weights
from plate_nets.networks.runtimes.torchscript import TorchDetector
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.recognition.detection import DetectionSettings, DetectorNetwork, PlateDetector
from training.command import errors_in_one_line
from training.detector.pictures import split_photos
from training.detector.regions import read_regions, with_regions

console = Console()

LONG_SIDE = 640
"""Long side of the input, px."""


def network(weights: Path) -> DetectorNetwork:
    """Weights -> the network as `PlateDetector` calls it, in torch."""
    module = YOLOv5n()
    load_weights(module, weights)
    return TorchDetector(module.eval().fuse())


@errors_in_one_line()
def main(
    weights: Annotated[Path, typer.Argument(help="Weights of YOLOv5n, safetensors.")],
    data: Annotated[list[Path], typer.Option(help="Labelled folder. Repeatable.")],
    holdout: Annotated[
        float, typer.Option(help="Only the photos that training holds out at this share; 0: all.")
    ] = 0.0,
    ignore: Annotated[
        Path | None, typer.Option(help="CSV of regions where boxes do not count: file,xmin,ymin,xmax,ymax.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of the network.")] = 1,
) -> None:
    """Print AP, recall and precision over thresholds, and recall by plate height; with --ignore, also without those
    regions.
    """
    torch.set_num_threads(threads)
    regions = read_regions(ignore) if ignore else {}
    threshold = DetectionSettings().score_threshold
    detector = PlateDetector(network(weights), DetectionSettings(long_side=LONG_SIDE, proposal=0.01))
    for folder in data:
        chosen, held = split_photos([folder], holdout)
        pictures = held if holdout else chosen
        results = [
            Detections(*detector.detect(read_photo(picture.photo)), picture.boxes)
            for picture in track(pictures, folder.name, console=Console(stderr=True))
        ]
        measured = f"{folder.name}, {len(pictures)} photos, {LONG_SIDE} px"
        console.print(f"{measured}, as labelled")
        print_detection(console, detection_figures(results, threshold))
        if ignore:
            results = with_regions(results, pictures, regions)
            count = sum(len(result.ignored) for result in results)
            console.print(f"{measured}, {count} regions of {ignore.name} ignored")
            print_detection(console, detection_figures(results, threshold))


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    typer.run(main)
