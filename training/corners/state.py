"""The state of a training of CornerNet: network, optimiser, averaged weights, progress; saved and resumed exactly."""

import copy
from pathlib import Path

import torch

from plate_nets.errors import WeightsError
from plate_nets.nets.checkpoint import load_weights
from plate_nets.nets.corners import CornerNet

ARCHITECTURE = "corners/1"


class TrainingState:
    """Everything that a checkpoint holds.

    ``average`` follows the weights as an exponential moving average (Polyak & Juditsky, 1992); it is what is validated
    and saved. ``seconds`` counts the training time over all sessions. ``best`` is the least error so far.
    """

    def __init__(self, device: torch.device, decay: float = 0.999) -> None:
        self.network = CornerNet().to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = copy.deepcopy(self.network).eval().requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=0.0, weight_decay=0.02)
        self.decay = decay
        self.step = 0
        self.seconds = 0.0
        self.best = float("inf")

    def start_from(self, weights: Path) -> None:
        """Takes over a safetensors file; steps and optimiser start anew.

        Raises:
            WeightsError: the file is missing, damaged or of another architecture.
        """
        for network in (self.network, self.average):
            load_weights(network, weights)

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    @torch.no_grad()
    def update_average(self) -> None:
        decay = min(self.decay, (1 + self.step) / (10 + self.step))
        for mean, value in zip(self.average.state_dict().values(), self.network.state_dict().values(), strict=True):
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
                    "network": self.network.state_dict(),
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
            WeightsError: no such file, damaged, or a checkpoint of another architecture.
        """
        try:
            saved = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise WeightsError(f"{path}: not a readable checkpoint: {error}") from error
        found = saved.get("architecture") if isinstance(saved, dict) else None
        if found != ARCHITECTURE:
            raise WeightsError(f"{path}: checkpoint of {found!r}, expected {ARCHITECTURE!r}")
        try:
            self.network.load_state_dict(saved["network"])
            self.average.load_state_dict(saved["average"])
            self.optimizer.load_state_dict(saved["optimizer"])
        except (KeyError, RuntimeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise WeightsError(f"{path}: checkpoint of another architecture than {ARCHITECTURE!r}: {first}") from error
        self.step, self.seconds, self.best = int(saved["step"]), float(saved["seconds"]), float(saved["best"])
