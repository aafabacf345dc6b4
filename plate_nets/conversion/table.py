"""The networks that are converted. A new network is one more entry here."""

from plate_nets.contract import CROP_DIMS
from plate_nets.conversion.conversion import Conversion
from plate_nets.nets.checkpoint import weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n

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
