"""Network -> TorchScript file, for Triton's `pytorch` backend. Needs torch."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

import plate_nets.networks
from plate_nets.common.errors import ConversionError
from plate_nets.networks.conversion import exported
from plate_nets.networks.conversion.conversion import Conversion
from plate_nets.networks.conversion.formats import Array
from plate_nets.networks.conversion.provenance import Provenance, archived, provenance_of
from plate_nets.networks.runtimes.networks import TORCHSCRIPT
from plate_nets.networks.runtimes.torchscript import load_torchscript

FILES = (TORCHSCRIPT,)
PROVENANCE = "provenance.json"


class ChannelsLast(nn.Module):
    """A network that computes channels-last inside: contiguous (N, C, H, W) in, contiguous out.

    Convolutions of crop size run up to 2.6 times faster this way on a CPU, and the caller need not know.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stub lacks it

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.network(inputs.contiguous(memory_format=torch.channels_last))
        return outputs.contiguous()


def make(conversion: Conversion, folder: Path) -> None:
    """A network with its weights -> `model.pt` in ``folder``."""
    network = conversion.load()
    module = ChannelsLast(network).eval() if conversion.channels_last else network
    save(module, conversion.inputs()[0], current_provenance(conversion.weights), folder)


def save(network: nn.Module, example: Array, provenance: Provenance, folder: Path) -> None:
    """A network in eval mode -> `model.pt` in ``folder``: traced on the CPU, frozen, with its provenance.

    Methods that the network lists in ``exported`` are scripted, so they can be called in the file too.

    Frozen modules hold their weights as constants, which move only while loading
    (``torch.jit.load(path, map_location=...)``, as libtorch's backend does), not by ``.to``.

    Raises:
        ConversionError: the network cannot be traced.
        OSError: the disk is full.
    """
    also: tuple[str, ...] = getattr(network, "exported", ())
    archive = io.BytesIO()
    try:
        with exported.quiet(), torch.inference_mode():
            module = torch.jit.trace(network, (torch.from_numpy(example),), check_trace=False)  # type: ignore[no-untyped-call]
            module = torch.jit.freeze(module, preserved_attrs=list(also))
            # Into memory, because on a full disk torch would end the process
            torch.jit.save(module, archive, _extra_files={PROVENANCE: json.dumps(provenance)})
    except (RuntimeError, TypeError, torch.jit.frontend.FrontendError) as error:
        raise ConversionError(f"cannot trace {type(network).__name__}: {error}") from error
    (folder / TORCHSCRIPT).write_bytes(archive.getbuffer())


def run(folder: Path, inputs: Sequence[Array]) -> list[Array]:
    """Run the saved `model.pt` on each of the inputs, on the CPU."""
    with exported.quiet():
        network = load_torchscript(folder / TORCHSCRIPT)
        try:
            return answers(network, inputs)
        except RuntimeError as error:
            raise ConversionError(f"{folder / TORCHSCRIPT}: {error}") from error


def answers(network: nn.Module, inputs: Sequence[Array]) -> list[Array]:
    """Run a network in eval mode, eager or TorchScript, on each of the inputs."""
    with torch.inference_mode():
        return [network(torch.from_numpy(array)).numpy() for array in inputs]


def current_provenance(weights: Path) -> Provenance:
    sources = (Path(plate_nets.networks.__path__[0]), Path(__file__))
    return provenance_of(weights, sources, torch=str(torch.__version__))


def saved_provenance(folder: Path) -> Provenance:
    return archived(folder / TORCHSCRIPT, f"/extra/{PROVENANCE}", "TorchScript file") or {}
