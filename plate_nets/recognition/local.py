"""The pipeline in one process, without a server: torch eager from the committed weights."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from plate_nets.contract import LPRNET, STN, YOLO
from plate_nets.nets.registry import NETWORKS
from plate_nets.plates import PlateScheme
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.runtimes.torchscript import forward, load_torchscript
from plate_nets.types import Crops, Frame


def local_reader(
    scheme: PlateScheme,
    detection: DetectionSettings | None = None,
    decoding: DecodingSettings | None = None,
    torchscript: Path | None = None,
) -> PlateReader[Frame, Crops]:
    """A scheme and the committed weights -> a reader on the CPU.

    ``torchscript``: a folder with another `stn.pt` and `lprnet.pt`, used in place of the committed ones, one crop at a
    time: a network that normalises over its batch would read a plate differently beside others.

    Raises:
        WeightsError: weights are missing, damaged, of another network, or of another scheme.
    """
    reader = (STN.name, LPRNET.name)
    rectify: Callable[[Crops], Crops]
    if torchscript is None:
        rectify, read = (partial(forward, NETWORKS[name].load(scheme)) for name in reader)
    else:
        rectify, read = (partial(_one_by_one, load_torchscript(torchscript / f"{name}.pt")) for name in reader)
    detector = PlateDetector(partial(forward, NETWORKS[YOLO.name].load(scheme)), detection)
    return PlateReader(detector.detect, rectify, read, PlateDecoder(scheme, decoding or DecodingSettings()), split_rows)


def _one_by_one(network: nn.Module, array: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([forward(network, row[None]) for row in array])
