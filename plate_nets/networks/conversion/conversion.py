"""Converts one network into the files of its model folder: built aside, reloaded, compared, then moved into place.

OpenVINO's IR is built from the weights alone. TorchScript, and the comparison with the network itself, need torch
(the `convert` extra); without it the IR is compared with the numbers that `reference` keeps beside the weights.
"""

import importlib.util
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import ConversionError, MissingExtra
from plate_nets.countries import PlateScheme
from plate_nets.networks.checkpoint import check_scheme, load_weights, read_weights
from plate_nets.networks.conversion import openvino_ir
from plate_nets.networks.conversion.provenance import Provenance
from plate_nets.networks.conversion.reference import read_reference, sample, write_reference
from plate_nets.networks.runtimes.networks import TORCHSCRIPT

if TYPE_CHECKING:
    from torch import nn

Array = NDArray[Any]
Answers = Sequence[tuple[Array, ...]]
"""A network's outputs for each input."""


class Mode(StrEnum):
    """How TorchScript is built: by recording one run, or by compiling the source."""

    TRACE = "trace"
    SCRIPT = "script"


@dataclass(frozen=True)
class Conversion:
    """How one network becomes the files of its model folder.

    ``folder`` is their path within a model repository. ``network`` creates the torch module; it is called only if
    torch is installed. ``weights`` is None if there is nothing to learn, ``graph`` if there is no OpenVINO IR;
    ``scheme`` is what the weights must be trained for, if anything.
    ``shapes`` are the inputs (N, ...) on which the saved files are compared with the network; the first one is
    also what tracing uses. Values are drawn uniformly from ``low`` to ``high`` and cast to ``dtype``.
    ``tolerance`` is the largest |found - expected| / (1 + |expected|) of any output value.
    ``mode`` is set if the network converts correctly in that mode only.
    """

    name: str
    folder: Path
    network: "Callable[[], nn.Module]"
    weights: Path | None
    shapes: tuple[tuple[int, ...], ...]
    low: float
    high: float
    tolerance: float
    channels_last: bool = False
    graph: openvino_ir.Graph | None = None
    dtype: type[np.generic] = np.float32
    mode: Mode | None = None
    scheme: PlateScheme | None = None


@dataclass(frozen=True)
class Comparison:
    """How far saved files are from their network: the largest |found - expected| / (1 + |expected|) of any output."""

    files: tuple[str, ...]
    difference: float


def torch_installed() -> bool:
    """Whether TorchScript can be built, and files can be compared with their torch network."""
    return importlib.util.find_spec("torch") is not None


def convert(conversion: Conversion, mode: Mode, repository: Path) -> tuple[Comparison, ...]:
    """Convert a network into its folder of a repository; a failure leaves the existing files untouched.

    Without torch, an existing TorchScript file is removed, because it may come from older weights. Returns no
    comparison if there is neither torch nor a reference.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network.
        ConversionError: a file cannot be built or does not reproduce the network's numbers.
    """
    folder = repository / conversion.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".converting-", dir=folder) as name:
            built = Path(name)
            _save(conversion, conversion.mode or mode, built)
            comparisons = _compare(conversion, built)
            for file in (file for kind in _formats(conversion) for file in kind.FILES):
                (built / file).replace(folder / file)
        if not torch_installed():
            (folder / TORCHSCRIPT).unlink(missing_ok=True)
    except OSError as error:
        raise ConversionError(f"{folder}: cannot be written: {error}") from error
    return comparisons


def check(conversion: Conversion, repository: Path) -> tuple[Comparison, ...]:
    """Compare the files in a network's folder of a repository with the network.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network; or a file is damaged.
        ConversionError: a file is missing, stale, damaged, or does not reproduce the network's numbers.
    """
    if conversion.weights is not None:
        read_weights(conversion.weights, conversion.scheme)
    folder = repository / conversion.folder
    for kind in _formats(conversion):
        found = kind.saved_provenance(folder)
        for key, value in kind.current_provenance(conversion.weights, found.get("mode", Mode.TRACE)).items():
            if found.get(key) != value:
                raise ConversionError(
                    f"{folder}: stale, converted from {key} {found.get(key)}, expected {value}; "
                    f"run `python -m converters {conversion.name}`"
                )
    return _compare(conversion, folder)


def is_current(conversion: Conversion, mode: Mode, repository: Path) -> bool:
    """Whether the files in a network's folder were built from the current weights and code, in this mode.

    Raises:
        WeightsError: the weights belong to another scheme.
    """
    if conversion.weights is not None and conversion.scheme is not None:
        check_scheme(conversion.weights, conversion.scheme)
    folder, mode = repository / conversion.folder, conversion.mode or mode
    try:
        return all(
            kind.saved_provenance(folder) == kind.current_provenance(conversion.weights, mode)
            for kind in _formats(conversion)
        )
    except ConversionError:
        return False


