"""Network -> the graph of `torch.export`, from which newer formats are made. Needs torch."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.export import Dim, ExportedProgram
from torch.jit._trace import TracerWarning

from plate_nets.common.errors import ConversionError
from plate_nets.networks.conversion.conversion import Conversion


def export(conversion: Conversion, device: torch.device = torch.device("cpu")) -> ExportedProgram:
    """A network with its weights -> its graph; an axis in which the conversion's shapes differ may have any size.

    Raises:
        WeightsError: the weights are missing, damaged, or belong to another network.
        ConversionError: the graph would not work for every size, or has an operation that cannot be exported.
    """
    example = torch.from_numpy(conversion.inputs()[0]).to(device)
    sizes = zip(*conversion.shapes, strict=True)
    dynamic = {axis: Dim.DYNAMIC for axis, found in enumerate(sizes) if len(set(found)) > 1}
    network = conversion.load().to(device)
    try:
        with quiet(), torch.inference_mode():
            return torch.export.export(network, (example,), dynamic_shapes=(dynamic,))
    except (RuntimeError, ValueError, TypeError) as error:
        cause = str(error).strip().splitlines()[0]
        raise ConversionError(f"{conversion.name}: cannot be exported: {cause}") from error


@contextmanager
def quiet() -> Iterator[None]:
    # TorchScript is deprecated, but libtorch's backend loads it; tracer warnings are settled by the comparison
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, FutureWarning, TracerWarning):
            warnings.simplefilter("ignore", kind)
        yield
