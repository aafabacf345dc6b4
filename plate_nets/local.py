"""The pipeline in one process, without a server: torch eager from the committed weights."""

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plate_nets.decoding import PlateDecoder
from plate_nets.detection import DetectionSettings, PlateDetector
from plate_nets.nets.checkpoint import load_weights, weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n
from plate_nets.pipeline import PlateReader, split_rows
from plate_nets.types import Crops


def local_reader(settings: DetectionSettings | None = None) -> PlateReader[Crops]:
    """The committed weights -> a reader on the CPU.

    Raises:
        WeightsError: weights are missing, damaged, or of another network.
    """
    networks = {"yolo": YOLOv5n(), "stn": STN(), "lprnet": LPRNet()}
    for name, network in networks.items():
        load_weights(network, weights_path(name))
        network.eval()
    detector = PlateDetector(partial(forward, networks["yolo"]), settings or DetectionSettings())
    return PlateReader(
        detector.detect,
        partial(forward, networks["stn"]),
        partial(forward, networks["lprnet"]),
        PlateDecoder(),
        split_rows,
    )


def forward(network: nn.Module, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """An array through a network, without gradients."""
    with torch.inference_mode():
        answer: torch.Tensor = network(torch.from_numpy(np.ascontiguousarray(array)))
    return answer.numpy()
