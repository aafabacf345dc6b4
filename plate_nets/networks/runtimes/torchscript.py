"""Loads TorchScript files, and runs torch networks on arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plate_nets.common.errors import WeightsError


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
    """Run a network that is on the device on an array, without gradients -> its output in host memory."""
    return _run(network, _on(array, device))


class TorchDetector:
    """The detector's network, eager or TorchScript, on a device: `runtimes.detector.OpenVINODetector` with all rows."""

    def __init__(self, network: nn.Module, device: torch.device = torch.device("cpu")) -> None:
        self._network, self._device = network, device

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Pictures (N, h, w, 3) BGR -> rows."""
        return _run(self._network, detector_input(pictures, self._device))

    def both(
        self, pictures: NDArray[np.uint8], least: float = 0.0
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Pictures -> all rows of plates, and of vehicles, or None if the weights have no head for them."""
        with torch.inference_mode():
            plates, vehicles = self._network.both(detector_input(pictures, self._device))  # type: ignore[operator]
        return plates.cpu().numpy(), vehicles.cpu().numpy() if vehicles.shape[1] else None


def detector_input(pictures: NDArray[np.uint8], device: torch.device = torch.device("cpu")) -> torch.Tensor:
    """Pictures (N, h, w, 3) BGR -> the input of the detector's network: (N, 3, h, w) float32 RGB 0..1."""
    return _on(pictures, device).flip(3).permute(0, 3, 1, 2).contiguous().float() / 255


def _on(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def _run(network: nn.Module, given: torch.Tensor) -> NDArray[np.float32]:
    with torch.inference_mode():
        answer: torch.Tensor = network(given)
    return answer.cpu().numpy()
