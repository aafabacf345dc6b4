"""`python -m training.detector.distil`: trains a detector to give another detector's outputs.

It learns from the teacher's outputs for any picture, so it needs no labels (Hinton, Vinyals, Dean, "Distilling the
Knowledge in a Neural Network", 2015). This gives a network with a changed activation weights that find what they found
before.
"""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import torch
import typer
from torch import Tensor
from torch.nn import functional
from torch.utils.tensorboard.writer import SummaryWriter

from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import pictures_below
from plate_nets.networks.checkpoint import activation_of, load_weights, sha256
from plate_nets.networks.runtimes.torchscript import detector_input
from plate_nets.networks.yolov5 import ANCHORS, YOLOv5n
from plate_nets.recognition.geometry import GREY
from plate_nets.types import Frame
from training import loop
from training.checkpoint import TrainingState
from training.command import errors_in_one_line

ARCHITECTURE = "yolov5n/hardswish"
SIZE = (448, 640)
"""Height and width of the training pictures, px."""
HELD_OUT = 10
"""One picture in this many is used for validation, not training."""

_SURE = 0.02
"""Teacher's objectness from which on a box counts."""
_LEAST = -7.0
"""Log-odds of a plate below which differences do not matter."""


@dataclass
class Parts:
    """Batches (N, 3, 448, 640) float32 RGB 0..1 of random parts of photos, a function of (seed, step) alone."""

    photos: list[Path]
    batch: int
    seed: int

    def __getitem__(self, step: int) -> Tensor:
        """The batch of a step."""
        rng = np.random.default_rng((self.seed, step))
        chosen = rng.choice(len(self.photos), self.batch, replace=len(self.photos) < self.batch)
        return detector_input(np.stack([part(read_photo(self.photos[index]), rng) for index in chosen]))


def part(frame: Frame, rng: np.random.Generator) -> Frame:
    """Scale, shift and mirror a frame, and change its colours: (448, 640, 3)."""
    h, w = SIZE
    scale = min(h / frame.shape[0], w / frame.shape[1]) * float(np.exp(rng.uniform(np.log(0.2), np.log(1.8))))
    left, top = (
        side * rng.uniform(0.1, 0.9) - scale * own * rng.uniform(0.1, 0.9)
        for side, own in ((w, frame.shape[1]), (h, frame.shape[0]))
    )
    if scale < 1:
        frame = np.asarray(cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
        scale = 1.0
    place = np.array([[scale, 0, left], [0, scale, top]], np.float32)
    moved = cv2.warpAffine(frame, place, (w, h), flags=cv2.INTER_LINEAR, borderValue=(GREY, GREY, GREY))
    if rng.random() < 0.5:
        moved = moved[:, ::-1]
    changed = moved.astype(np.float32) * rng.uniform(0.8, 1.2, 3) * rng.uniform(0.5, 1.3) + rng.uniform(-15, 15)
    return np.clip(changed, 0, 255).astype(np.uint8)


def detector(weights: Path) -> YOLOv5n:
    """Load a network with the activation that its weights were trained with."""
    network = YOLOv5n(activation=activation_of(weights))
    load_weights(network, weights)
    return network


def detector_state(device: torch.device, start: YOLOv5n) -> TrainingState[YOLOv5n]:
    """The state for YOLOv5n, starting from the weights of another one, whatever its activation."""
    network = YOLOv5n(vehicles=start.vehicles is not None)
    network.load_state_dict(start.state_dict())
    return TrainingState(ARCHITECTURE, network.to(device).to(memory_format=torch.channels_last), float("inf"))  # type: ignore[call-overload]


@dataclass
class Distillation(loop.Trainer[TrainingState[YOLOv5n], Tensor, Tensor]):
    """Trains a detector on the outputs of another one, ``teacher``."""

    file = "yolo.safetensors"
    teacher: YOLOv5n = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        teacher = self.teacher.eval().fuse().requires_grad_(False)
        self.teacher = teacher.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def loss(self, batch: Tensor) -> Tensor:
        """The distance between the outputs for a batch and the teacher's."""
        return self._distance(self.state.network, batch)

    @torch.no_grad()
    def validate(self, writer: SummaryWriter) -> str:
        """The distance on held-out pictures."""
        average = self.state.average
        means = {
            name: float(np.mean([self._distance(average, batch).item() for batch in torch.split(pictures, 8)]))
            for name, pictures in self.validation.items()
        }
        for name, mean in means.items():
            writer.add_scalar(f"distance/{name}", mean, self.state.step)
        return "distance: " + ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())

    def _distance(self, network: YOLOv5n, batch: Tensor) -> Tensor:
        batch = batch.to(self.device, memory_format=torch.channels_last)
        with loop.mixed_precision(self.device):
            with torch.no_grad():
                target = self.teacher.features(batch)
            found = network.features(batch)
        total = torch.zeros((), device=self.device)
        for own, right, head, judge in zip(found, target, network.detect.m, self.teacher.detect.m, strict=True):
            own, right = own.float(), right.float()
            total = total + functional.mse_loss(own, right) / right.var() + distance(head(own), judge(right))
        return total


