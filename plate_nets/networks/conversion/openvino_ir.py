"""Weights -> OpenVINO IR, which runs on a CPU. Does not need torch."""

from collections.abc import Callable, Sequence
from pathlib import Path

import openvino

import plate_nets.networks.conversion.graphs
from plate_nets.common.errors import ConversionError, WeightsError
from plate_nets.countries import PlateScheme
from plate_nets.networks.checkpoint import read_metadata, read_weights
from plate_nets.networks.conversion.conversion import Conversion
from plate_nets.networks.conversion.graphs.layers import Array, Weights
from plate_nets.networks.conversion.provenance import Provenance, provenance_of
from plate_nets.networks.runtimes.networks import IR, IR_WEIGHTS
from plate_nets.networks.runtimes.openvino import core, load_ir
from plate_nets.networks.runtimes.quantization import RANGES

FILES = (IR_WEIGHTS, IR)
"""In the order in which they are moved into place; the second one holds the provenance."""

Graph = Callable[[Weights], openvino.Model]


def make(conversion: Conversion, folder: Path) -> None:
    """The weights of a network -> `model.xml` and `model.bin` in ``folder``."""
    assert conversion.graph is not None
    model = build(conversion.graph, conversion.weights, conversion.scheme)
    save(model, current_provenance(conversion.weights), folder)


def build(graph: Graph, path: Path, scheme: PlateScheme | None = None) -> openvino.Model:
    """A safetensors file -> the graph of its network, with the int8 ranges that the file holds.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another scheme or network.
    """
    weights = Weights(read_weights(path, scheme))
    try:
        model = graph(weights)
    except (KeyError, RuntimeError, ValueError, IndexError) as error:  # the last three if shapes do not fit
        fault = str(error.args[0]).strip().splitlines()[-1]
        raise WeightsError(f"{path}: not weights of {graph.__name__}: {fault}") from error
    if unknown := weights.unused():
        raise WeightsError(
            f"{path}: not weights of {graph.__name__}: {len(unknown)} tensors are unknown, first {unknown[0]}"
        )
    if ranges := read_metadata(path).get(RANGES):
        model.set_rt_info(ranges, [RANGES])
    return model


def save(model: openvino.Model, provenance: Provenance, folder: Path) -> None:
    """A graph -> `model.xml` and `model.bin` in ``folder``.

    Weights stay FP32: FP16 halves the detector's file of 7 MB, but moves boxes by up to 0.3 px and scores by 0.004 (20
    street photos, rows above 0.05; FP32: 0.0003 px and 2e-6).

    Raises:
        ConversionError: the disk is full.
    """
    for key, value in provenance.items():
        model.set_rt_info(value, ["provenance", key])
    try:
        openvino.save_model(model, folder / IR, compress_to_fp16=False)
    except RuntimeError as error:
        raise ConversionError(f"{folder / IR}: cannot be written (is the disk full?): {error}") from error


def run(folder: Path, inputs: Sequence[Array]) -> list[Array]:
    """Run the saved IR, as it is served, on each of the inputs."""
    network = load_ir(folder / IR, threads=0)
    try:
        return [network(array).copy() for array in inputs]
    except RuntimeError as error:
        raise ConversionError(f"{folder / IR}: {error}") from error


def current_provenance(weights: Path) -> Provenance:
    return provenance_of(weights, (Path(plate_nets.networks.conversion.graphs.__path__[0]), Path(__file__)))


def saved_provenance(folder: Path) -> Provenance:
    for name in FILES:
        if not (folder / name).is_file():
            raise ConversionError(f"{folder / name}: no such file")
    try:
        model = core().read_model(folder / IR)
    except RuntimeError as error:
        raise ConversionError(f"{folder / IR}: not a readable OpenVINO model: {error}") from error
    if not model.has_rt_info(["provenance"]):
        return {}
    return {key: model.get_rt_info(["provenance", key]).astype(str) for key in model.get_rt_info(["provenance"]).value}
