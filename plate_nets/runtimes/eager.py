"""The committed weights as networks that run in torch, eager on the CPU, without any conversion."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from plate_nets.nets.checkpoint import load_weights, weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n
from plate_nets.runtimes.networks import Networks
from plate_nets.runtimes.openvino import Network
from plate_nets.runtimes.torchscript import forward, load_torchscript


def load_eager(other_reader: Path | None = None) -> Networks:
    """The three networks of the committed weights.

    ``other_reader``: a folder with another `stn.pt` and `lprnet.pt`, TorchScript, used in place of the committed ones,
    one crop at a time: a network that normalises over its batch would read a plate differently beside others.

    Raises:
        WeightsError: weights are missing, damaged, or of another network.
    """
    yolo = _eager(YOLOv5n(), "yolo")
    if other_reader is None:
        return Networks(yolo, _eager(STN(), "stn"), _eager(LPRNet(), "lprnet"))
    stn, lprnet = (partial(_one_by_one, load_torchscript(other_reader / f"{name}.pt")) for name in ("stn", "lprnet"))
    return Networks(yolo, stn, lprnet)


def _eager(network: nn.Module, name: str) -> Network:
    load_weights(network.eval(), weights_path(name))
    return partial(forward, network)


def _one_by_one(network: nn.Module, array: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([forward(network, row[None]) for row in array])
