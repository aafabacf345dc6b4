"""Trains CornerNet to vote for the corners, and to predict its error."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.evaluation.corner_metrics import corner_errors
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.networks.corners import CornerNet
from plate_nets.networks.runtimes.torchscript import forward
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.quads import Quads
from plate_nets.recognition.rectification import order_corners
from plate_nets.types import Boxes, Frame
from training.checkpoint import DECAY, TrainingState
from training.corners.samples import Batch
from training.loop import Trainer, mixed_precision
from training.real import Example, by_photo

_VOTES = 0.3
"""Weight of each vote's own error beside that of their mean; it makes the votes that count agree."""
_QUALITY = 0.05
"""Weight of the expected error's likelihood."""
_FINE = 0.05
"""Errors below this, in plate heights, are squared, because labels are no more precise."""


def corner_state(device: torch.device, weights: Path | None = None, decay: float = DECAY) -> TrainingState[CornerNet]:
    """The state of a training of CornerNet, starting from weights or from nothing."""
    network: CornerNet = CornerNet().to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return TrainingState("corners/1", network, decay=decay, weights=weights)


@dataclass(frozen=True)
class LabelledCorners:
    """A photo, the boxes (N, 4) to start from, and the labelled corners (N, 4, 2), px."""

    path: Path
    boxes: Boxes
    quads: Quads

    @cached_property
    def photo(self) -> Frame:
        """The photo, which is kept for the next validation."""
        return read_photo(self.path)


class CornerTrainer(Trainer[TrainingState[CornerNet], Batch, Sequence[LabelledCorners]]):
    file, curves = "corners.safetensors", "error/"

    def loss(self, batch: Batch) -> Tensor:
        windows = torch.from_numpy(batch.windows).to(self.device, memory_format=torch.channels_last)
        with mixed_precision(self.device):
            votes = self.state.network.vote(windows)
        corners = torch.from_numpy(batch.corners).to(self.device)
        heights = torch.from_numpy(batch.heights).to(self.device)
        points, weights, error = (part.float() for part in votes)
        return corner_loss(points, weights, error, corners, heights)

    def figures(self, known: Sequence[LabelledCorners]) -> dict[str, float]:
        errors = errors_of(found_by(self.state.average, known), known)
        half, most = np.quantile(errors, (0.5, 0.95)).tolist()
        return {"median": half, "95 %": most, "mean": float(errors.clip(max=0.5).mean())}


def corner_loss(points: Tensor, weights: Tensor, error: Tensor, corners: Tensor, heights: Tensor) -> Tensor:
    """The error of the votes for N windows (see `CornerNet.vote`) -> mean loss per window.

    Args:
        points: (N, 4, cells, 2) px of the window.
        weights: (N, 4, cells).
        error: (N, 1) natural logarithm of the expected error, in plate heights.
        corners: (N, 4, 2) px.
        heights: (N,) px, of the plates in the windows.

    Distances are in plate heights. The expected error is fitted as the scale of a Laplace distribution of the mean
    distance, which gets no gradient from it.
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


def load_corners(examples: Iterable[Example]) -> list[LabelledCorners]:
    """The plates with labelled corners, and their boxes, by photo."""
    return [
        LabelledCorners(
            path,
            boxes_of(each.label for each in known),
            np.stack([order_corners(each.label.quad) for each in known if each.label.quad is not None]),
        )
        for path, known in by_photo(each for each in examples if each.label.quad is not None)
    ]


def found_by(network: nn.Module, labelled: Iterable[LabelledCorners]) -> list[Quads]:
    """The corners that a network in evaluation mode, on any device, finds from the labelled boxes."""
    finder = CornerFinder(partial(forward, network, device=next(network.parameters()).device))
    return [finder.find(each.photo, each.boxes).quads for each in labelled]


def errors_of(found: Iterable[Quads], labelled: Iterable[LabelledCorners]) -> NDArray[np.float32]:
    """The errors (N, 4) of all corners that were found, in plate heights."""
    errors = (corner_errors(quads, each.quads) for quads, each in zip(found, labelled, strict=True))
    return np.concatenate([np.empty((0, 4), np.float32), *errors])
