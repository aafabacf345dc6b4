"""The networks that are converted. A new network is one more entry here."""

import torch

from converters.conversion import Conversion, Mode
from converters.plate_text import GreedyText, NormalizedCrops
from plate_nets.contract import CROP_DIMS
from plate_nets.nets.checkpoint import weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n
from plate_nets.wirings.contract import PLATE_POST, PLATE_PRE

BATCHES = (2, 1, 5, 32)
"""A batch of 2 first: a trace at 1 would hide a size that was taken for a broadcast."""

CROPS = tuple((batch, *CROP_DIMS) for batch in BATCHES)

FRAMES = ((2, 3, 96, 160), (1, 3, 384, 640), (1, 3, 416, 416), (5, 3, 64, 96), (32, 3, 64, 64))
"""A small one to trace, a 16:9 frame at the default size, a square one, and batches with little to compute."""

CONVERSIONS = {
    conversion.name: conversion
    for conversion in (
        Conversion("stn", STN, weights_path("stn"), CROPS, -1.0, 1.0, 1e-4, channels_last=True, openvino=True),
        Conversion("lprnet", LPRNet, weights_path("lprnet"), CROPS, -1.0, 1.0, 1e-4, channels_last=True, openvino=True),
        Conversion("yolo", YOLOv5n, weights_path("yolo"), FRAMES, 0.0, 1.0, 1e-3, openvino=True),
    )
}

WIRINGS = {
    conversion.name: conversion
    for conversion in (
        Conversion(
            PLATE_PRE.name,
            NormalizedCrops,
            None,
            tuple((batch, *PLATE_PRE.inputs[0].dims) for batch in BATCHES),
            0.0,
            256.0,
            1e-6,
            dtype=torch.uint8,
            mode=Mode.TRACE,
        ),
        Conversion(
            PLATE_POST.name,
            GreedyText,
            None,
            tuple((batch, *PLATE_POST.inputs[0].dims) for batch in BATCHES),
            -9.0,
            9.0,
            1e-6,
            mode=Mode.SCRIPT,
        ),
    )
}
"""The TorchScript modules of `benchmarks/model_repository/`."""
