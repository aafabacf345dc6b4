"""Network -> ONNX file, for ONNX Runtime and TensorRT. Needs torch."""

from collections.abc import Sequence
from pathlib import Path

import onnxruntime
import onnxscript  # noqa: F401  # the exporter of torch needs it, and would import it late
import torch
from onnxruntime.capi import onnxruntime_pybind11_state as faults

import plate_nets.networks
from plate_nets.common.errors import ConversionError, WeightsError
from plate_nets.networks.conversion import exported
from plate_nets.networks.conversion.conversion import Conversion
from plate_nets.networks.conversion.formats import Array
from plate_nets.networks.conversion.provenance import Provenance, provenance_of
from plate_nets.networks.runtimes.networks import ONNX

FILES = (ONNX,)
INPUT, OUTPUT = "input__0", "output__0"
"""The names of the contract, so that Triton's backends for ONNX and TensorRT serve the file in place of `model.pt`."""

_UNREADABLE = (faults.Fail, faults.InvalidGraph, faults.InvalidProtobuf, faults.NotImplemented)
_REFUSED = (faults.Fail, faults.InvalidArgument, faults.RuntimeException)


def make(conversion: Conversion, folder: Path) -> None:
    """A network with its weights -> `model.onnx` in ``folder``."""
    graph = exported.export(conversion)
    try:
        with exported.quiet():
            program = torch.onnx.export(graph, dynamo=True, input_names=[INPUT], output_names=[OUTPUT], verbose=False)
    except torch.onnx.errors.OnnxExporterError as error:
        raise ConversionError(f"{conversion.name}: cannot become ONNX: {str(error).splitlines()[0]}") from error
    assert program is not None
    program.model.metadata_props.update(current_provenance(conversion.weights))
    program.save(folder / ONNX)


def run(folder: Path, inputs: Sequence[Array]) -> list[Array]:
    """Run the saved `model.onnx` on each of the inputs, on the CPU."""
    try:
        session = _load(folder)
    except ConversionError as error:
        raise WeightsError(str(error)) from error
    try:
        return [session.run(None, {INPUT: array})[0] for array in inputs]
    except _REFUSED as error:
        raise ConversionError(f"{folder / ONNX}: {error}") from error


def current_provenance(weights: Path) -> Provenance:
    sources = (Path(plate_nets.networks.__path__[0]), Path(exported.__file__), Path(__file__))
    return provenance_of(weights, sources, torch=str(torch.__version__))


def saved_provenance(folder: Path) -> Provenance:
    return dict(_load(folder).get_modelmeta().custom_metadata_map)


def _load(folder: Path) -> onnxruntime.InferenceSession:
    path = folder / ONNX
    if not path.is_file():
        raise ConversionError(f"{path}: no such file")
    try:
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except _UNREADABLE as error:
        raise ConversionError(f"{path}: not a readable ONNX file: {error}") from error
