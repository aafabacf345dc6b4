"""Converts one network into the files of its model folder: built aside, reloaded, compared, then moved into place.

OpenVINO's IR is built from the weights alone. The other formats, and the comparison with the network itself, need torch
(the `convert` extra); without it the IR is compared with the numbers that `reference` keeps beside the weights.
"""

import importlib.util
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plate_nets.common.errors import ConversionError, MissingExtra
from plate_nets.countries import PlateScheme
from plate_nets.networks.checkpoint import check_scheme, load_weights, read_weights
from plate_nets.networks.conversion.formats import Array, Format, Writer, writer_of
from plate_nets.networks.conversion.reference import read_reference, sample, write_reference
from plate_nets.networks.runtimes.networks import TORCHSCRIPT

if TYPE_CHECKING:
    from torch import nn

    from plate_nets.networks.conversion.openvino_ir import Graph


@dataclass(frozen=True)
class Conversion:
    """How one network becomes the files of its model folder.

    ``folder`` is their path within a model repository. ``network`` creates the torch module; it is called only if
    torch is installed. ``graph`` is None if there is no OpenVINO IR; ``scheme`` is what the weights must be trained
    for, if anything.
    ``shapes`` are the inputs (N, ...) on which the saved files are compared with the network; the first one is
    also what tracing uses. Values are drawn uniformly from ``low`` to ``high``.
    ``tolerance`` is the largest |found - expected| / (1 + |expected|) of any output value.
    """

    name: str
    folder: Path
    network: "Callable[[], nn.Module]"
    weights: Path
    shapes: tuple[tuple[int, ...], ...]
    low: float
    high: float
    tolerance: float
    channels_last: bool = False
    graph: "Graph | None" = None
    scheme: PlateScheme | None = None

    def load(self) -> "nn.Module":
        """The torch network with its weights, in eval mode.

        Raises:
            WeightsError: the weights are missing, damaged, or belong to another network.
        """
        network = self.network()
        load_weights(network, self.weights, self.scheme)
        return network.eval()

    def inputs(self) -> list[Array]:
        """The inputs on which files are compared with the network, the same each time."""
        random = np.random.RandomState(0)  # NumPy guarantees the same numbers in all versions
        return [random.uniform(self.low, self.high, shape).astype(np.float32) for shape in self.shapes]

    def served(self) -> tuple[Format, ...]:
        """The formats that a model repository is served from, and that can be made here."""
        formats = {Format.TORCHSCRIPT: torch_installed(), Format.OPENVINO: self.graph is not None}
        if not any(formats.values()):
            raise MissingExtra("convert", f"the conversion of {self.name}", "torch")
        return tuple(format for format, possible in formats.items() if possible)


@dataclass(frozen=True)
class Comparison:
    """How far saved files are from their network: the largest |found - expected| / (1 + |expected|) of any output."""

    files: tuple[str, ...]
    difference: float


def torch_installed() -> bool:
    """Whether formats other than OpenVINO's can be made, and files can be compared with their torch network."""
    return importlib.util.find_spec("torch") is not None


def convert(conversion: Conversion, repository: Path, formats: Sequence[Format] = ()) -> tuple[Comparison, ...]:
    """Convert a network into its folder of a repository; a failure leaves the existing files untouched.

    ``formats``: by default, those that are served. Without torch, an existing TorchScript file is removed, because it
    may come from older weights. Returns no comparison if there is neither torch nor a reference.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network.
        ConversionError: a file cannot be built or does not reproduce the network's numbers.
        MissingExtra: a format needs a package that is not installed.
    """
    folder, writers = repository / conversion.folder, _writers(conversion, formats)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".converting-", dir=folder) as name:
            built = Path(name)
            for writer in writers:
                writer.make(conversion, built)
            comparisons = _compare(conversion, built, writers)
            for file in (file for writer in writers for file in writer.FILES):
                (built / file).replace(folder / file)
        if not torch_installed():
            (folder / TORCHSCRIPT).unlink(missing_ok=True)
    except OSError as error:
        raise ConversionError(f"{folder}: cannot be written: {error}") from error
    return comparisons


def check(conversion: Conversion, repository: Path, formats: Sequence[Format] = ()) -> tuple[Comparison, ...]:
    """Compare the files in a network's folder of a repository with the network; ``formats`` as in `convert`.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network; or a file is damaged.
        ConversionError: a file is missing, stale, damaged, or does not reproduce the network's numbers.
        MissingExtra: a format needs a package that is not installed.
    """
    read_weights(conversion.weights, conversion.scheme)
    folder, writers = repository / conversion.folder, _writers(conversion, formats)
    for writer in writers:
        found = writer.saved_provenance(folder)
        for key, value in writer.current_provenance(conversion.weights).items():
            if found.get(key) != value:
                options = "".join(f" --format {format}" for format in formats)
                raise ConversionError(
                    f"{folder / writer.FILES[-1]}: stale, converted from {key} {found.get(key)}, expected {value}; "
                    f"run `python -m converters {conversion.name}{options}`"
                )
    return _compare(conversion, folder, writers)


def is_current(conversion: Conversion, repository: Path, formats: Sequence[Format] = ()) -> bool:
    """Whether the files in a network's folder were built from the current weights and code.

    ``formats`` as in `convert`.

    Raises:
        WeightsError: the weights belong to another scheme.
        MissingExtra: a format needs a package that is not installed.
    """
    if conversion.scheme is not None:
        check_scheme(conversion.weights, conversion.scheme)
    folder = repository / conversion.folder
    try:
        return all(
            writer.saved_provenance(folder) == writer.current_provenance(conversion.weights)
            for writer in _writers(conversion, formats)
        )
    except ConversionError:
        return False


def record(conversion: Conversion) -> None:
    """Record numbers of a network beside its weights, for conversions without torch. Needs torch itself.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network.
    """
    from plate_nets.networks.conversion.torchscript_file import answers

    (output,) = answers(conversion.load(), conversion.inputs()[:1])
    write_reference(conversion.weights, output)


def _writers(conversion: Conversion, formats: Sequence[Format]) -> list[Writer]:
    return [writer_of(format) for format in formats or conversion.served()]


def _compare(conversion: Conversion, folder: Path, writers: Sequence[Writer]) -> tuple[Comparison, ...]:
    inputs = conversion.inputs()
    if torch_installed():
        from plate_nets.networks.conversion.torchscript_file import answers

        expected = answers(conversion.load(), inputs)
        return tuple(
            _comparison(conversion, writer.FILES, folder, inputs, writer.run(folder, inputs), expected)
            for writer in writers
        )
    (writer,) = writers  # OpenVINO's
    (found,) = writer.run(folder, inputs[:1])
    reference = read_reference(conversion.weights)
    if reference is None:
        return ()
    return (_comparison(conversion, writer.FILES, folder, inputs[:1], [sample(found)], [reference]),)


def _comparison(
    conversion: Conversion,
    files: tuple[str, ...],
    folder: Path,
    inputs: Sequence[Array],
    found: Sequence[Array],
    expected: Sequence[Array],
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


def _difference(where: str, expected: Array, found: Array) -> float:
    if found.shape != expected.shape:
        raise ConversionError(
            f"{where}: expected the shape of the network's output, {expected.shape}, got {found.shape}"
        )
    differences = np.abs(found.astype(np.float64) - expected) / (1 + np.abs(expected.astype(np.float64)))
    return float(np.max(differences))  # unlike Python's, NaN if any is NaN
