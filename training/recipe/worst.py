"""The plates of a data set with the worst answers, as pictures for the report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.detection_metrics import Detections, found
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.quads import Quad, Quads
from plate_nets.recognition.rectification import box_quads
from plate_nets.types import Crops, Frame
from training.corners.trainer import LabelledCorners
from training.detector.views import Example

WORST = 12
"""Plates of a data set to show."""
_WIDTH = 188
"""Of a picture, px: twice a crop's."""
_AROUND = 1.5
"""Surroundings shown on each side of a plate, in its larger side."""
_LABELLED, _FOUND = (80, 200, 0), (0, 0, 230)
"""Colours of the outlines, BGR: green and red."""


@dataclass(frozen=True)
class Answered:
    """A plate, (H, W, 3) BGR, its label, and what the network says of it."""

    picture: Frame
    label: str
    answer: str


def read_as(crop: Crops, label: str, answer: str, confidence: float) -> Answered:
    """A crop (3, 24, 94) and its reading."""
    picture = (crop.transpose(1, 2, 0)[:, :, ::-1] * 128 + 127.5).round().astype(np.uint8)
    return Answered(picture, label, f"{answer or 'nothing'}, {confidence:.2f}")


def missed(pictures: Sequence[tuple[Example, Detections]]) -> list[Answered]:
    """The highest of the labelled plates that are not found."""
    least = DetectionSettings().score_threshold
    rows = [
        (box[3] - box[1], photo.photo, box) for photo, each in pictures for box in each.truth[~found([each], least)]
    ]
    rows.sort(key=lambda row: -row[0])
    return [
        Answered(_around(read_photo(photo), box_quads(box[None])[0], ()), photo.name, f"{height:.0f} px high")
        for height, photo, box in rows[:WORST]
    ]


def displaced(
    labelled: Iterable[LabelledCorners], quads: Iterable[Quads], errors: NDArray[np.float32]
) -> list[Answered]:
    """The plates with the largest errors (N, 4) of a corner, in plate heights, with both outlines."""
    plates = [
        (each, *both) for each, own in zip(labelled, quads, strict=True) for both in zip(each.quads, own, strict=True)
    ]
    return [
        Answered(
            _around(plates[row][0].photo, plates[row][1], plates[row][2:]),
            plates[row][0].path.name,
            f"{errors[row].max():.2f} heights",
        )
        for row in np.argsort(-errors.max(axis=1, initial=0))[:WORST].tolist()
    ]


def _around(frame: Frame, labelled: Quad, others: Iterable[Quad]) -> Frame:
    """The surroundings of a labelled plate, with its outline and others."""
    middle, side = labelled.mean(axis=0), np.ptp(labelled, axis=0).max() * (0.5 + _AROUND)
    scale = _WIDTH / (2 * side)
    move = np.array([[scale, 0, _WIDTH / 2 - scale * middle[0]], [0, scale, _WIDTH / 4 - scale * middle[1]]])
    shown = cv2.warpAffine(frame, move, (_WIDTH, _WIDTH // 2), flags=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    for quad, colour in ((labelled, _LABELLED), *((each, _FOUND) for each in others)):
        outline = (quad @ move[:, :2].T + move[:, 2]).round().astype(np.int32)
        cv2.polylines(shown, [outline], True, colour, 1, cv2.LINE_AA)
    return np.asarray(shown, np.uint8)
