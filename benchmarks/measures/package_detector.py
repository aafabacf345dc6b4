"""Runs the yolov5 package's own detector on one frame, in its own process; used by `benchmarks.detector`.

Arguments: frame (.npy, BGR), our weights, threads, long side, minimum score, IoU for suppression, maximum boxes. Each
input line is a number of frames; the answer is a line ``detected BOXES MS MS ...``.
"""

import logging
import sys
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
import yaml
import yolov5
from numpy.typing import NDArray
from torch import nn
from yolov5.models.yolo import DetectionModel
from yolov5.utils.augmentations import letterbox
from yolov5.utils.general import non_max_suppression, scale_boxes

from plate_nets.networks.checkpoint import load_weights
from plate_nets.networks.yolov5 import ACTIVATIONS, YOLOv5n
from training.detector.names import to_package


def configuration(network: YOLOv5n) -> dict[str, Any]:
    """The package's description of YOLOv5n, with our anchors and activation."""
    strides = torch.tensor(network.detect.strides).view(-1, 1, 1)
    anchors = (network.detect.anchors * strides).flatten(1).tolist()
    activation = f"nn.{ACTIVATIONS[network.activation].__name__}()"
    file = Path(yolov5.__file__).parent / "models" / "yolov5n.yaml"
    values: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return values | {"nc": 1, "anchors": anchors, "activation": activation}


def network(weights: Path) -> nn.Module:
    """Our weights -> the package's eager network, batch normalisation folded in as its own `detect.py` does."""
    ours = YOLOv5n()
    load_weights(ours, weights)
    model = DetectionModel(configuration(ours), ch=3, nc=1)
    model.load_state_dict(to_package(ours.state_dict()))
    fused: nn.Module = model.float().fuse().eval()
    return fused


def detect(model: Any, frame: NDArray[np.uint8], side: int, score: float, iou: float, max_boxes: int) -> int:
    """A frame -> the number of boxes that the package finds, with the steps of its own `detect.py`."""
    placed = letterbox(frame, side, stride=32, auto=True)[0]
    pixels = torch.from_numpy(np.ascontiguousarray(placed.transpose((2, 0, 1))[::-1])).float() / 255
    rows = model(pixels[None])[0]
    (boxes,) = non_max_suppression(rows, score, iou, max_det=max_boxes)
    boxes[:, :4] = scale_boxes(pixels.shape[1:], boxes[:, :4], frame.shape).round()
    return len(boxes)


def main(arguments: list[str]) -> None:
    """Answer each line of the input."""
    logging.disable(logging.INFO)  # the package describes its network
    path, weights, threads, side, score, iou, most = arguments
    torch.set_num_threads(int(threads))
    cv2.setNumThreads(int(threads))
    frame = np.load(path)
    model = network(Path(weights))
    with torch.inference_mode():
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                started = time.perf_counter()
                boxes = detect(model, frame, int(side), float(score), float(iou), int(most))
                times.append((time.perf_counter() - started) * 1000)
            sys.stdout.write(f"detected {boxes} {' '.join(f'{each:.4f}' for each in times)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
