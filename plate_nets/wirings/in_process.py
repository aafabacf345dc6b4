"""The pipeline of `plate_recognition_python`: the production models' networks in one process, without BLS."""

from functools import partial

import cv2
import torch

from plate_nets.contract import LPRNET, STN, YOLO
from plate_nets.decoding import PlateDecoder
from plate_nets.detection import DetectionSettings, PlateDetector
from plate_nets.embedded import default_repository
from plate_nets.openvino_cpu import compile_torch
from plate_nets.pipeline import PlateReader, split_rows
from plate_nets.serving.detector_network import load_network
from plate_nets.serving.settings import ModelArgs, NetworkSettings, read_settings, thread_count
from plate_nets.torchscript import device_of, forward, load_torchscript
from plate_nets.types import Crops


def in_process_reader(model: ModelArgs, decoder: PlateDecoder) -> PlateReader[Crops]:
    """What Triton tells of the model -> a reader over the converted networks of `default_repository()`.

    Raises:
        WeightsError: a converted file is missing or does not load.
    """
    threads = thread_count(read_settings(NetworkSettings, model.name, model.parameters), model.instances)
    torch.set_num_threads(threads)
    cv2.setNumThreads(threads)
    versions = {spec.name: default_repository() / spec.name / "1" for spec in (YOLO, STN, LPRNET)}
    network = load_network(str(versions[YOLO.name]), model.gpu, threads)
    device = device_of(model.gpu)
    stn, lprnet = (load_torchscript(versions[spec.name] / "model.pt", device) for spec in (STN, LPRNET))
    rectify = partial(forward, stn, device=device)
    if model.gpu is None:
        read = compile_torch(lprnet, LPRNET.inputs[0].dims, threads)  # as the `pytorch` backend does
    else:
        read = partial(forward, lprnet, device=device)
    detector = PlateDetector(network, read_settings(DetectionSettings, model.name, model.parameters))
    return PlateReader(detector.detect, rectify, read, decoder, split_rows)
