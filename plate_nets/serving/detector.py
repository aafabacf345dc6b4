"""The `yolo` model: frame -> crops, boxes and scores."""

from collections.abc import Mapping

import cv2

from plate_nets.contract import FRAME, YOLO
from plate_nets.detection import DetectionSettings, PlateDetector
from plate_nets.errors import InputError, PlateError
from plate_nets.serving.detector_network import load_network
from plate_nets.serving.frames import check_frame
from plate_nets.serving.settings import FrameLimits, NetworkSettings, read_settings, refuse_unknown, thread_count
from plate_nets.serving.triton import Request, Response, Tensor, answer, find, model_args, start_fault, tensor


class Detector:
    """Answers the requests of `yolo`."""

    def __init__(self, args: Mapping[str, str]) -> None:
        model = model_args(args)
        try:
            refuse_unknown(model.name, model.parameters, FrameLimits, NetworkSettings, DetectionSettings)
            self._limits = read_settings(FrameLimits, model.name, model.parameters)
            network = read_settings(NetworkSettings, model.name, model.parameters)
            detection = read_settings(DetectionSettings, model.name, model.parameters)
            threads = thread_count(network, model.instances)
            cv2.setNumThreads(threads)
            self._detector = PlateDetector(load_network(model.folder, model.gpu, threads), detection)
        except PlateError as error:
            raise start_fault(error) from error

    def answer(self, request: Request) -> Response:
        """One request -> its response; never raises."""
        return answer(request, self._respond)

    def _respond(self, request: Request) -> list[Tensor]:
        frame = find(request, FRAME)
        if frame is None:
            raise InputError(f"expected {FRAME.name}, got none")
        found = self._detector.detect(check_frame(frame.as_numpy(), self._limits))
        return [tensor(spec, array) for spec, array in zip(YOLO.outputs, found, strict=True)]
