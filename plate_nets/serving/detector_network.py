"""The detector's network as the server runs it: OpenVINO on the CPU, TorchScript on a GPU.

OpenVINO needs 30 ms a 640 px frame where torch needs 50 (2 threads), and spares the stub torch's 200 MB.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import WeightsError

Network = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""(1, 3, h, w) RGB 0..1 -> (1, A, 6), see `nets.yolov5`."""


def load_network(folder: str, gpu: int | None, threads: int) -> Network:
    """The version folder of `yolo` -> its network on a GPU (by number) or the CPU.

    Raises:
        WeightsError: the converted file is missing or does not load.
    """
    if gpu is None:
        return _openvino(Path(folder) / "model.xml", threads)
    return _torchscript(Path(folder) / "model.pt", gpu)


def _openvino(path: Path, threads: int) -> Network:
    import openvino

    if not path.is_file():
        raise WeightsError(f"{path}: not converted yet; run `python -m converters`")
    # The defaults of some CPUs are bf16, whose 8 bits of mantissa round a box at 640 px to 4 px.
    options = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": str(threads),
        "ENABLE_CPU_PINNING": "NO",
    }
    try:
        request = openvino.Core().compile_model(str(path), "CPU", options).create_infer_request()
    except RuntimeError as error:
        raise WeightsError(f"{path}: does not load: {error}") from error

    def run(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = request.infer([pixels], share_inputs=True)[0]
        return answer

    return run


def _torchscript(path: Path, gpu: int) -> Network:
    from plate_nets.torchscript import device_of, forward, load_torchscript

    device = device_of(gpu)
    return partial(forward, load_torchscript(path, device), device=device)
