"""OpenVINO as a runtime of the `pytorch` backend: arrays in host memory, without torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import TensorSpec
from plate_nets.networks.runtimes.openvino import Precision, load_ir
from plate_nets.triton.backend.triton import Tensor, tensor


class OpenVINORuntime:
    """A network with one output as OpenVINO IR on the CPU; one `network_model.Runtime`.

    Raises:
        WeightsError: the file is missing or does not load.
    """

    def __init__(self, path: Path, threads: int, precision: Precision = "float32") -> None:
        self._network = load_ir(path, threads, precision)

    def rows(self, tensor: Tensor) -> NDArray[Any]:
        """A view of a Triton tensor in host memory."""
        return tensor.as_numpy()

    def run(self, batch: Sequence[NDArray[np.float32]]) -> list[tuple[NDArray[np.float32], ...]]:
        """Rows of each request -> its output, from one run."""
        rows = batch[0] if len(batch) == 1 else np.concatenate(batch)
        ends = np.cumsum([len(rows) for rows in batch])
        return [(output,) for output in np.split(self._network(rows), ends[:-1])]

    def tensor(self, spec: TensorSpec, rows: NDArray[np.float32]) -> Tensor:
        """The rows of an output -> a Triton tensor."""
        return tensor(spec, rows)
