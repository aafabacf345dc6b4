"""The converted networks as arrays in host memory see them: OpenVINO on the CPU, TorchScript on a GPU.

OpenVINO needs 30 ms a 640 px frame where torch needs 50 (2 threads), and spares a process torch's 200 MB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from plate_nets.nets.registry import NETWORKS
from plate_nets.runtimes.openvino import Network, load_ir

IR, TORCHSCRIPT = "model.xml", "model.pt"
"""What the converters write into a version folder, for the CPU and for all devices."""


@dataclass(frozen=True)
class ConvertedNetworks:
    """The three networks; shapes as in `contract.py`, of `yolo` as `load_network` says."""

    yolo: Network
    stn: Network
    lprnet: Network


def load_network(folder: Path, gpu: int | None, threads: int) -> Network:
    """A version folder -> its network on a GPU (by number) or the CPU, for one caller at a time.

    `yolo` turns (1, 3, h, w) RGB 0..1 into (1, A, 6), see `nets.yolov5`.

    Raises:
        WeightsError: the converted file is missing or does not load.
    """
    if gpu is None:
        return load_ir(folder / IR, threads)
    from plate_nets.runtimes.torchscript import device_of, forward, load_torchscript

    device = device_of(gpu)
    return partial(forward, load_torchscript(folder / TORCHSCRIPT, device), device=device)


def load_converted(folders: Mapping[str, Path], gpu: int | None, threads: int) -> ConvertedNetworks:
    """Version folders by model name -> their networks on a GPU (by number) or the CPU.

    Raises:
        WeightsError: a converted file is missing or does not load.
    """
    return ConvertedNetworks(**{name: load_network(folders[name], gpu, threads) for name in NETWORKS})


def first_versions(repository: Path) -> dict[str, Path]:
    """A model repository -> the version folders that the converters write, by model name."""
    return {name: repository / name / "1" for name in NETWORKS}