def record(conversion: Conversion) -> None:
    """Record numbers of a network beside its weights, for conversions without torch. Needs torch itself.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network.
    """
    from plate_nets.networks.conversion.torchscript_file import answers

    assert conversion.weights is not None
    ((output,),) = answers(_network(conversion), _inputs(conversion)[:1])
    write_reference(conversion.weights, output)


class Format(Protocol):
    """A kind of converted file: the modules `openvino_ir` and `torchscript_file`."""

    @property
    def FILES(self) -> tuple[str, ...]: ...
    def run(self, folder: Path, inputs: Sequence[Array]) -> Answers: ...
    def current_provenance(self, weights: Path | None, mode: str) -> Provenance: ...
    def saved_provenance(self, folder: Path) -> Provenance: ...


def _formats(conversion: Conversion) -> list[Format]:
    """The formats that can be built here, in the order in which they are moved into place."""
    formats: list[Format] = []
    if torch_installed():
        from plate_nets.networks.conversion import torchscript_file

        formats.append(torchscript_file)
    if conversion.graph is not None:
        formats.append(openvino_ir)
    if not formats:
        raise MissingExtra("convert", f"the conversion of {conversion.name}", "torch")
    return formats


def _save(conversion: Conversion, mode: Mode, folder: Path) -> None:
    if torch_installed():
        from plate_nets.networks.conversion import torchscript_file

        network = _network(conversion)
        module = torchscript_file.ChannelsLast(network).eval() if conversion.channels_last else network
        provenance = torchscript_file.current_provenance(conversion.weights, mode)
        torchscript_file.save(module, _inputs(conversion)[0], mode, provenance, folder)
    if conversion.graph is not None:
        assert conversion.weights is not None
        provenance = openvino_ir.current_provenance(conversion.weights, mode)
        openvino_ir.save(openvino_ir.build(conversion.graph, conversion.weights, conversion.scheme), provenance, folder)


def _network(conversion: Conversion) -> "nn.Module":
    network = conversion.network()
    if conversion.weights is not None:
        load_weights(network, conversion.weights, conversion.scheme)
    return network.eval()


def _inputs(conversion: Conversion) -> list[Array]:
    random = np.random.RandomState(0)  # NumPy guarantees the same numbers in all versions
    return [
        random.uniform(conversion.low, conversion.high, shape).astype(conversion.dtype) for shape in conversion.shapes
    ]


def _compare(conversion: Conversion, folder: Path) -> tuple[Comparison, ...]:
    inputs = _inputs(conversion)
    if torch_installed():
        from plate_nets.networks.conversion.torchscript_file import answers

        expected = answers(_network(conversion), inputs)
        return tuple(
            _comparison(conversion, kind.FILES, folder, inputs, kind.run(folder, inputs), expected)
            for kind in _formats(conversion)
        )
    assert conversion.weights is not None
    ((found,),) = openvino_ir.run(folder, inputs[:1])
    reference = read_reference(conversion.weights)
    if reference is None:
        return ()
    return (_comparison(conversion, openvino_ir.FILES, folder, inputs[:1], [(sample(found),)], [(reference,)]),)


def _comparison(
    conversion: Conversion,
    files: tuple[str, ...],
    folder: Path,
    inputs: Sequence[Array],
    found: Answers,
    expected: Answers,
) -> Comparison:
    differences = []
    for array, reference, output in zip(inputs, expected, found, strict=True):
        where = f"{folder / files[-1]}: input {array.shape}"
        difference = _difference(where, reference, output)
        if math.isnan(difference) or difference > conversion.tolerance:
            raise ConversionError(
                f"{where}: differs from the network by {difference:.1e}, tolerance {conversion.tolerance:.0e}"
            )
        differences.append(difference)
    return Comparison(files, max(differences))


def _difference(where: str, expected: tuple[Array, ...], found: tuple[Array, ...]) -> float:
    got, network = ([output.shape for output in side] for side in (found, expected))
    if got != network:
        raise ConversionError(f"{where}: expected outputs of the network's shapes, {network}, got {got}")
    differences = [
        np.max(np.abs(a.astype(np.float64) - b) / (1 + np.abs(b.astype(np.float64))))
        for a, b in zip(found, expected, strict=True)
    ]
    return float(np.max(differences))  # unlike Python's, NaN if any is NaN
