"""TorchScript as a runtime of the `pytorch` backend: torch tensors via DLPack, on the instance's device."""

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.utils.dlpack

from plate_nets.contract import TensorSpec
from plate_nets.networks.runtimes.torchscript import device_of, load_torchscript
from plate_nets.triton.backend.triton import Tensor, from_dlpack


class TorchRuntime:
    """A TorchScript file on one device; a `network_model.Runtime`.

    Raises:
        WeightsError: the file is missing or does not load.
    """

    def __init__(self, path: Path, gpu: int | None, threads: int) -> None:
        torch.set_num_threads(threads)
        self._device = device_of(gpu)
        self._network = load_torchscript(path, self._device)

    def rows(self, tensor: Tensor) -> torch.Tensor:
        rows: torch.Tensor = torch.utils.dlpack.from_dlpack(tensor)
        return rows

    def run(self, batch: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        with torch.inference_mode():
            rows = batch[0] if len(batch) == 1 else torch.cat(list(batch))
            found = self._network(rows.to(self._device))
            # Triton only takes dense tensors, and the output of a channels-last network has another order
            outputs: Sequence[torch.Tensor] = found.contiguous().split([len(rows) for rows in batch])
        return outputs

    def tensor(self, spec: TensorSpec, rows: torch.Tensor) -> Tensor:
        return from_dlpack(spec, rows)
