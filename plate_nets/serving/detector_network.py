"""The detector's network as the server runs it: OpenVINO on the CPU, TorchScript on a GPU.

OpenVINO needs 30 ms a 640 px frame where torch needs 50 (2 threads), and spares the stub torch's 200 MB.
"""

from functools import partial
from pathlib import Path

from plate_nets.errors import WeightsError
from plate_nets.openvino_cpu import Network, compile_network


def load_network(folder: str, gpu: int | None, threads: int) -> Network:
    """The version folder of `yolo` -> its network on a GPU (by number) or the CPU.

    It turns (1, 3, h, w) RGB 0..1 into (1, A, 6), see `nets.yolov5`.

    Raises:
        WeightsError: the converted file is missing or does not load.
    """
    if gpu is None:
        return _openvino(Path(folder) / "model.xml", threads)
    return _torchscript(Path(folder) / "model.pt", gpu)


def _openvino(path: Path, threads: int) -> Network:
    if not path.is_file():
        raise WeightsError(f"{path}: not converted yet; run `python -m converters`")
    try:
        return compile_network(str(path), threads)
    except RuntimeError as error:
        raise WeightsError(f"{path}: does not load: {error}") from error


def _torchscript(path: Path, gpu: int) -> Network:
    from plate_nets.torchscript import device_of, forward, load_torchscript

    device = device_of(gpu)
    return partial(forward, load_torchscript(path, device), device=device)
