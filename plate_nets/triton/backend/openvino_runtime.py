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
    """A network as OpenVINO IR on the CPU: a `network_model.Runtime`.

    Raises:
        WeightsError: the file is missing or does not load.
    """

    def __init__(self, path: Path, threads: int, precision: Precision = "float32") -> None:
        self._network = load_ir(path, threads, precision)

    def rows(self, tensor: Tensor) -> NDArray[Any]:
        return tensor.as_numpy()

    def run(self, batch: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        rows = batch[0] if len(batch) == 1 else np.concatenate(batch)
        ends = np.cumsum([len(rows) for rows in batch])
        return np.split(self._network(rows), ends[:-1])

    def tensor(self, spec: TensorSpec, rows: NDArray[np.float32]) -> Tensor:
        return tensor(spec, rows)
