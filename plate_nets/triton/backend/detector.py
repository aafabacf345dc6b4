"""The `yolo` model: picture -> crops, boxes, scores, corners, and vehicles if requested. It runs two networks."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import CORNERS, VEHICLE_ROWS, YOLO
from plate_nets.networks.runtimes.networks import IR, load_network, network_folder
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.geometry import Letterbox
from plate_nets.recognition.reader import FrameLimits
from plate_nets.triton.backend.cores import Cores
from plate_nets.triton.backend.network_model import chosen_precision
from plate_nets.triton.backend.request_picture import frame_of, picture_of
from plate_nets.triton.backend.settings import ModelArgs, NetworkSettings
from plate_nets.triton.backend.triton import Request, Response, Tensor, answer, starting, tensor
from plate_nets.triton.backend.watchdog import Watchdog, WatchdogSettings

ASPECTS = ((720, 1280), (1080, 1920), (480, 640), (1000, 1500), (1280, 720), (640, 480))
"""Height and width of the warm-up frames, one for each size of the network's input, because the first run at a size
takes twice as long."""


class Detector:
    """Answers the requests of `yolo`."""

    def __init__(self, args: Mapping[str, str]) -> None:
        with starting(args, FrameLimits, NetworkSettings, DetectionSettings, WatchdogSettings) as model:
            self._limits = model.settings(FrameLimits)
            detection = model.settings(DetectionSettings)
            self._watchdog = Watchdog(model.settings(WatchdogSettings))
            self._cores = Cores(model, model.settings(NetworkSettings))
            boxes, corners = (networks(model, name, self._cores.choices) for name in (detection.network, CORNERS.name))
            self._finders = {
                threads: PlateFinder(PlateDetector(boxes[threads], detection), CornerFinder(corners[threads]))
                for threads in self._cores.choices
            }
        frames = {Letterbox(hw, detection.side_for(hw)).input_hw: hw for hw in reversed(ASPECTS)}
        for h, w in frames.values():
            for finder in self._finders.values():
                frame = np.zeros((h, w, 3), np.uint8)
                finder.find(frame)
                finder.cut(frame, np.array([[0, 0, w, h]], np.float32))

    def answer(self, request: Request) -> Response:
        """Answer one request; never raises."""
        with self._watchdog.working():
            return answer(request, self._respond)

    def _respond(self, request: Request) -> list[Tensor]:
        with self._cores.taken() as threads:
            cv2.setNumThreads(threads)
            frame = frame_of(picture_of(request), self._limits)
            vehicles = VEHICLE_ROWS.name in request.requested_output_names()
            cut, boxes, scores, rows = self._finders[threads].find(frame, vehicles=vehicles)
        arrays = (cut.crops, boxes, scores, cut.corners, cut.as_one, cut.upright, rows)
        return [tensor(spec, array) for spec, array in zip(YOLO.outputs, arrays, strict=True)]


def networks(
    model: ModelArgs, name: str, choices: Iterable[int]
) -> dict[int, Callable[[NDArray[Any]], NDArray[np.float32]]]:
    """A network of this model for each number of CPU threads; on a GPU, the same one for all.

    Raises:
        WeightsError: the converted file is missing or does not load.
    """
    folder = network_folder(Path(model.folder), name)
    if model.gpu is not None:
        return dict.fromkeys(choices, load_network(name, folder, model.gpu, threads=0))
    precision = chosen_precision(name, folder / IR)
    return {threads: load_network(name, folder, None, threads, precision) for threads in choices}
