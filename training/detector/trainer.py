"""Trains the detectors on plates near and far, and on vehicles, from photos and drawings.

The first stages of `yolo`, which see edges and colours, are frozen. `yolo_fast` also learns what `yolo` finds.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plate_nets.contract import YOLO
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.detection_metrics import Detections, average_precision, found
from plate_nets.networks.checkpoint import activation_of, load_weights
from plate_nets.networks.registry import NETWORKS, YOLO_FAST
from plate_nets.networks.runtimes.torchscript import detector_input
from plate_nets.networks.yolov5 import Detect, YOLOv5Fast, YOLOv5n
from plate_nets.recognition.detection import DetectionSettings, PlateDetector, detail_of
from plate_nets.types import VEHICLES
from training import loop
from training.checkpoint import DECAY, TrainingState
from training.detector.loss import head_loss, taught_loss
from training.detector.slim import slim
from training.detector.views import Batch, Example

FROZEN = ("down1", "down2", "stage2")
"""Parts that do not learn."""
MEASURED = 100
"""Photos of a set to measure on during the training, about."""
ARCHITECTURE = "yolov5n/hardswish/vehicles"
_VEHICLES = 0.5
"""Weight of the vehicles in the loss, beside the plates."""


def detector_state(
    device: torch.device, weights: Path | None, decay: float = DECAY, *, fast: bool = False
) -> TrainingState[YOLOv5n]:
    """The state for a detector with both heads, starting from the weights of `yolo`; a head that they lack is
    initialised.

    ``fast``: for the small detector, which starts from their strongest channels.

    Raises:
        WeightsError: the weights are missing, damaged or of another architecture.
    """
    network = YOLOv5Fast() if fast else YOLOv5n()
    for head in heads(network):
        fresh(head)
    if weights:
        begun = YOLOv5n(activation=activation_of(weights))
        load_weights(begun, weights)
        if fast:
            slim(begun, network)
        else:
            network.load_state_dict(begun.state_dict(), strict=False)
            for name in FROZEN:
                network.get_submodule(name).requires_grad_(False)
    architecture = f"fast {ARCHITECTURE}" if fast else ARCHITECTURE
    return TrainingState(architecture, network.to(device).to(memory_format=torch.channels_last), decay=decay)  # type: ignore[call-overload]


def fresh(head: Detect) -> None:
    """Initialise a head: objectness at the share of cells with an object, and the classes at theirs."""
    for stride, convolution in zip(head.strides, head.m, strict=True):
        assert isinstance(convolution, nn.Conv2d) and convolution.bias is not None
        bias = convolution.bias.data.view(3, -1)
        bias[:, 4] = math.log(8 / (640 / stride) ** 2)
        bias[:, 5:] = math.log(0.6 / (len(VEHICLES) - 0.6))


class Detection(loop.Trainer[TrainingState[YOLOv5n], Batch, Sequence[Example]]):
    file = "yolo.safetensors"

    def loss(self, batch: Batch) -> Tensor:
        network = self.state.network
        for part in network.children():
            if not any(each.requires_grad for each in part.parameters()):
                part.eval()  # freezes its means and variances too
        pictures = batch.pictures.to(self.device, memory_format=torch.channels_last)
        plates, vehicles = self.losses(pictures, (batch.plates, batch.vehicles))
        return plates + _VEHICLES * vehicles

    def losses(self, pictures: Tensor, targets: Iterable[Tensor]) -> Iterator[Tensor]:
        """Pictures and the targets of each head -> the loss of each head."""
        network = self.state.network
        for head, own, target in zip(heads(network), maps_of(network, pictures), targets, strict=True):
            yield head_loss(head, own, target.to(self.device))

    def figures(self, known: Sequence[Example]) -> dict[str, float]:
        plates, vehicles = measured(self.state.average, known[:: max(1, len(known) // MEASURED)])
        figures = {
            "recall": float(found(plates, DetectionSettings().score_threshold).mean()),
            "AP50": average_precision(plates),
        }
        if any(len(each.truth) for each in vehicles):
            figures["vehicles AP50"] = average_precision(vehicles)
        return figures


class Distillation(Detection):
    """Trains the small detector on labels and on what the shipped large one finds in the same pictures."""

    file = YOLO_FAST.weights.name

    @cached_property
    def teacher(self) -> YOLOv5n:
        teacher = NETWORKS[YOLO.name].load(main_scheme())
        assert isinstance(teacher, YOLOv5n)
        return teacher.fuse().to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def losses(self, pictures: Tensor, targets: Iterable[Tensor]) -> Iterator[Tensor]:
        with torch.no_grad():
            taught = maps_of(self.teacher, pictures)
        network = self.state.network
        given = zip(heads(network), maps_of(network, pictures), taught, targets, strict=True)
        for head, own, wanted, target in given:
            yield head_loss(head, own, target.to(self.device)) + taught_loss(head, own, wanted)


def maps_of(network: YOLOv5n, pictures: Tensor) -> list[list[Tensor]]:
    """Pictures -> the output of each head at each stride, (N, 3 * values, h, w), before its sigmoid."""
    with loop.mixed_precision(pictures.device):
        features = network.features(pictures)
        maps = [[layer(each) for layer, each in zip(head.m, features, strict=True)] for head in heads(network)]
    return [[each.float() for each in own] for own in maps]


def heads(network: YOLOv5n) -> tuple[Detect, Detect]:
    """A network -> its heads for plates and for vehicles."""
    assert network.vehicles is not None
    return network.detect, network.vehicles


def measured(network: YOLOv5n, examples: Sequence[Example]) -> tuple[list[Detections], list[Detections]]:
    """What a network finds in pictures, plates and vehicles of any kind, together with the truth."""
    device = next(network.parameters()).device

    @torch.inference_mode()
    def rows(head: Detect, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        with loop.mixed_precision(device):
            features = network.features(detector_input(pictures, device))
        return np.asarray(head([each.float() for each in features]).cpu().numpy())

    found: tuple[list[Detections], list[Detections]] = ([], [])
    settings = DetectionSettings(
        proposal=0.01, detail=detail_of(YOLO_FAST.name if isinstance(network, YOLOv5Fast) else YOLO.name)
    )
    detectors = [PlateDetector(partial(rows, head), settings) for head in heads(network)]
    for each in examples:
        frame, plates = read_photo(each.photo), each.objects.kinds == 0
        for detector, own, into in zip(detectors, (plates, ~plates), found, strict=True):
            there, doubtful = (each.objects.boxes[own & sure] for sure in (each.sure, ~each.sure))
            into.append(Detections(*detector.detect(frame), there, doubtful))
    return found