def distance(output: Tensor, target: Tensor) -> Tensor:
    """Two maps (N, 3 * values, h, w) of a head, before their sigmoid -> their distance.

    Boxes count by the objectness in the target map.
    """
    output, target = (torch.unflatten(each, 1, (len(ANCHORS[0]), -1)) for each in (output, target))
    objects = functional.smooth_l1_loss(output[:, :, 4].clamp(min=_LEAST), target[:, :, 4].clamp(min=_LEAST))
    sure = target[:, :, 4].sigmoid()
    weights = torch.where(sure > _SURE, sure, 0.0)
    boxes = functional.smooth_l1_loss(output[:, :, :4], target[:, :, :4], reduction="none").sum(2)
    return objects + (boxes * weights).sum() / (weights.sum() + 1.0)


@errors_in_one_line()
def main(
    pictures: Annotated[list[Path], typer.Option(help="Folder of pictures, labelled or not. Repeatable.")],
    teacher: Annotated[Path, typer.Option(help="Weights of the teacher.")],
    out: loop.Out,
    start: Annotated[Path | None, typer.Option(help="Weights to start from. Default: the teacher's.")] = None,
    steps: loop.Steps = 2000,
    minutes: loop.Minutes = None,
    batch: Annotated[int, typer.Option(min=1, help="Pictures per step.")] = 8,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate.")] = 1e-3,
    seed: loop.Seed = 0,
    threads: loop.Threads = 1,
    workers: loop.Workers = 1,
    every: loop.Every = 250,
    resume: loop.Resume = False,
) -> None:
    """Train our YOLOv5n to give the teacher's outputs; the averaged weights are written to OUT/last at the end."""
    device = loop.prepare(out, threads, seed)
    found = [path for folder in pictures for path in pictures_below(folder)]
    held = found[::HELD_OUT] if len(found) >= HELD_OUT else found
    aside = set(held)
    learnt = [path for path in found if path not in aside] or found
    logging.info("%d pictures to learn from, %d to measure on; %s", len(learnt), len(held), device)
    state = detector_state(device, detector(start or teacher))
    if resume:
        loop.continue_from(state, out)
    rng = np.random.default_rng(0)
    Distillation(
        state,
        Parts(learnt, batch, seed),
        {"held out": detector_input(np.stack([part(read_photo(path), rng) for path in held[:64]]))},
        loop.Budget(steps, minutes),
        out,
        device=device,
        workers=workers,
        rate=rate,
        every=every,
        metadata={"seed": str(seed), "teacher": sha256(teacher)[:12]},
        teacher=detector(teacher),
    ).run()


if __name__ == "__main__":
    typer.run(main)
