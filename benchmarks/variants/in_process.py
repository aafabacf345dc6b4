"""The pipeline of `plate_recognition_python`: the production models' networks in one process, without BLS."""

import cv2

from plate_nets.recognition.decoding import PlateDecoder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.runtimes.networks import first_versions, load_converted
from plate_nets.server import default_repository
from plate_nets.serving.request_picture import frame_of
from plate_nets.serving.settings import FrameLimits, ModelArgs, NetworkSettings, read_settings, thread_count
from plate_nets.serving.triton import Tensor
from plate_nets.types import Boxes, Crops, Scores


def in_process_reader(model: ModelArgs, decoder: PlateDecoder) -> PlateReader[Tensor, Crops]:
    """What Triton tells of the model -> a reader over the converted networks of `default_repository()`.

    Raises:
        WeightsError: a converted file is missing or does not load.
    """
    threads = thread_count(read_settings(NetworkSettings, model.name, model.parameters), model.instances)
    cv2.setNumThreads(threads)
    networks = load_converted(first_versions(default_repository()), model.gpu, threads)
    detector = PlateDetector(networks.yolo, read_settings(DetectionSettings, model.name, model.parameters))
    limits = read_settings(FrameLimits, model.name, model.parameters)

    def detect(picture: Tensor) -> tuple[Crops, Boxes, Scores]:
        return detector.detect(frame_of(picture, limits))

    return PlateReader(detect, networks.stn, networks.lprnet, decoder, split_rows)
