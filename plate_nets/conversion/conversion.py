"""One network -> the files of its model folder: saved aside, reloaded, compared, and only then moved into place."""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import torch
from torch import Tensor, nn

from plate_nets.conversion import openvino_ir
from plate_nets.conversion import torchscript_file as torchscript
from plate_nets.conversion.errors import ConversionError
from plate_nets.conversion.provenance import origin_of
from plate_nets.nets.checkpoint import check_scheme, load_weights
from plate_nets.plates import PlateScheme

VERSION = "1"


class Mode(StrEnum):
    """How TorchScript is made: by recording one run, or by compiling the source."""

    TRACE = "trace"
    SCRIPT = "script"


@dataclass(frozen=True)
class Conversion:
    """How one network becomes the files of its model folder.

    ``weights`` is None where there is nothing to learn; ``scheme`` is what they must be trained for, if anything.
    ``shapes`` are the inputs (N, ...) on which the saved files are compared with the network; the first one is
    also what tracing sees. Values are drawn evenly from ``low`` to ``high`` and cast to ``dtype``.
    ``tolerance`` is the largest |found - expected| / (1 + |expected|) of any output value.
    ``mode`` is set where the network converts right in that one only.
    """

    name: str
    network: Callable[[], nn.Module]
    weights: Path | None
    shapes: tuple[tuple[int, ...], ...]
    low: float
    high: float
    tolerance: float
    channels_last: bool = False
    openvino: bool = False
    dtype: torch.dtype = torch.float32
    mode: Mode | None = None
    scheme: PlateScheme | None = None


@dataclass(frozen=True)
class Comparison:
    """How far a saved file is from its network: the largest |found - expected| / (1 + |expected|) of any output."""

    files: tuple[str, ...]
    difference: float


def convert(conversion: Conversion, mode: Mode, repository: Path) -> tuple[Comparison, ...]:
    """Convert a network into ``repository/<name>/1/``; a failure leaves what was there untouched.

    Raises:
        WeightsError: the weights are missing, damaged, or of another network.
        ConversionError: a file cannot be made or does not give the network's numbers.
    """
    network = _network(conversion)
    mode = conversion.mode or mode
    origin = origin_of(conversion.weights, mode)
    example = _inputs(conversion)[0]
    folder = repository / conversion.name / VERSION
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".converting-", dir=folder) as name:
            aside = Path(name)
            if conversion.openvino:
                openvino_ir.save(network, example, _dims(conversion), origin, aside)
            module = torchscript.ChannelsLast(_network(conversion)).eval() if conversion.channels_last else network
            torchscript.save(module, example, mode, origin, aside)
            comparisons = _compare(conversion, network, aside)
            for file in (file for comparison in comparisons for file in comparison.files):
                (aside / file).replace(folder / file)
    except OSError as error:
        raise ConversionError(f"{folder}: cannot be written: {error}") from error
    return comparisons


def check(conversion: Conversion, repository: Path) -> tuple[Comparison, ...]:
    """Compare the files that lie in ``repository/<name>/1/`` with the network.

    Raises:
        WeightsError: the weights are missing, damaged, or of another network.
        ConversionError: a file is missing, stale, damaged, or does not give the network's numbers.
    """
    network = _network(conversion)
    folder = repository / conversion.name / VERSION
    for found in _origins(conversion, folder):
        mode = found.get("mode", Mode.TRACE)
        for key, expected in origin_of(conversion.weights, mode).values.items():
            if found.get(key) != expected:
                raise ConversionError(
                    f"{folder}: stale, converted from {key} {found.get(key)}, expected {expected}; "
                    f"run `python -m converters {conversion.name}`"
                )
    return _compare(conversion, network, folder)


def is_current(conversion: Conversion, mode: Mode, repository: Path) -> bool:
    """Whether the files in ``repository/<name>/1/`` were made from today's weights and code in this mode.

    Raises:
        WeightsError: the weights are of another scheme.
    """
    if conversion.weights is not None and conversion.scheme is not None:
        check_scheme(conversion.weights, conversion.scheme)
    try:
        origins = _origins(conversion, repository / conversion.name / VERSION)
    except ConversionError:
        return False
    expected = origin_of(conversion.weights, conversion.mode or mode).values
    return all(found == expected for found in origins)


def _network(conversion: Conversion) -> nn.Module:
    network = conversion.network()
    if conversion.weights is not None:
        load_weights(network, conversion.weights, conversion.scheme)
    return network.eval()


def _inputs(conversion: Conversion) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.empty(shape).uniform_(conversion.low, conversion.high, generator=generator).to(conversion.dtype)
        for shape in conversion.shapes
    ]


def _dims(conversion: Conversion) -> tuple[int, ...]:
    """Of the inputs (N, *dims); -1 where they differ."""
    sides = zip(*(shape[1:] for shape in conversion.shapes), strict=True)
    return tuple(sizes[0] if len(set(sizes)) == 1 else -1 for sizes in sides)


def _origins(conversion: Conversion, folder: Path) -> list[dict[str, str]]:
    formats = (torchscript, openvino_ir) if conversion.openvino else (torchscript,)
    return [kind.origin(folder) for kind in formats]


def _compare(conversion: Conversion, network: nn.Module, folder: Path) -> tuple[Comparison, ...]:
    inputs = _inputs(conversion)
    with torch.inference_mode():
        expected = [network(tensor) for tensor in inputs]
    formats = (torchscript, openvino_ir) if conversion.openvino else (torchscript,)
    comparisons = []
    for kind in formats:
        differences = []
        for tensor, wanted, found in zip(inputs, expected, kind.run(folder, inputs), strict=True):
            where = f"{folder / kind.FILES[-1]}: input {tuple(tensor.shape)}"
            difference = _difference(where, _columns(wanted), _columns(found))
            if math.isnan(difference) or difference > conversion.tolerance:
                raise ConversionError(
                    f"{where}: differs from the network by {difference:.1e}, tolerance {conversion.tolerance:.0e}"
                )
            differences.append(difference)
        comparisons.append(Comparison(kind.FILES, max(differences)))
    return tuple(comparisons)


def _columns(answer: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _difference(where: str, wanted: tuple[Tensor, ...], found: tuple[Tensor, ...]) -> float:
    shapes = [[tuple(each.shape) for each in side] for side in (found, wanted)]
    if shapes[0] != shapes[1]:
        raise ConversionError(f"{where}: gives {shapes[0]}, the network {shapes[1]}")
    differences = torch.stack(
        [((a.double() - b.double()).abs() / (1 + b.double().abs())).max() for a, b in zip(found, wanted, strict=True)]
    )
    return float(differences.max())
