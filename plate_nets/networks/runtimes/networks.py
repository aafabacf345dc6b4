"""The networks as functions of arrays in host memory: OpenVINO on the CPU, TorchScript on a GPU.

With 2 threads, OpenVINO needs 30 ms for a frame of 640 px and torch 50 ms; and torch would take 200 MB per process.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import WeightsError
from plate_nets.contract import COUNTRY, READERS, YOLO
from plate_nets.networks.registry import DETECTORS, NETWORKS
from plate_nets.networks.runtimes.detector import OpenVINODetector, Pictures
from plate_nets.networks.runtimes.openvino import Network, Precision, check_converted, load_ir
from plate_nets.networks.runtimes.precision import choose
from plate_nets.networks.runtimes.room import check_room

RELEASED = 1
"""The version that the converters write; a swap adds higher ones."""

IR, IR_WEIGHTS, TORCHSCRIPT, ONNX, PACKAGE = "model.xml", "model.bin", "model.pt", "model.onnx", "model.pt2"
"""The files of a network in a version folder: two of OpenVINO for the CPU, and one of TorchScript for all devices; on
request, an ONNX file and a package of AOTInductor."""

Runtime = Literal["openvino", "torch"]
"""What runs the networks in this process: "openvino" the converted ones, "torch" the committed weights."""

_Loaded = Callable[[NDArray[Any]], NDArray[np.float32]]

REPOSITORY_VARIABLE = "PLATES_MODEL_REPOSITORY"

INSTALLED = Path(__file__).resolve().parents[2] / "model_repository"
"""Where a wheel installs the models; in a checkout they are beside the package."""


@dataclass(frozen=True)
class Networks:
    """The networks, not thread-safe; shapes as in `contract.py`, and those of `corners` as in `networks`.

    ``yolo``: one of `registry.DETECTORS`, like `runtimes.detector.OpenVINODetector`, or with all rows.
    """

    yolo: Callable[[Pictures], NDArray[np.float32]]
    corners: Network
    stn: Network
    readers: Mapping[str, Network]
    """The requested ones of `contract.READERS`, by name."""
    country: Network | None = None


def load_network(name: str, folder: Path, gpu: int | None, threads: int, precision: Precision = "float32") -> _Loaded:
    """Load a network from its folder, for a GPU (by number) or for the CPU (0 threads: all cores of this process).

    ``precision`` only applies to the CPU.

    Raises:
        WeightsError: the converted file is missing or does not load.
    """
    if gpu is None:
        load = OpenVINODetector if name in DETECTORS else load_ir
        return load(folder / IR, threads, precision)
    from plate_nets.networks.runtimes.torchscript import TorchDetector, device_of, forward, load_torchscript

    device = device_of(gpu)
    network = load_torchscript(folder / TORCHSCRIPT, device)
    return TorchDetector(network, device) if name in DETECTORS else partial(forward, network, device=device)


def load_converted(
    folders: Mapping[str, Path],
    gpu: int | None = None,
    threads: int = 0,
    readers: Collection[str] = tuple(READERS),
    detector: str = YOLO.name,
) -> Networks:
    """Version folders by model name -> the networks in them, see `load_network`, each in its best precision.

    A reader, and the network that classifies countries, is loaded at its first call: which ones are called depends on
    the plates.

    ``readers``: which of `contract.READERS` to load. ``detector``: which of `registry.DETECTORS`.

    Raises:
        WeightsError: a converted file is missing or does not load, or they may not fit under the limit of memory.
    """
    if gpu is None:
        check_room(len(readers), threads)

    def load(name: str, folder: Path) -> _Loaded:
        precision = choose(name, folder / IR).precision if gpu is None else "float32"
        return load_network(name, folder, gpu, threads, precision)

    found = {}
    for name, network in NETWORKS.items():
        if name in {*READERS, *DETECTORS} - {*readers, detector}:
            continue
        folder = network_folder(folders[network.model.name], name)
        if name in READERS or name == COUNTRY.name:
            check_converted(folder / (IR if gpu is None else TORCHSCRIPT))
            found[name] = _at_first_call(partial(load, name, folder))
        else:
            found[name] = load(name, folder)
    requested = {name: found.pop(name) for name in readers}
    return Networks(found.pop(detector), readers=requested, **found)


def _at_first_call(load: Callable[[], _Loaded]) -> _Loaded:
    loaded = cache(load)
    return lambda array: loaded()(array)


def digest_of(folders: Mapping[str, Path]) -> str:
    """Version folders by model name -> the first 12 digits of the SHA-256 of the weights in their IR.

    Raises:
        WeightsError: a converted file is missing.
    """
    digest = hashlib.sha256()
    for folder in folders.values():
        files = sorted(folder.rglob(IR_WEIGHTS))
        if not files:
            raise WeightsError(f"{folder / IR_WEIGHTS}: no such file; run `python -m converters` first")
        for path in files:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def default_repository() -> Path:
    """The model repository: the one in PLATES_MODEL_REPOSITORY, or the one that came with the package."""
    if named := os.environ.get(REPOSITORY_VARIABLE):
        return Path(named)
    return INSTALLED if INSTALLED.is_dir() else INSTALLED.parents[1] / INSTALLED.name


def network_folder(version: Path, name: str) -> Path:
    """The version folder of a network's model -> the folder of the network's files."""
    return version / NETWORKS[name].folder


def released(repository: Path, model: str) -> Path:
    """A model repository -> the version folder that the converters write to."""
    return repository / model / str(RELEASED)


def first_versions(repository: Path) -> dict[str, Path]:
    """A model repository -> the version folders that the converters write to, by model name."""
    return {network.model.name: released(repository, network.model.name) for network in NETWORKS.values()}
