"""The converted networks called in this process, each on the runtime that the server has for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import LPRNET, STN, YOLO
from plate_nets.openvino_cpu import compile_torch
from plate_nets.serving.detector_network import load_network
from plate_nets.torchscript import device_of, forward, load_torchscript

Run = Callable[[NDArray[Any]], NDArray[np.float32]]


@dataclass(frozen=True)
class ConvertedNetworks:
    """What the three networks make of arrays in host memory; shapes as in `contract.py`."""

    yolo: Run
    stn: Run
    lprnet: Run


def load_converted(folders: Mapping[str, Path], gpu: int | None, threads: int) -> ConvertedNetworks:
    """Version folders by model name -> their networks on a GPU (by number) or the CPU.

    Raises:
        WeightsError: a converted file is missing or does not load.
    """
    device = device_of(gpu)
    stn, lprnet = (load_torchscript(folders[spec.name] / "model.pt", device) for spec in (STN, LPRNET))
    return ConvertedNetworks(
        yolo=load_network(str(folders[YOLO.name]), gpu, threads),
        stn=partial(forward, stn, device=device),
        # As `parameters` of its config has the `pytorch` backend do
        lprnet=compile_torch(lprnet, LPRNET.inputs[0].dims, threads)
        if gpu is None
        else partial(forward, lprnet, device=device),
    )
