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
from plate_nets.networks.runtimes.rows import best_rows, row_scores
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.geometry import Letterbox, clip
from plate_nets.recognition.overlap import iou
from plate_nets.types import VEHICLES, Frame
from training.detector.names import from_package
from training.detector.objects import PLATE, Objects, kept

LONG_SIDES, PLATE_LONG_SIDES = (320, 640, 1280), (640, 1280)
"""Long sides of the teachers' inputs, px."""
COCO = (2, 7, 5, 3)
"""The teacher's classes for `VEHICLES`."""
_CLASSES = 80
_LEAST = 0.1
"""Minimum score of a written object."""
_OVERLAPPING = 0.6
"""Minimum overlap (IoU) for two boxes to be the same vehicle."""
_SAME = 0.3
"""The same for plates."""


class VehicleTeacher:
    """The YOLOv5n of COCO on one thread of OpenVINO: a frame -> its vehicles.

    Raises:
        WeightsError: the file is missing, or belongs to another network.
    """

    def __init__(self, weights: Path, long_sides: Sequence[int] = LONG_SIDES) -> None:
        network = YOLOv5n(_CLASSES, "silu", vehicles=False)
        try:
            network.load_state_dict(from_package(load_file(weights)))
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise WeightsError(f"{weights}: not YOLOv5n of COCO: {str(error).splitlines()[0]}") from error
        self._long_sides = long_sides
        self._network = _compiled(network.eval().fuse())

    def __call__(self, frame: Frame) -> Objects:
        """A frame -> the vehicles in it, in its pixels."""
        hw = (frame.shape[0], frame.shape[1])
        looks = []
        for side in self._long_sides:
            letterbox = Letterbox(hw, side)
            rgb = letterbox.place(frame)[..., ::-1].transpose(0, 3, 1, 2)
            rows = self._network(np.ascontiguousarray(rgb, np.float32) / 255)[0]
            rows = rows[rows[:, 4] > _LEAST]
            corners = np.concatenate((rows[:, :2] - rows[:, 2:4] / 2, rows[:, :2] + rows[:, 2:4] / 2), axis=1)
            boxes = clip(letterbox.to_frame(corners), hw)
            middles, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
            seen = (sizes > 0).all(axis=1)
            looks.append(np.concatenate((middles, sizes, rows[:, 4:]), axis=1)[seen])
        return vehicles(np.concatenate(looks))


def vehicles(rows: NDArray[np.float32]) -> Objects:
    """Rows (A, 5 + 80) of a COCO network -> its vehicles, keeping the best of overlapping ones."""
    rows = np.concatenate((rows[:, :5], rows[:, [5 + number for number in COCO]]), axis=1)
    best = rows[best_rows(rows, _LEAST, _OVERLAPPING)]
    boxes = np.concatenate((best[:, :2] - best[:, 2:4] / 2, best[:, :2] + best[:, 2:4] / 2), axis=1)
    kinds = [VEHICLES[number] for number in best[:, 5:].argmax(axis=1)]
    return Objects.of(zip(kinds, boxes.tolist(), row_scores(best).tolist(), strict=True))


def _compiled(network: YOLOv5n) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    model = openvino.convert_model(network, example_input=torch.zeros(1, 3, 64, 96), input=[(1, 3, -1, -1)])
    compiled = compile_model(model, 1, "bfloat16" if has_bfloat16() else "float32")
    request = compiled.create_infer_request()
    return lambda given: np.asarray(request.infer([given], share_inputs=True)[0]).copy()


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
        """A frame -> its plates, in its pixels. If two overlap, the one found at the smaller input size is kept."""
        found = Objects()
        for finder in self._finders:
            _, boxes, scores, _ = finder.find(frame)
            more = Objects.of((PLATE, box, score) for box, score in zip(boxes.tolist(), scores.tolist(), strict=True))
            found += more.where(iou(more.boxes, found.boxes).max(axis=1, initial=0) < _SAME)
        return found


def teach(folder: Path, teachers: Sequence[Callable[[Frame], Objects]], path: Path) -> dict[str, Objects]:
    """Label the vehicles and plates of the photos in a folder -> what was found, by file name; ``path`` keeps it."""
    photos = {photo.name: photo for photo in pictures_below(folder)}

    def named(name: str) -> Objects:
        frame = read_photo(photos[name])
        return sum((teacher(frame) for teacher in teachers), Objects())

    return kept(path, list(photos), named)
