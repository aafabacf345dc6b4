"""The state of a training: network, optimiser, averaged weights, progress; saved and resumed exactly."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from plate_nets.common.atomic_files import whole_file
from plate_nets.common.errors import WeightsError
from plate_nets.networks.checkpoint import load_weights

N = TypeVar("N", bound=nn.Module)
DECAY = 0.999
"""Of the moving average, per step."""


def widened(network: nn.Module, layer: str, place: int, like: int, count: int) -> dict[str, Tensor]:
    """The parameters of a network, its linear ``layer`` with ``count`` more classes from ``place`` on that begin as the
    class ``like``."""
    parameters: dict[str, Tensor] = network.state_dict()
    for name in (f"{layer}.weight", f"{layer}.bias"):
        rows = parameters[name]
        parameters[name] = torch.cat((rows[:place], *[rows[like][None]] * count, rows[place:]))
    return parameters


class TrainingState(Generic[N]):
    """Everything that a checkpoint holds.

    ``average`` is an exponential moving average of the weights of ``network`` (Polyak & Juditsky, 1992); it is what
    gets validated and saved. ``seconds`` counts the training time over all sessions.

    Args:
        architecture: name of the architecture; a checkpoint of another one is refused.
        network: on its device.
        scales: prefixes of parts of the network that learn at a fraction of the rate, with these fractions.
        scheme: marks that also bind a checkpoint, see `plate_nets.networks.checkpoint.scheme_marks`.
        decay: of the moving average, per step.
        weights: safetensors file to start from.

    Raises:
        WeightsError: the weights are missing, damaged or of another architecture.
    """

    def __init__(
        self,
        architecture: str,
        network: N,
        scales: Mapping[str, float] | None = None,
        scheme: dict[str, str] | None = None,
        decay: float = DECAY,
        weights: Path | None = None,
    ) -> None:
        if weights:
            load_weights(network, weights)
        self.architecture = architecture
        self.network = network
        self.average = copy.deepcopy(network).eval().requires_grad_(False)
        parts: dict[float, list[nn.Parameter]] = {}
        for name, parameter in network.named_parameters():
            parts.setdefault((scales or {}).get(name.split(".")[0], 1.0), []).append(parameter)
        groups = [{"params": parameters, "scale": scale} for scale, parameters in parts.items()]
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, weight_decay=0.02)
        self.step = 0
        self.seconds = 0.0
        self._scheme = scheme
        self._decay = decay

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["scale"]

    @torch.no_grad()
    def update_average(self) -> None:
        decay = min(self._decay, (1 + self.step) / (10 + self.step))
        for mean, value in zip(self.average.state_dict().values(), self.network.state_dict().values(), strict=True):
            if mean.dtype.is_floating_point:
                mean.lerp_(value, 1 - decay)
            else:
                mean.copy_(value)

    @torch.no_grad()
    def mix(self, other: Mapping[str, Tensor], share: float) -> None:
        """Move the averaged weights towards others of the same architecture, by a share of 0..1 of the way."""
        for name, mean in self.average.state_dict().items():
            if mean.dtype.is_floating_point:
                mean.lerp_(other[name], share)

    def save(self, path: Path) -> None:
        """Write the checkpoint; an older one is replaced only when the new one is complete on disk.

        Raises:
            OSError: the disk is full or not writable; the older checkpoint stays.
        """
        state = {
            "architecture": self.architecture,
            "scheme": self._scheme,
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
        }
        try:
            with whole_file(path) as fresh:
                torch.save(state, fresh)
        except RuntimeError as error:  # this is how torch's zip writer reports a full disk
            raise OSError(f"{path}: could not be written: {error}") from error

    def load(self, path: Path) -> None:
        """Continue from a checkpoint written by `save`.

        Raises:
            WeightsError: the file is missing, damaged, or belongs to another architecture or scheme.
        """
        try:
            saved: Any = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise WeightsError(f"{path}: not a readable checkpoint: {error}") from error
        found = saved.get("architecture") if isinstance(saved, dict) else None
        if found != self.architecture:
            raise WeightsError(f"{path}: checkpoint of {found!r}, expected {self.architecture!r}")
        if (scheme := saved.get("scheme")) != self._scheme:
            raise WeightsError(f"{path}: checkpoint of the scheme {scheme}, expected {self._scheme}")
        try:
            self.network.load_state_dict(saved["network"])
            self.average.load_state_dict(saved["average"])
            self.optimizer.load_state_dict(saved["optimizer"])
        except (KeyError, RuntimeError, ValueError) as error:
            first = str(error).splitlines()[0]
            expected = f"checkpoint of another architecture than {self.architecture!r}"
            raise WeightsError(f"{path}: {expected}: {first}") from error
        self.step, self.seconds = int(saved["step"]), float(saved["seconds"])
