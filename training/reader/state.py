"""The state of a training: networks, optimiser, averaged weights, progress; saved and resumed exactly."""

import copy
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from plate_nets.errors import WeightsError
from plate_nets.nets.checkpoint import load_weights, scheme_marks
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.plates import PlateScheme

ARCHITECTURE = "stn+lprnet/1"


class Reader(nn.Module):
    """STN and LPRNet in a row: crops (N, 3, 24, 94) -> logits (N, classes, 18)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stn = STN()
        self.lprnet = LPRNet(classes)

    def forward(self, crops: Tensor) -> Tensor:
        logits: Tensor = self.lprnet(self.stn(crops))
        return logits


@dataclass(frozen=True)
class Schedule:
    """One cycle of the learning rate: a linear rise, then a cosine down to a hundredth."""

    peak: float = 1.5e-3
    warmup: float = 0.03

    def rate(self, progress: float) -> float:
        """The learning rate at a progress of 0..1."""
        if progress < self.warmup:
            return self.peak * max(progress, 1e-3) / self.warmup
        down = min(1.0, (progress - self.warmup) / (1 - self.warmup))
        return self.peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * down)))


class TrainingState:
    """Everything that a checkpoint holds.

    ``average`` follows the weights as an exponential moving average (Polyak & Juditsky, 1992); it is what is validated
    and saved. ``seconds`` counts the training time over all sessions.
    """

    def __init__(self, scheme: PlateScheme, device: torch.device, decay: float = 0.999) -> None:
        self.scheme = scheme
        self.reader = Reader(scheme.classes).to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = copy.deepcopy(self.reader).eval().requires_grad_(False)
        stn = list(self.reader.stn.parameters())
        rest = list(self.reader.lprnet.parameters())
        # The localisation moves every pixel that LPRNet sees: it learns at a third of the rate.
        groups = [{"params": stn, "scale": 0.3}, {"params": rest, "scale": 1.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, weight_decay=0.02)
        self.decay = decay
        self.step = 0
        self.seconds = 0.0
        self.best = -1.0

    def start_from(self, folder: Path) -> None:
        """Takes over `stn.safetensors` and `lprnet.safetensors` of a folder; steps and optimiser start anew.

        Raises:
            WeightsError: a file is missing, damaged, of another architecture or another scheme.
        """
        for reader in (self.reader, self.average):
            load_weights(reader.stn, folder / "stn.safetensors", self.scheme)
            load_weights(reader.lprnet, folder / "lprnet.safetensors", self.scheme)

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["scale"]

    @torch.no_grad()
    def update_average(self) -> None:
        decay = min(self.decay, (1 + self.step) / (10 + self.step))
        for mean, value in zip(self.average.state_dict().values(), self.reader.state_dict().values(), strict=True):
            if mean.dtype.is_floating_point:
                mean.lerp_(value, 1 - decay)
            else:
                mean.copy_(value)

    def save(self, path: Path) -> None:
        """Writes the checkpoint; an older one is replaced only when the new one is complete on disk.

        Raises:
            OSError: the disk is full or not writable; the older checkpoint stays.
        """
        partial = path.with_suffix(".partial")
        try:
            torch.save(
                {
                    "architecture": ARCHITECTURE,
                    "scheme": scheme_marks(self.scheme),
                    "reader": self.reader.state_dict(),
                    "average": self.average.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "step": self.step,
                    "seconds": self.seconds,
                    "best": self.best,
                },
                partial,
            )
            partial.replace(path)
        except RuntimeError as error:  # torch's zip writer reports a full disk so
            raise OSError(f"{path}: could not be written: {error}") from error
        finally:
            partial.unlink(missing_ok=True)

    def load(self, path: Path) -> None:
        """Continues from a checkpoint that `save` wrote.

        Raises:
            WeightsError: no such file, damaged, or a checkpoint of another architecture or another scheme.
        """
        try:
            saved = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise WeightsError(f"{path}: not a readable checkpoint: {error}") from error
        found = saved.get("architecture") if isinstance(saved, dict) else None
        if found != ARCHITECTURE:
            raise WeightsError(f"{path}: checkpoint of {found!r}, expected {ARCHITECTURE!r}")
        if (scheme := saved.get("scheme")) != (expected := scheme_marks(self.scheme)):
            raise WeightsError(f"{path}: checkpoint of the scheme {scheme}, expected {expected}")
        try:
            self.reader.load_state_dict(saved["reader"])
            self.average.load_state_dict(saved["average"])
            self.optimizer.load_state_dict(saved["optimizer"])
        except (KeyError, RuntimeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise WeightsError(f"{path}: checkpoint of another architecture than {ARCHITECTURE!r}: {first}") from error
        self.step, self.seconds, self.best = int(saved["step"]), float(saved["seconds"]), float(saved["best"])
