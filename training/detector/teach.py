"""Lets other networks label vehicles and unlabelled plates.

The teacher for vehicles is the YOLOv5n of COCO that the detector started from (AGPL-3.0, as this project); only what is
learned from its outputs gets into the shipped weights. The teacher for plates is this project's own pipeline, detector
and corners. Both use several sizes: a large one for distant objects, smaller ones for close-ups. Unsure objects are
written too; a training ignores them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import openvino
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from plate_nets.common.errors import WeightsError
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import pictures_below
from plate_nets.networks.runtimes.networks import default_repository, first_versions, load_converted
from plate_nets.networks.runtimes.openvino import compile_model, has_bfloat16
from plate_nets.networks.runtimes.torchscript import detector_input
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector, distinct
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.overlap import iou
from plate_nets.types import Frame
from training.detector.names import from_package
from training.detector.objects import PLATE, Objects, kept

LONG_SIDES, PLATE_LONG_SIDES = (320, 640, 1280), (640, 1280)
"""Long sides of the teachers' inputs, px."""
COCO = (2, 7, 5, 3)
"""The teacher's classes for `VEHICLES`."""
_CLASSES = 80
_LEAST = 0.1
"""Minimum score of a written object."""
_SAME = 0.3
"""Minimum overlap (IoU) for two boxes to be the same plate."""


class _Coco:
    """The YOLOv5n of COCO on one thread of OpenVINO, as a `VehicleNetwork` that finds no plates."""

    def __init__(self, weights: Path) -> None:
        network = YOLOv5n(_CLASSES, "silu", vehicles=False)
        try:
            network.load_state_dict(from_package(load_file(weights)))
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise WeightsError(f"{weights}: not YOLOv5n of COCO: {str(error).splitlines()[0]}") from error
        shape, example = [(1, 3, -1, -1)], torch.zeros(1, 3, 64, 96)
        model = openvino.convert_model(network.eval().fuse(), example_input=example, input=shape)
        self._network = compile_model(model, 1, "bfloat16" if has_bfloat16() else "float32").create_infer_request()

    def __call__(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        rows = self._network.infer([detector_input(pictures).numpy()])[0]
        return np.asarray(rows[:, :, [*range(5), *(5 + number for number in COCO)]], np.float32)

    def both(self, pictures: NDArray[np.uint8], least: float) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        rows = self(pictures)
        return rows[:, :0], rows


class VehicleTeacher:
    """The YOLOv5n of COCO: a frame -> its vehicles.

    Raises:
        WeightsError: the file is missing, or belongs to another network.
    """

    def __init__(self, weights: Path) -> None:
        network, settings = _Coco(weights), (DetectionSettings(side, vehicle_threshold=_LEAST) for side in LONG_SIDES)
        self._detectors = [PlateDetector(network, each) for each in settings]

    def __call__(self, frame: Frame) -> Objects:
        """A frame -> the vehicles in it, in its pixels, the best of overlapping ones."""
        rows = np.concatenate([detector.detect_both(frame)[2] for detector in self._detectors])
        best = distinct(rows[np.argsort(-rows[:, 4], kind="stable")])
        return Objects(best[:, :4], 1 + best[:, 5].astype(np.int64), best[:, 4])


class PlateTeacher:
    """This project's detector and corners on one thread: a frame -> its plates."""

    def __init__(self) -> None:
        networks = load_converted(first_versions(default_repository()), threads=1, readers=())
        corners = CornerFinder(networks.corners)
        self._finders = [
            PlateFinder(PlateDetector(networks.yolo, settings), corners)
            for settings in (DetectionSettings(side, _LEAST, _LEAST) for side in PLATE_LONG_SIDES)
        ]

    def __call__(self, frame: Frame) -> Objects:
        found = Objects()
        for finder in self._finders:
            _, boxes, scores, _ = finder.find(frame)
            more = Objects.of((PLATE, box, score) for box, score in zip(boxes.tolist(), scores.tolist(), strict=True))
            found += more.where(iou(more.boxes, found.boxes).max(axis=1, initial=0) < _SAME)
        return found


def teach(folder: Path, teachers: Sequence[Callable[[Frame], Objects]], path: Path) -> dict[Path, Objects]:
    """Label the vehicles and plates of the photos of a labelled folder -> what was found; ``path`` keeps it."""
    images = folder / "images"
    photos = {photo.relative_to(images).as_posix(): photo for photo in pictures_below(images)}

    def named(name: str) -> Objects:
        frame = read_photo(photos[name])
        return sum((teacher(frame) for teacher in teachers), Objects())

    return {photos[name]: found for name, found in kept(path, list(photos), named).items()}
