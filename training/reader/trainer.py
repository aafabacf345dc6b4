"""The training loop: CTC over STN and LPRNet jointly."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader
from torch.utils.tensorboard.writer import SummaryWriter

from plate_nets.nets.checkpoint import save_weights
from plate_nets.plates import PlateScheme
from plate_nets.types import STEPS
from training.reader.samples import Batch, Samples
from training.reader.state import Reader, Schedule, TrainingState
from training.reader.validation import LabelledCrops, exact_share

_LOSS_CAP = 12.0
"""What one plate may add to the loss: about a character and a half entirely wrong."""


@dataclass(frozen=True)
class Budget:
    """When the training ends: after ``steps``, or after ``minutes`` of training time where that is sooner.

    The learning rate follows the progress through the budget. With steps alone a resumed training is the same as an
    uninterrupted one to the last bit; minutes depend on the machine.
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

    validate: int = 500
    checkpoint: int = 250
    log: int = 25


class Trainer:
    """Trains a state on samples within a budget; writes checkpoints, curves and the best weights to ``out``."""

    def __init__(
        self,
        state: TrainingState,
        samples: Samples,
        validation: Mapping[str, LabelledCrops],
        budget: Budget,
        out: Path,
        *,
        device: torch.device,
        seed: int,
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
        self.seed = seed
        self.workers = workers
        self.schedule = schedule
        self.rhythm = rhythm
        self.metadata = dict(metadata or {})

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
                    bar.console.print(self._validate(writer))
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
        torch.manual_seed(self.seed * 1_000_003 + state.step)  # dropout: a function of the step, so resuming repeats it
        state.reader.train()
        crops = torch.from_numpy(batch.crops).to(self.device, memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16):
            logits = state.reader(crops)
        loss = ctc_loss(logits.float(), torch.from_numpy(batch.targets), torch.from_numpy(batch.lengths))
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(state.reader.parameters(), 5.0)
        state.optimizer.step()
        state.step += 1
        state.update_average()
        return loss.item(), rate

    def _validate(self, writer: SummaryWriter) -> str:
        state = self.state
        shares = {
            name: exact_share(state.average, crops, state.scheme, self.device)
            for name, crops in self.validation.items()
        }
        for name, share in shares.items():
            writer.add_scalar(f"exact/{name}", share, state.step)
        deciding = next(iter(shares.values()), None)
        if deciding is not None and deciding > state.best:
            state.best = deciding
            self._save("best")
        listed = ", ".join(f"{name} {share:.4f}" for name, share in shares.items())
        return f"step {state.step}, {state.seconds / 60:.1f} min: exact {listed}"

    def _save(self, name: str) -> None:
        metadata = self.metadata | {"steps": str(self.state.step)}
        save_reader(self.state.average, self.out / name, metadata, self.state.scheme)


def ctc_loss(logits: Tensor, targets: Tensor, lengths: Tensor) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): logits (N, C, 18) -> mean loss a plate.

    The last class is the blank, as in every scheme.
    A plate's loss is capped: about one label in a hundred is wrong, and such a plate must not steer the rest.
    """
    logp = logits.log_softmax(1).permute(2, 0, 1)  # (N, C, 18) -> (18, N, C)
    steps = torch.full((logits.shape[0],), STEPS, dtype=torch.long)
    losses = functional.ctc_loss(
        logp, targets, steps, lengths, blank=logits.shape[1] - 1, reduction="none", zero_infinity=True
    )
    weights = _LOSS_CAP / losses.detach().clamp(min=_LOSS_CAP)
    return (losses * weights).mean()


def save_reader(reader: Reader, folder: Path, metadata: dict[str, str], scheme: PlateScheme) -> None:
    """Both networks of a reader -> `stn.safetensors` and `lprnet.safetensors`."""
    save_weights(reader.stn, folder / "stn.safetensors", metadata, scheme)
    save_weights(reader.lprnet, folder / "lprnet.safetensors", metadata, scheme)


def _one_thread(_: int) -> None:
    import cv2

    cv2.setNumThreads(0)
    torch.set_num_threads(1)
