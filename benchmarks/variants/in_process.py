"""The pipeline of `plate_recognition_python`: the production models' networks in one process, without BLS."""

from dataclasses import dataclass

import cv2

from plate_nets.contract import FRAME
from plate_nets.networks.runtimes.networks import default_repository, first_versions, load_converted
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.reader import FrameLimits
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.stages import Stages
from plate_nets.triton.backend.settings import ModelArgs, NetworkSettings, read_settings, thread_count
from plate_nets.triton.backend.triton import Tensor
from plate_nets.types import Scene


@dataclass(frozen=True)
class InProcessReader:
    """A `LocalReader` for pictures in Triton's tensors: a `python_backend.recognition.TensorReader`."""

    reader: LocalReader

    def scene(self, picture: Tensor, /, options: ReadOptions, stages: Stages) -> Scene:
        """The caller's picture -> its plates and vehicles; always reads the server's schemes."""
        array = picture.as_numpy()
        image = array if picture.name() == FRAME.name else array.tobytes()
        evidence, appearance, sure = options.evidence, options.appearance, options.sure
        if options.vehicles:
            return self.reader.scene(image, evidence=evidence, appearance=appearance, sure=sure)
        return Scene(self.reader.read(image, evidence=evidence, appearance=appearance, sure=sure, stages=stages))


def in_process_reader(model: ModelArgs, decoder: SchemeDecoder) -> InProcessReader:
    """The model's arguments from Triton -> a reader with the converted networks of `default_repository()`.

    Raises:
        WeightsError: a converted file is missing or does not load.
    """
    threads = thread_count(read_settings(NetworkSettings, model.name, model.parameters), model.instances)
    cv2.setNumThreads(threads)
    networks = load_converted(first_versions(default_repository()), model.gpu, threads)
    return InProcessReader(
        LocalReader(
            scheme=decoder.schemes,
            detection=read_settings(DetectionSettings, model.name, model.parameters),
            decoding=decoder.settings,
            limits=read_settings(FrameLimits, model.name, model.parameters),
            networks=lambda: networks,
        )
    )
