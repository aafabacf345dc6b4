"""The networks that are converted. A new network is one more entry here."""

from typing import TYPE_CHECKING

from plate_nets.contract import CROP_DIMS
from plate_nets.conversion.conversion import Conversion
from plate_nets.conversion.graphs.lprnet import lprnet
from plate_nets.conversion.graphs.stn import stn
from plate_nets.conversion.graphs.yolov5 import yolov5
from plate_nets.nets.checkpoint import weights_path

if TYPE_CHECKING:
    from torch import nn

BATCHES = (2, 1, 5, 32)
"""A batch of 2 first: a trace at 1 would hide a size that was taken for a broadcast."""

CROPS = tuple((batch, *CROP_DIMS) for batch in BATCHES)

FRAMES = ((2, 3, 96, 160), (1, 3, 384, 640), (1, 3, 416, 416), (5, 3, 64, 96), (32, 3, 64, 64))
"""A small one to trace, a 16:9 frame at the default size, a square one, and batches with little to compute."""


def _stn() -> "nn.Module":
    from plate_nets.nets.stn import STN

    return STN()


def _lprnet() -> "nn.Module":
    from plate_nets.nets.lprnet import LPRNet

    return LPRNet()


def _yolo() -> "nn.Module":
    from plate_nets.nets.yolov5 import YOLOv5n

    return YOLOv5n()


CONVERSIONS = {
    conversion.name: conversion
    for conversion in (
        Conversion("stn", _stn, weights_path("stn"), CROPS, -1.0, 1.0, 1e-4, channels_last=True, graph=stn),
        Conversion("lprnet", _lprnet, weights_path("lprnet"), CROPS, -1.0, 1.0, 1e-4, channels_last=True, graph=lprnet),
        Conversion("yolo", _yolo, weights_path("yolo"), FRAMES, 0.0, 1.0, 1e-3, graph=yolov5),
    )
}
