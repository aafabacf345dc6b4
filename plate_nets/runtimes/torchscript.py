"""TorchScript files -> networks that run: the one place that loads them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plate_nets.errors import WeightsError


def device_of(gpu: int | None) -> torch.device:
    """A GPU by its number, or the CPU."""
    return torch.device("cpu") if gpu is None else torch.device("cuda", gpu)


def load_torchscript(path: Path, device: torch.device = torch.device("cpu")) -> nn.Module:
    """A TorchScript file -> its network on the device, in eval mode.

    Raises:
        WeightsError: no such file, or not TorchScript.
    """
    if not path.is_file():
        raise WeightsError(f"{path}: no such file; if it is not converted yet, run `python -m converters`")
    try:
        network: nn.Module = torch.jit.load(str(path), map_location=device)  # type: ignore[no-untyped-call]
    except (RuntimeError, ValueError) as error:
        raise WeightsError(f"{path}: cannot be loaded as TorchScript: {str(error).splitlines()[0]}") from error
    return network.eval()


def forward(network: nn.Module, array: NDArray[Any], device: torch.device = torch.device("cpu")) -> NDArray[np.float32]:
    """An array through a network that lies on the device, without gradients -> its output, in host memory."""
    return _answer(network, _on(array, device))


def forward_pictures(
    network: nn.Module, pictures: NDArray[np.uint8], device: torch.device = torch.device("cpu")
) -> NDArray[np.float32]:
    """Pictures (N, h, w, 3) BGR through a network that takes (N, 3, h, w) RGB 0..1, as `forward`."""
    return _answer(network, detector_input(pictures, device))


def detector_input(pictures: NDArray[np.uint8], device: torch.device = torch.device("cpu")) -> torch.Tensor:
    """Pictures (N, h, w, 3) BGR -> what the detector's network takes: (N, 3, h, w) float32 RGB 0..1."""
    return _on(pictures, device).flip(3).permute(0, 3, 1, 2).contiguous().float() / 255


def _on(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def _answer(network: nn.Module, given: torch.Tensor) -> NDArray[np.float32]:
    with torch.inference_mode():
        answer: torch.Tensor = network(given)
    return answer.cpu().numpy()
