"""The pipeline in one process, without a server: torch eager from the committed weights."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from plate_nets.nets.checkpoint import load_weights, weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.runtimes.torchscript import forward, load_torchscript
from plate_nets.types import Crops, Frame


def local_reader(
    detection: DetectionSettings | None = None,
    decoding: DecodingSettings | None = None,
    torchscript: Path | None = None,
) -> PlateReader[Frame, Crops]:
    """The committed weights -> a reader on the CPU.

    ``torchscript``: a folder with another `stn.pt` and `lprnet.pt`, used in place of the committed ones, one crop at a
    time: a network that normalises over its batch would read a plate differently beside others.

    Raises:
        WeightsError: weights are missing, damaged, or of another network.
    """
    yolo, stn, lprnet = YOLOv5n(), STN(), LPRNet()
    load_weights(yolo.eval(), weights_path("yolo"))
    rectify: Callable[[Crops], Crops]
    if torchscript is None:
        load_weights(stn.eval(), weights_path("stn"))
        load_weights(lprnet.eval(), weights_path("lprnet"))
        rectify, read = partial(forward, stn), partial(forward, lprnet)
    else:
        rectify, read = (partial(_one_by_one, load_torchscript(torchscript / f"{n}.pt")) for n in ("stn", "lprnet"))
    detector = PlateDetector(partial(forward, yolo), detection)
    return PlateReader(detector.detect, rectify, read, PlateDecoder(decoding or DecodingSettings()), split_rows)


def _one_by_one(network: nn.Module, array: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([forward(network, row[None]) for row in array])
