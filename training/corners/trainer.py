"""The training loop of CornerNet."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader
from torch.utils.tensorboard.writer import SummaryWriter

from plate_nets.nets.checkpoint import save_weights
from plate_nets.types import Frame
from training.corners.samples import Batch, Samples
from training.corners.state import TrainingState
from training.corners.validation import LabelledCorners, errors_on, quantiles
from training.reader.state import Schedule

_VOTES = 0.3
"""Weight of the votes' own errors beside that of their mean: it makes those that count agree."""
_QUALITY = 0.05
"""Weight of the expected error's likelihood."""
_FINE = 0.05
"""Errors below this, in plate heights, are squared: labels are no more exact."""


@dataclass(frozen=True)
class Budget:
    """When the training ends: after ``steps``, or after ``minutes`` of training time where that is sooner.

    The learning rate follows the progress through the budget.
    """

    steps: int
    minutes: float | None = None

    def progress(self, state: TrainingState) -> float:
        """0 at the start, 1 at the end."""
        by_steps = state.step / self.steps
        return by_steps if self.minutes is None else max(by_steps, state.seconds / (60 * self.minutes))


@dataclass(frozen=True)
class Rhythm:
    """Every how many steps something is done."""

    validate: int = 1000
    checkpoint: int = 250
    log: int = 25


class Trainer:
    """Trains a state on samples within a budget; writes checkpoint, curves and the best weights to ``out``."""

    def __init__(
        self,
        state: TrainingState,
        samples: Samples,
        validation: Mapping[str, Sequence[LabelledCorners]],
        budget: Budget,
        out: Path,
        *,
        device: torch.device,
        workers: int,
        schedule: Schedule = Schedule(),
        rhythm: Rhythm = Rhythm(),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.state = state
        self.samples = samples
        self.validation = validation
        self.budget = budget
        self.out = out
        self.device = device
        self.workers = workers
        self.schedule = schedule
        self.rhythm = rhythm
        self.metadata = dict(metadata or {})
        self._photos: dict[str, Frame] = {}

    def run(self) -> None:
        """Trains to the end of the budget.

        The first validation set decides which weights are the best; `last` are those at the end of the budget.
        """
        state = self.state
        writer = SummaryWriter(str(self.out / "curves"), purge_step=state.step)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns) as bar:
            task = bar.add_task("training", total=self.budget.steps, completed=state.step)
            batches = self._batches()
            before = time.monotonic()
            while self.budget.progress(state) < 1:
                loss, rate = self._step(next(batches))
                state.seconds += time.monotonic() - before
                before = time.monotonic()
                bar.update(task, completed=state.step, description=f"loss {loss:.3f}")
                if state.step % self.rhythm.log == 0:
                    writer.add_scalar("loss", loss, state.step)
                    writer.add_scalar("rate", rate, state.step)
                ended = self.budget.progress(state) >= 1
                if state.step % self.rhythm.validate == 0 or ended:
                    bar.console.print(self._validate(writer, loss))
                if state.step % self.rhythm.checkpoint == 0 or ended:
                    state.save(self.out / "checkpoint.pt")
        writer.close()
        self._save("last")

    def _batches(self) -> Iterator[Batch]:
        loader = DataLoader(
            self.samples,
            batch_size=None,
            sampler=range(self.state.step, self.budget.steps),
            num_workers=self.workers,
            worker_init_fn=_one_thread,
            prefetch_factor=8 if self.workers else None,
        )
        yield from loader

    def _step(self, batch: Batch) -> tuple[float, float]:
        state = self.state
        rate = self.schedule.rate(self.budget.progress(state))
        state.set_rate(rate)
        state.network.train()
        windows = torch.from_numpy(batch.windows).to(self.device, memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16):
            votes = state.network.vote(windows)
        corners = torch.from_numpy(batch.corners).to(self.device)
        heights = torch.from_numpy(batch.heights).to(self.device)
        points, weights, error = (part.float() for part in votes)
        loss = corner_loss(points, weights, error, corners, heights)
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(state.network.parameters(), 5.0)
        state.optimizer.step()
        state.step += 1
        state.update_average()
        return loss.item(), rate

    def _validate(self, writer: SummaryWriter, loss: float) -> str:
        state = self.state
        shown = []
        for place, (name, labelled) in enumerate(self.validation.items()):
            errors = errors_on(state.average, labelled, cache=self._photos)
            half, most = quantiles(errors)
            mean = float(errors.clip(max=0.5).mean())
            shown.append(f"{name} {half:.4f}, {most:.4f}, mean {mean:.4f}")
            for kind, value in (("median", half), ("most", most), ("mean", mean)):
                writer.add_scalar(f"error/{name}/{kind}", value, state.step)
            if place == 0 and mean < state.best:
                state.best = mean
                self._save("best")
        listed = "; ".join(shown)
        return f"step {state.step}, {state.seconds / 60:.1f} min, loss {loss:.4f}: error median, 95 %: {listed}"

    def _save(self, name: str) -> None:
        metadata = self.metadata | {"steps": str(self.state.step)}
        save_weights(self.state.average, self.out / name / "corners.safetensors", metadata)


def corner_loss(points: Tensor, weights: Tensor, error: Tensor, corners: Tensor, heights: Tensor) -> Tensor:
    """What the votes of N windows (see `CornerNet.vote`) miss of the corners -> mean loss a window.

    Args:
        points: (N, 4, cells, 2) px of the window.
        weights: (N, 4, cells).
        error: (N, 1) natural logarithm of the expected error, in plate heights.
        corners: (N, 4, 2) px.
        heights: (N,) px, of the plates in the windows.

    The distances are in plate heights. The expected error is fitted as the scale of a Laplace distribution of the mean
    distance, which itself takes no gradient from it.
    """
    unit = heights.clamp(min=4.0).view(-1, 1, 1)
    missed = ((points * weights[..., None]).sum(2) - corners) / unit  # (N, 4, 2)
    main = functional.smooth_l1_loss(missed, torch.zeros_like(missed), beta=_FINE)
    each = functional.smooth_l1_loss(
        points / unit[..., None], (corners / unit)[:, :, None].expand_as(points), beta=_FINE, reduction="none"
    )
    agreed = (each.mean(3) * weights).sum(2).mean()
    distance = missed.detach().norm(dim=2).mean(1).clamp(max=2.0)
    likelihood = (distance * torch.exp(-error[:, 0]) + error[:, 0]).mean()
    loss: Tensor = main + _VOTES * agreed + _QUALITY * likelihood
    return loss


def _one_thread(_: int) -> None:
    import cv2

    cv2.setNumThreads(0)
    torch.set_num_threads(1)
