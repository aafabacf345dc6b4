"""Frames -> boxes of plates: letterbox, network, non-maximum suppression, boxes in pixels of the frame."""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import InputError
from plate_nets.contract import YOLO
from plate_nets.networks.registry import YOLO_FAST
from plate_nets.networks.runtimes.detector import NEGLIGIBLE
from plate_nets.networks.runtimes.rows import best_rows, row_scores
from plate_nets.recognition.geometry import STRIDE, Letterbox, clip
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.stages import Stages
from plate_nets.recognition.vehicles import belonging, vehicles_of
from plate_nets.recognition.windows import PER_INPUT, place, to_frame, windows_around
from plate_nets.types import DEFAULT_DETAIL, Boxes, Detail, Frame, Scores, VehicleRows

DetectorNetwork = Callable[[NDArray[np.uint8]], NDArray[np.float32]]
"""(1, h, w, 3) BGR -> (1, A, 6) cx, cy, w, h in pixels of the input, objectness, class score: all rows, or those
with an objectness of at least 0.001 (`runtimes.detector.NEGLIGIBLE`)."""


@runtime_checkable
class VehicleNetwork(Protocol):
    """A `DetectorNetwork` that can find vehicles in the same pass."""

    def __call__(self, pictures: NDArray[np.uint8], /) -> NDArray[np.float32]:
        """See `DetectorNetwork`."""

    def both(
        self, pictures: NDArray[np.uint8], /, least: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """The same pictures -> the same rows, and (1, B, 5 + kinds) rows of vehicles; None without a head for them.

        Rows with an objectness below ``least`` may be left out.
        """


LEAST_SIDE = 640
"""The minimum long side of the network's input, pixels: enough for plates that are near."""
MOST_SIDE = 8192
"""The maximum that a caller may set the input's long side to, pixels; memory grows with its square."""

SAME_VEHICLE = 0.6
"""Two boxes that overlap by more (IoU) are the same vehicle. Higher than for plates, as cars side by side hide each
other."""
_NO_VEHICLES: VehicleRows = np.empty((0, 6), np.float32)
NO_HEAD = "yolo: its weights cannot find vehicles, so a request for them returns none"

_log = logging.getLogger(__name__)

CLOSE_UP_SIDE = 320
"""The input's long side, pixels, at which a plate or vehicle that fills the picture has a size that the network
knows."""

_NEAR = 0.06
"""Width of a plate, as a share of the picture's, from which on its vehicle may fill the picture. With 0, ru_dev takes
two looks more and gains no vehicle; with 0.08 it loses one."""

_DETAILS: dict[Detail, tuple[float, int]] = {"fast": (0.0, LEAST_SIDE), "balanced": (0.45, 864), "far": (1.0, 1280)}
"""The input's long side as a share of the picture's, and its maximum in pixels."""


@dataclass(frozen=True)
class DetectionSettings:
    """Settings of `PlateDetector`.

    ``long_side``: the long side of the network's input, in pixels; the network is then `yolo`. 0: ``detail`` sets both.
    ``detail``: "fast": the input is 640 px long, and the network is the smaller `yolo_fast`; "balanced": the input is
    0.45 times as long as the picture, within 640 and 864 px; "far": as long as the picture, within 640 and 1280 px. See
    docs/explanation/performance.md, measured with `python -m benchmarks.smallest_plate`.
    ``proposal``: the minimum score of a box from the detector alone. The corner network then looks into the box and
    corrects the score, see `corners.rescored`.
    ``score_threshold``: the minimum score of a plate, from both networks. 0.15 finds no more plates of ru_dev, and puts
    boxes on more photos without a plate (`plates evaluate --plate-free`).
    ``iou_threshold``: if two boxes overlap by more, the one with the lower score is dropped. YOLOv5's default; plates
    hardly overlap.
    ``max_detections``: the maximum number of plates per frame.
    ``vehicle_threshold``: the minimum score of a vehicle. It is low, because a plate inside confirms the vehicle;
    `cameras.vehicles` has a higher one for vehicles without a plate.
    ``crop_margin``: how far an upright crop reaches beyond the box on each side, as a share of the box's height; used
    for plates without usable corners. With such crops alone, and slightly older weights, 189 of 201 plates of ru_dev
    were found and read exactly at 0, 190 from 0.05 to 0.15, 187 at 0.2, and 175 at 0.3. The value is the middle of the
    plateau.
    """

    long_side: int = 0
    proposal: float = 0.1
    score_threshold: float = 0.25
    iou_threshold: float = 0.45
    max_detections: int = 300
    crop_margin: float = 0.1
    detail: Detail = DEFAULT_DETAIL
    vehicle_threshold: float = 0.08

    def __post_init__(self) -> None:
        for name, valid, expected in (
            ("long_side", not self.long_side or STRIDE <= self.long_side <= MOST_SIDE, f"0 or {STRIDE} to {MOST_SIDE}"),
            ("detail", self.detail in _DETAILS, f"one of {', '.join(_DETAILS)}"),
            ("proposal", 0 <= self.proposal < 1, "0 to below 1"),
            ("score_threshold", 0 <= self.score_threshold < 1, "0 to below 1"),
            ("vehicle_threshold", 0 <= self.vehicle_threshold < 1, "0 to below 1"),
            ("iou_threshold", 0 < self.iou_threshold <= 1, "above 0 to 1"),
            ("max_detections", self.max_detections >= 1, "at least 1"),
            ("crop_margin", 0 <= self.crop_margin <= 1, "0 to 1"),
        ):
            if not valid:
                raise InputError(f"detection settings: {name}: expected {expected}, got {getattr(self, name)}")

    @property
    def network(self) -> str:
        """The name of the network, one of `registry.DETECTORS`."""
        return YOLO_FAST.name if self.detail == "fast" and not self.long_side else YOLO.name

    def side_for(self, hw: tuple[int, int]) -> int:
        """The size of a picture -> the long side of the network's input, both in pixels."""
        if self.long_side:
            return self.long_side
        share, most = _DETAILS[self.detail]
        return min(max(int(share * max(hw)) // STRIDE * STRIDE, LEAST_SIDE), most)


def detail_of(network: str) -> Detail:
    """The name of a network -> a ``detail`` of `DetectionSettings` with which its process loads it."""
    return "fast" if network == YOLO_FAST.name else DEFAULT_DETAIL


class PlateDetector:
    """Finds the plates of a frame with a given network. Not thread-safe."""

    def __init__(self, network: DetectorNetwork, settings: DetectionSettings | None = None) -> None:
        self.network = network
        self.settings = settings or DetectionSettings()
        self._pixels: NDArray[np.uint8] | None = None
        self._without_vehicles = False

    def detect(self, frame: Frame, stages: Stages = nullcontext) -> tuple[Boxes, Scores]:
        """A frame that `images.load_picture` accepts -> boxes that may show plates, and their scores, highest first.

        Its stages are ``letterbox``, ``network`` and ``select``.

        Returns:
            (N, 4) boxes xyxy in pixels of the frame, clamped to it, and (N,) scores 0..1.
        """
        return self._detect(frame, self._side_for(frame), stages, vehicles=False)[:2]

    def detect_close_up(self, frame: Frame, stages: Stages = nullcontext) -> tuple[Boxes, Scores]:
        """Like `detect`, with a smaller input, for plates that fill the picture; empty if the input was small already.

        Of 80 drawn close-ups in full HD, an input of 800 px finds 0.88 and one of 320 px all.
        """
        if self._side_for(frame) <= LEAST_SIDE:
            return np.empty((0, 4), np.float32), np.empty(0, np.float32)
        return self._detect(frame, CLOSE_UP_SIDE, stages, vehicles=False)[:2]

    def detect_around(self, frame: Frame, expected: Boxes, stages: Stages = nullcontext) -> tuple[Boxes, Scores]:
        """Like `detect`, but looks only around boxes (N, 4) xyxy in which plates are expected, N above 0."""
        hw = (frame.shape[0], frame.shape[1])
        windows = windows_around(expected, hw)
        found = []
        for first in range(0, len(windows), PER_INPUT):
            some = windows[first : first + PER_INPUT]
            with stages("letterbox"):
                pixels = place(frame, some)
            with stages("network"):
                rows = self.network(pixels)
            with stages("select"):
                boxes, scores = select(rows[0], self.settings)
                boxes, whole = to_frame(boxes, some, hw)
                boxes = clip(boxes, hw)
                kept = whole & visible(boxes)
                found.append((boxes[kept], scores[kept]))
        return np.concatenate([boxes for boxes, _ in found]), np.concatenate([scores for _, scores in found])

    def detect_both(self, frame: Frame, stages: Stages = nullcontext) -> tuple[Boxes, Scores, VehicleRows]:
        """Like `detect`, and also the vehicles of the frame, highest score first.

        A network without a head for vehicles finds none, and the log says so once.
        """
        return self._detect(frame, self._side_for(frame), stages, vehicles=True)

    def with_large_vehicles(
        self, frame: Frame, plates: Boxes, vehicles: VehicleRows, stages: Stages = nullcontext
    ) -> VehicleRows:
        """If a near plate has no vehicle, look again with a smaller input, for vehicles that fill the frame.

        Of 201 plates of ru_dev, 188 get their vehicle with it, and 161 without it.

        Args:
            frame: the frame.
            plates: (N, 4) boxes xyxy of its plates in pixels.
            vehicles: (M, 6) what `detect_both` found.
            stages: see `detect`.

        Returns:
            (M or more, 6) vehicles, highest score first.
        """
        near = plates[:, 2] - plates[:, 0] > _NEAR * frame.shape[1]
        if self._without_vehicles or not near.any():
            return vehicles
        if not (near & (belonging(plates, vehicles_of(vehicles)) < 0)).any():
            return vehicles
        rows = np.concatenate((vehicles, self._detect(frame, CLOSE_UP_SIDE, stages, vehicles=True)[2]))
        return distinct(rows[np.argsort(-rows[:, 4], kind="stable")])

    def _side_for(self, frame: Frame) -> int:
        return self.settings.side_for((frame.shape[0], frame.shape[1]))

    def _detect(self, frame: Frame, side: int, stages: Stages, vehicles: bool) -> tuple[Boxes, Scores, VehicleRows]:
        hw = (frame.shape[0], frame.shape[1])
        letterbox = Letterbox(hw, side)
        with stages("letterbox"):
            self._pixels = letterbox.place(frame, self._pixels)
        with stages("network"):
            rows, of_vehicles = self._both(self._pixels) if vehicles else (self.network(self._pixels), None)
        with stages("select"):
            found, scores = select(rows[0], self.settings)
            boxes = clip(letterbox.to_frame(found), hw)
            around = _NO_VEHICLES
            if of_vehicles is not None:
                around = select_vehicles(of_vehicles[0], self.settings)
                around[:, :4] = clip(letterbox.to_frame(around[:, :4]), hw)
                around = distinct(around[visible(around)])
        seen = visible(boxes)
        return boxes[seen], scores[seen], around

    def _both(self, pictures: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        if isinstance(self.network, VehicleNetwork):
            least = min(self.settings.proposal, self.settings.vehicle_threshold)  # a score is at most the objectness
            rows, vehicles = self.network.both(pictures, max(least, NEGLIGIBLE))
        else:
            rows, vehicles = self.network(pictures), None
        if vehicles is None and not self._without_vehicles:
            _log.warning(NO_HEAD)
            self._without_vehicles = True
        return rows, vehicles


def select(rows: NDArray[np.float32], settings: DetectionSettings) -> tuple[Boxes, Scores]:
    """Rows of the network (A, 5 + classes) -> boxes (N, 4) xyxy in pixels of its input, and scores, highest first.

    The score is objectness times the highest class score. Non-maximum suppression ignores the class.
    """
    kept = best_rows(rows, settings.proposal, settings.iou_threshold)[: settings.max_detections]
    return _corners(rows[kept]), row_scores(rows[kept])


def select_vehicles(rows: NDArray[np.float32], settings: DetectionSettings) -> VehicleRows:
    """Rows of the network's head for vehicles (B, 5 + kinds) -> vehicles (N, 6), in pixels of its input.

    Non-maximum suppression at `SAME_VEHICLE` ignores the kind, because a van is both a car and a truck.
    """
    kept = best_rows(rows, settings.vehicle_threshold, SAME_VEHICLE)[: settings.max_detections]
    scores, kinds = row_scores(rows[kept]), rows[kept, 5:].argmax(axis=1)
    return np.column_stack((_corners(rows[kept]), scores, kinds)).astype(np.float32)


def distinct(vehicles: VehicleRows) -> VehicleRows:
    """Vehicles (N, 6) clipped to the frame, highest score first -> those that overlap no better one.

    Clipping makes them overlap: the boxes of a car that is partly outside may only differ there.
    """
    same = iou(vehicles[:, :4], vehicles[:, :4]) > SAME_VEHICLE
    kept: VehicleRows = vehicles[~np.triu(same, 1).any(axis=0)]
    return kept


def visible(boxes: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Boxes (N, 4 or more) -> whether each has an area."""
    seen: NDArray[np.bool_] = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    return seen


def _corners(rows: NDArray[np.float32]) -> Boxes:
    """Rows -> boxes xyxy."""
    half = rows[:, 2:4] / 2
    return np.concatenate((rows[:, :2] - half, rows[:, :2] + half), axis=1)
