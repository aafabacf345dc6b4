"""The formats of converted networks. Each has one module with the functions of `Writer`, imported when it is needed."""

from collections.abc import Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from numpy.typing import NDArray

from plate_nets.common.extras import needs
from plate_nets.networks.conversion.provenance import Provenance

if TYPE_CHECKING:
    from plate_nets.networks.conversion.conversion import Conversion

Array = NDArray[Any]


class Format(StrEnum):
    """What a network is converted to. The first two are what a model repository is served from."""

    TORCHSCRIPT = "torchscript"
    OPENVINO = "openvino"
    ONNX = "onnx"
    AOTI = "aoti"


class Writer(Protocol):
    """A module that writes files of one format, and runs them."""

    @property
    def FILES(self) -> tuple[str, ...]:
        """The names of its files, in the order in which they are moved into place."""

    def make(self, conversion: "Conversion", folder: Path) -> None:
        """Convert a network into files in a folder, with their provenance.

        Raises:
            WeightsError: the weights are missing, damaged, or belong to another network.
            ConversionError: the network cannot be converted, a shape of it cannot vary, or the disk is full.
        """

    def run(self, folder: Path, inputs: Sequence[Array]) -> list[Array]:
        """Run the saved files on each of the inputs -> the output for each.

        Raises:
            WeightsError: the files are missing, damaged, or for another processor.
            ConversionError: the model rejects an input.
        """

    def current_provenance(self, weights: Path) -> Provenance:
        """The provenance that files made now would have."""

    def saved_provenance(self, folder: Path) -> Provenance:
        """The provenance of the saved files.

        Raises:
            ConversionError: they are missing or damaged.
        """


_MODULES = {
    Format.TORCHSCRIPT: ("torchscript_file", "convert"),
    Format.OPENVINO: ("openvino_ir", "local"),
    Format.ONNX: ("onnx_file", "convert,onnx"),
    Format.AOTI: ("aoti_package", "convert"),
}
"""The module of each format, and the extras that bring what it imports."""


def writer_of(format: Format) -> Writer:
    """A format -> its module.

    Raises:
        MissingExtra: a package that it imports is not installed.
        ConversionError: another program that it needs is missing.
    """
    module, extra = _MODULES[format]
    with needs(extra, f"the format {format}"):
        return cast(Writer, import_module(f"{__package__}.{module}"))
