"""`python -m training.quantize WEIGHTS --pictures FOLDER`: measures what a network needs to run in 8-bit integers.

That is the range of each layer's values on typical pictures. NNCF chooses the places where values are rounded, and
measures the ranges; `runtimes.quantization` rounds. The weights do not change: the ranges go into the metadata of their
file.
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

from plate_nets.common.errors import PlateError
from plate_nets.contract import CORNERS, READERS, YOLO
from plate_nets.countries import MAIN_SCHEME, PlateScheme, load_schemes
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import pictures_below
from plate_nets.networks.checkpoint import read_metadata, save_weights
from plate_nets.networks.conversion.openvino_ir import build
from plate_nets.networks.conversion.table import GRAPHS
from plate_nets.networks.registry import DETECTORS, NETWORKS
from plate_nets.networks.runtimes.detector import up_to_heads
from plate_nets.networks.runtimes.networks import Networks, default_repository, first_versions, load_converted
from plate_nets.networks.runtimes.precision import CANDIDATES
from plate_nets.networks.runtimes.quantization import RANGES, Ranges
from plate_nets.networks.runtimes.torchscript import detector_input
from plate_nets.recognition.detection import DetectionSettings, detail_of
from plate_nets.recognition.local import LocalReader
from training.command import errors_in_one_line

_NETWORKS = tuple(name for name in CANDIDATES if name != CORNERS.name)
"""The networks that int8 is for: it moves the corners of CornerNet."""
_DIGITS = 6
"""Significant digits of a range; a step is a 256th of it."""
_ROUNDED = "Relu"
"""The kind of layer whose outputs are rounded, except in the detector, which rounds all.

If LPRNet's sums and context are rounded too, it is no faster: 0.56 of its float32 time either way (16 crops, one
thread, AVX2). But then only 0.46 of 381 crops of ru_dev keep the path of each step. With this kind alone 0.91 do, and
all 204 plates keep their text.
"""


def ranges_on(name: str, model: openvino.Model, inputs: Sequence[NDArray[Any]]) -> Ranges:
    """The name and graph of a network, and inputs from the pipeline -> the ranges of its layers."""
    import nncf  # late: takes seconds

    detector = name in DETECTORS
    rounded = nncf.quantize(
        up_to_heads(model) if detector else model,
        nncf.Dataset(inputs, lambda given: detector_input(given).numpy() if detector else given),
        preset=nncf.QuantizationPreset.MIXED,  # HardSwish is hardly ever negative
        subset_size=len(inputs),
        # Correcting the biases gains nothing certain: 192 plates of ru_dev are read instead of 191, and 79 of 80
        # rendered close-ups in either case
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
    """The value of a node's input, which is a single constant."""
    return float(f"{node.input_value(place).get_node().data.item():.{_DIGITS}g}")


def converted() -> Networks:
    """The converted networks of the package."""
    return load_converted(first_versions(default_repository()), readers=READERS)


def inputs_of(
    name: str, photos: Sequence[Path], schemes: Sequence[PlateScheme], networks: Callable[[], Networks] = converted
) -> list[NDArray[Any]]:
    """The inputs of a network while the pipeline reads photos: single pictures, windows or crops."""
    inputs: list[NDArray[Any]] = []

    def record(network: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def ask(given: NDArray[Any]) -> Any:
            inputs.extend(given[index : index + 1].copy() for index in range(len(given)))
            return network(given)

        return ask

    def recorded() -> Networks:
        loaded = networks()
        if name in READERS:
            return replace(loaded, readers={**loaded.readers, name: record(loaded.readers[name])})
        place = YOLO.name if name in DETECTORS else name
        recording: dict[str, Any] = {place: record(getattr(loaded, place))}
        return replace(loaded, **recording)

    reader = LocalReader(schemes, networks=recorded, detection=DetectionSettings(detail=detail_of(name)))
    for photo in track(photos, f"reading {len(photos)} photos"):
        reader.read(read_photo(photo))
    return inputs


def quantize(
    weights: Path,
    name: str,
    folders: Sequence[Path],
    count: int,
    schemes: Sequence[PlateScheme],
    networks: Callable[[], Networks] = converted,
    left_out: Sequence[str] = (),
) -> str:
    """Write the ranges of a network's layers, on photos in folders, into its weights -> what was measured.

    ``left_out``: parts of the network whose outputs are not rounded.

    Raises:
        PlateError: the weights or the photos cannot be used.
    """
    logging.getLogger("nncf").setLevel(logging.WARNING)
    found = [path for folder in folders for path in pictures_below(folder)]
    chosen = np.random.default_rng(0).permutation(len(found))[:count]
    loaded, of_weights = NETWORKS[name].load(schemes[0], weights), NETWORKS[name].scheme_of_weights(schemes[0])
    inputs = inputs_of(name, [found[index] for index in chosen], schemes, networks)
    if not inputs:
        raise PlateError(f"{weights}: no plate was found in the photos")
    measured = ranges_on(name, build(GRAPHS[name], weights, of_weights), inputs)
    ranges = {layer: ends for layer, ends in measured.items() if layer.partition(".")[0] not in left_out}
    metadata = read_metadata(weights) | {RANGES: json.dumps(ranges)}
    save_weights(loaded, weights, metadata, of_weights)
    return f"the ranges of {len(ranges)} layers, on {len(inputs)} inputs in {len(chosen)} photos"


@errors_in_one_line()
def main(
    weights: Annotated[Path, typer.Argument(help="Weights of a network; the ranges are written into the file.")],
    pictures: Annotated[list[Path], typer.Option(help="Folder of photos, labelled or not. Repeatable.")],
    count: Annotated[int, typer.Option(min=1, help="How many photos to read, chosen at random.")] = 300,
    scheme: Annotated[str, typer.Option(help="Countries to read, comma-separated.")] = MAIN_SCHEME,
    network: Annotated[str, typer.Option(help="Network of the weights. Default: the name of the file.")] = "",
) -> None:
    """Measure the ranges of a network's layers on photos, so that it can run in int8."""
    name = network or weights.stem
    if name not in _NETWORKS:
        raise PlateError(f"--network: expected {', '.join(_NETWORKS)}, got {name!r}")
    typer.echo(f"{weights}: {quantize(weights, name, pictures, count, load_schemes(scheme))}")


if __name__ == "__main__":
    typer.run(main)
