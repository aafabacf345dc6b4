"""`python -m training.detector.quantize`: what a detector needs to run in 8-bit integers, beside its weights.

That is the range of values that each of its layers gives, as seen on pictures like those that it will be asked about.
NNCF says where values are rounded and measures the ranges; `runtimes.quantization` rounds. The weights stay as they
are, and the ranges go into the metadata of their file.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import openvino
import typer

from plate_nets.conversion.graphs.yolov5 import yolov5
from plate_nets.conversion.openvino_ir import build
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import pictures_below
from plate_nets.nets.checkpoint import load_weights, read_metadata, save_weights
from plate_nets.nets.yolov5 import YOLOv5n
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.geometry import Letterbox
from plate_nets.runtimes.detector import Pictures, up_to_heads
from plate_nets.runtimes.quantization import RANGES, Ranges
from plate_nets.runtimes.torchscript import detector_input
from training.loop import faults_in_a_line

_DIGITS = 6
"""Of a range; a step is a 256th of it."""


def ranges_on(model: openvino.Model, pictures: Sequence[Pictures]) -> Ranges:
    """The graph of a detector, and pictures (1, h, w, 3) BGR in its size -> the ranges of its layers."""
    import nncf  # late: takes seconds

    rounded = nncf.quantize(
        up_to_heads(model),
        nncf.Dataset(pictures, lambda picture: detector_input(picture).numpy()),
        preset=nncf.QuantizationPreset.MIXED,  # HardSwish gives less than 0 hardly ever
        subset_size=len(pictures),
        # Moving the biases too gains no more than chance: 192 plates of ru_dev are read instead of 191, and of 80
        # rendered close-ups 79 in either case
        advanced_parameters=nncf.AdvancedQuantizationParameters(disable_bias_correction=True),
    )
    return {
        node.input_value(0).get_node().get_friendly_name(): (_number(node, 1), _number(node, 2))
        for node in rounded.get_ordered_ops()
        if node.get_type_name() == "FakeQuantize"
    }


def _number(node: openvino.Node, place: int) -> float:
    """An input of a node that is one constant number -> it."""
    return float(f"{node.input_value(place).get_node().data.item():.{_DIGITS}g}")


app = typer.Typer(add_completion=False)


@app.command()
def main(
    weights: Annotated[Path, typer.Argument(help="Weights of YOLOv5n; the ranges are written into the same file.")],
    pictures: Annotated[list[Path], typer.Option(help="Folder of pictures, labelled or not; may be given again.")],
    count: Annotated[int, typer.Option(min=1, help="How many of them are taken, at random.")] = 300,
    seed: int = 0,
) -> None:
    """Measures the ranges of the detector's layers on pictures, so that it can run in int8."""
    logging.getLogger("nncf").setLevel(logging.WARNING)
    with faults_in_a_line():
        found = [path for folder in pictures for path in pictures_below(folder)]
        chosen = np.random.default_rng(seed).permutation(len(found))[:count]
        network = YOLOv5n()
        load_weights(network, weights)
        ranges = ranges_on(build(yolov5, weights), [_placed(found[index]) for index in chosen])
        save_weights(network, weights, read_metadata(weights) | {RANGES: json.dumps(ranges)})
    typer.echo(f"{weights}: the ranges of {len(ranges)} layers, on {len(chosen)} pictures")


def _placed(path: Path) -> Pictures:
    """A photo in the detector's size: (1, h, w, 3) BGR."""
    photo = read_photo(path)
    hw = (photo.shape[0], photo.shape[1])
    return Letterbox(hw, DetectionSettings().side_for(hw)).place(photo)


if __name__ == "__main__":
    app()
