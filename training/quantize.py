"""`python -m training.quantize WEIGHTS --pictures FOLDER`: what a network needs to run in 8-bit integers.

That is the range of values that each of its layers gives for pictures like those that it will see. NNCF decides where
values are rounded and measures the ranges, and `runtimes.quantization` rounds. The weights stay as they are: the ranges
go into the metadata of their file.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import openvino
import typer
from numpy.typing import NDArray
from rich.progress import track

from plate_nets.contract import READERS, YOLO
from plate_nets.conversion.openvino_ir import build
from plate_nets.conversion.table import GRAPHS
from plate_nets.errors import PlateError
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import pictures_below
from plate_nets.networks.checkpoint import read_metadata, save_weights
from plate_nets.networks.registry import NETWORKS
from plate_nets.plates import DEFAULT_SCHEME, PlateScheme, load_schemes
from plate_nets.recognition.local import LocalReader
from plate_nets.runtimes.detector import up_to_heads
from plate_nets.runtimes.networks import Networks, default_repository, first_versions, load_converted
from plate_nets.runtimes.precision import CANDIDATES
from plate_nets.runtimes.quantization import RANGES, Ranges
from plate_nets.runtimes.torchscript import detector_input
from training.loop import faults_in_a_line

_DIGITS = 6
"""Of a range; a step is a 256th of it."""
_ROUNDED = "Relu"
"""Of networks other than the detector only what their activations give is rounded. LPRNet takes 0.56 of its float32
time either way (16 crops, one thread, AVX2). With the sums and the context rounded too, 0.46 of 381 crops of ru_dev
keep the path of each step; with the activations alone 0.91 do, and all 204 plates keep their text."""


def ranges_on(name: str, model: openvino.Model, inputs: Sequence[NDArray[Any]]) -> Ranges:
    """The graph of a network by its name, and inputs as the pipeline gives them -> the ranges of its layers."""
    import nncf  # late: takes seconds

    detector = name == YOLO.name
    rounded = nncf.quantize(
        up_to_heads(model) if detector else model,
        nncf.Dataset(inputs, lambda given: detector_input(given).numpy() if detector else given),
        preset=nncf.QuantizationPreset.MIXED,  # HardSwish gives less than 0 hardly ever
        subset_size=len(inputs),
        # Moving the biases too gains no more than chance: 192 plates of ru_dev are read instead of 191, and of 80
        # rendered close-ups 79 in either case
        advanced_parameters=nncf.AdvancedQuantizationParameters(disable_bias_correction=True),
    )
    nodes = [node for node in rounded.get_ordered_ops() if node.get_type_name() == "FakeQuantize"]
    layers = [(node, node.input_value(0).get_node()) for node in nodes]
    return {
        layer.get_friendly_name(): (_number(node, 1), _number(node, 2))
        for node, layer in layers
        if detector or layer.get_type_name() == _ROUNDED
    }


def _number(node: openvino.Node, place: int) -> float:
    """An input of a node that is one constant number -> it."""
    return float(f"{node.input_value(place).get_node().data.item():.{_DIGITS}g}")


def inputs_of(name: str, photos: Sequence[Path], schemes: Sequence[PlateScheme]) -> list[NDArray[Any]]:
    """What a network is asked as the converted pipeline reads photos, one picture, window or crop at a time."""
    asked: list[NDArray[Any]] = []

    def listen(network: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(given: NDArray[Any]) -> Any:
            asked.extend(given[index : index + 1].copy() for index in range(len(given)))
            return network(given)

        return ask

    def networks() -> Networks:
        loaded = load_converted(first_versions(default_repository()), readers=READERS)
        if name in READERS:
            return replace(loaded, readers={**loaded.readers, name: listen(loaded.readers[name])})
        heard: dict[str, Any] = {name: listen(getattr(loaded, name))}
        return replace(loaded, **heard)

    reader = LocalReader(schemes, networks=networks)
    for photo in track(photos, f"reading {len(photos)} photos"):
        reader.read(read_photo(photo))
    return asked


app = typer.Typer(add_completion=False)


@app.command()
def main(
    weights: Annotated[
        Path, typer.Argument(help="Weights of the detector, CornerNet or LPRNet; the ranges are written into the file.")
    ],
    pictures: Annotated[list[Path], typer.Option(help="Folder of photos, labelled or not; may be given again.")],
    count: Annotated[int, typer.Option(min=1, help="How many of them to read, at random.")] = 300,
    scheme: Annotated[str, typer.Option(help="Countries to read, comma-separated.")] = DEFAULT_SCHEME,
    network: Annotated[str, typer.Option(help="Network of the weights. Default: the name of the file.")] = "",
    seed: int = 0,
) -> None:
    """Measures the ranges of a network's layers on photos, so that it can run in int8."""
    logging.getLogger("nncf").setLevel(logging.WARNING)
    with faults_in_a_line():
        name = network or weights.stem
        if name not in CANDIDATES:
            raise PlateError(f"--network: expected {', '.join(CANDIDATES)}, got {name!r}")
        found = [path for folder in pictures for path in pictures_below(folder)]
        chosen = np.random.default_rng(seed).permutation(len(found))[:count]
        schemes = load_schemes(scheme)
        loaded, of_weights = NETWORKS[name].load(schemes[0], weights), NETWORKS[name].scheme_of_weights(schemes[0])
        inputs = inputs_of(name, [found[index] for index in chosen], schemes)
        if not inputs:
            raise PlateError(f"{weights}: no plate was found in the photos")
        ranges = ranges_on(name, build(GRAPHS[name], weights, of_weights), inputs)
        metadata = read_metadata(weights) | {RANGES: json.dumps(ranges)}
        save_weights(loaded, weights, metadata, of_weights)
    typer.echo(f"{weights}: the ranges of {len(ranges)} layers, on {len(inputs)} inputs in {len(chosen)} photos")


if __name__ == "__main__":
    app()
