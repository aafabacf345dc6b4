"""The loop that trains a network: steps within a budget, curves, validation, checkpoints."""

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import cv2
import torch
from rich.logging import RichHandler
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.tensorboard.writer import SummaryWriter

from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.runtimes.openvino import has_bfloat16
from training.checkpoint import TrainingState
from training.recipe.recipe import Schedule

B = TypeVar("B", covariant=True)
V = TypeVar("V")
S = TypeVar("S", bound=TrainingState[Any])

_LOG = 25
"""Steps between two points of the curves."""
_WARM_UP = 0.03
"""The share of the training in which the rate rises."""
_CHECKPOINT = 20.0
"""Seconds between two checkpoints: what an interruption costs at most."""
CHECKPOINT = "checkpoint.pt"
CURVES = "curves"
"""What a training keeps in its folder: its state, and its curves for TensorBoard."""
RIGHT = "right/"
"""What the names of the curves begin with that show the share of right answers on a data set."""


class StepSamples(Protocol[B]):
    """Batches that are a function of (seed, step) alone, so that a resumed training sees the same ones."""

    seed: int

    def __getitem__(self, step: int) -> B:
        """The batch of a step."""
        ...


def progress_of(state: TrainingState[Any], schedule: Schedule) -> float:
    """0 at the start of a training, 1 at its end; the learning rate follows it.

    With steps only, a resumed training is bit-identical to an uninterrupted one; minutes depend on the machine.
    """
    by_steps = state.step / schedule.steps
    return by_steps if schedule.minutes is None else max(by_steps, state.seconds / (60 * schedule.minutes))


def learning_rate(highest: float, progress: float) -> float:
    """The rate at a progress of 0..1: one cycle of a linear rise, then a cosine down to a hundredth."""
    if progress < _WARM_UP:
        return highest * max(progress, 1e-3) / _WARM_UP
    down = min(1.0, (progress - _WARM_UP) / (1 - _WARM_UP))
    return highest * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * down)))


@dataclass
class Trainer(ABC, Generic[S, B, V]):
    """Trains a state on samples as a schedule says; writes checkpoints, curves and the weights to ``out``.

    ``validation``: sets to measure on, by name. ``then``: samples that take the place of ``samples``, each from a
    progress of 0..1 on. ``start``: the weights at the start and their share in the result.
    """

    file: ClassVar[str]
    """The name of the weights' file."""
    curves: ClassVar[str] = RIGHT
    """What the names of its curves begin with."""

    state: S
    samples: StepSamples[B]
    validation: Mapping[str, V]
    schedule: Schedule
    out: Path
    _: KW_ONLY
    device: torch.device
    workers: int
    then: Sequence[tuple[float, StepSamples[B]]] = ()
    start: tuple[Mapping[str, Tensor], float] | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    @abstractmethod
    def loss(self, batch: B) -> Tensor:  # type: ignore[misc]
        """The loss of a batch, in training mode."""

    @abstractmethod
    def figures(self, known: V) -> Mapping[str, float]:
        """What the averaged weights reach on a set."""

    def validate(self, writer: SummaryWriter) -> str:
        """Measure the averaged weights on all sets, and report the figures in a line."""
        figures = {
            f"{name} {kind}": value
            for name, known in self.validation.items()
            for kind, value in self.figures(known).items()
        }
        for name, value in figures.items():
            writer.add_scalar(f"{self.curves}{name}", value, self.state.step)
        return ", ".join(f"{name} {value:.4f}" for name, value in figures.items()) or "not measured: no plates held out"

    def save(self, name: str) -> None:
        """Write the averaged weights to the folder ``name`` of ``out``."""
        save_weights(self.state.average, self.out / name / self.file, self.facts)

    @property
    def facts(self) -> dict[str, str]:
        """What the files of the weights say about their training."""
        return self.metadata | {"steps": str(self.state.step)}

    @property
    def progress(self) -> float:
        return progress_of(self.state, self.schedule)

    def run(self) -> None:
        """Train to the end of the schedule; the weights `last` are the result."""
        state = self.state
        writer = SummaryWriter(str(self.out / CURVES), purge_step=state.step)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns) as bar:
            task = bar.add_task("training", total=1.0)
            batches = self.batches()
            before = saved = time.monotonic()
            while self.progress < 1:
                loss, rate = self.step(next(batches))
                state.seconds += time.monotonic() - before
                before = time.monotonic()
                progress = self.progress
                bar.update(task, completed=progress, description=f"step {state.step}, loss {loss:.3f}")
                if state.step % _LOG == 0:
                    writer.add_scalar("loss", loss, state.step)
                    writer.add_scalar("rate", rate, state.step)
                ended = progress >= 1
                if state.step % self.schedule.every == 0 or ended:
                    at = f"step {state.step}, {state.seconds / 60:.1f} min, loss {loss:.4f}"
                    bar.console.print(f"{at}: {self.validate(writer)}")
                if time.monotonic() - saved > _CHECKPOINT or ended:
                    state.save(self.out / CHECKPOINT)
                    saved = time.monotonic()
        writer.close()
        if self.start:
            state.mix(*self.start)
        self.save("last")

    def batches(self) -> Iterator[B]:
        ends = (*(start for start, _ in self.then), float("inf"))
        for samples, end in zip((self.samples, *(each for _, each in self.then)), ends, strict=True):
            if self.progress >= end:
                continue
            loader: DataLoader[B] = DataLoader(
                samples,  # type: ignore[arg-type]  # a sampler is all that it asks of a data set
                batch_size=None,
                sampler=range(self.state.step, self.schedule.steps),
                num_workers=self.workers,
                worker_init_fn=_one_thread,
                prefetch_factor=8 if self.workers else None,
            )
            for batch in loader:
                yield batch
                if self.progress >= end:
                    break

    def step(self, batch: B) -> tuple[float, float]:  # type: ignore[misc]
        """Learn from a batch -> its loss and the learning rate."""
        state = self.state
        rate = learning_rate(self.schedule.rate, self.progress)
        state.set_rate(rate)
        torch.manual_seed(self.samples.seed * 1_000_003 + state.step)  # for dropout: resuming repeats it
        state.network.train()
        loss = self.loss(batch)
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(state.network.parameters(), 5.0)
        state.optimizer.step()
        state.step += 1
        state.update_average()
        return loss.item(), rate


def prepare(out: Path, threads: int, seed: int) -> torch.device:
    """Set up log, threads, seed and folder of a training -> its device."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[RichHandler(show_path=False)])
    for chatty in ("plate_nets.networks.runtimes", "tensorboard"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    out.mkdir(parents=True, exist_ok=True)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def mixed_precision(device: torch.device) -> torch.autocast:
    """bfloat16 if the device computes in it; emulated by a processor, it takes 3.5 times as long as float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu" or has_bfloat16())


def _one_thread(_: int) -> None:
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
