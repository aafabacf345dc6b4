"""TorchScript as a runtime of the `pytorch` backend: torch tensors via DLPack, on the instance's device."""

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.utils.dlpack

from plate_nets.contract import TensorSpec
from plate_nets.networks.runtimes.torchscript import device_of, load_torchscript
from plate_nets.triton.backend.triton import Tensor, from_dlpack


class TorchRuntime:
    """A TorchScript file on one device; one `network_model.Runtime`.

    Raises:
        WeightsError: the file is missing or does not load.
    """

    def __init__(self, path: Path, gpu: int | None, threads: int) -> None:
        torch.set_num_threads(threads)
        self._device = device_of(gpu)
        self._network = load_torchscript(path, self._device)

    def rows(self, tensor: Tensor) -> torch.Tensor:
        """A Triton tensor as a torch tensor on the same device."""
        rows: torch.Tensor = torch.utils.dlpack.from_dlpack(tensor)
        return rows

    def run(self, batch: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, ...]]:
        """Rows of each request -> its outputs, from one forward pass."""
        with torch.inference_mode():
            rows = batch[0] if len(batch) == 1 else torch.cat(list(batch))
            found = self._network(rows.to(self._device))
            sizes = [len(rows) for rows in batch]
            # Triton only takes dense tensors, and the outputs of a channels-last network have another order
            outputs = [output.contiguous().split(sizes) for output in (found if isinstance(found, tuple) else (found,))]
        return list(zip(*outputs, strict=True))

    def tensor(self, spec: TensorSpec, rows: torch.Tensor) -> Tensor:
        """The rows of an output -> a Triton tensor over the same memory."""
        return from_dlpack(spec, rows)
