"""Trains CountryNet on the design and the ground of each crop, and validates it on held-out plates."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from plate_nets.common.errors import DatasetError
from plate_nets.countries import PlateScheme
from plate_nets.countries.designs import CLASSES, DESIGNS, UNKNOWN
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.networks.checkpoint import load_weights, read_weights
from plate_nets.networks.country import CountryNet
from plate_nets.networks.runtimes.torchscript import forward
from training.checkpoint import TrainingState, widened
from training.country.samples import NOT_KNOWN, CountryBatch, KnownPlate, Samples
from training.loop import Trainer

ARCHITECTURE = "country/2"
_GROUND = 0.5
"""Weight of the grounds in the loss: they are learned much sooner than the designs."""
_HELD_OUT = 20_260_000
_SMOOTHED = 0.05
"""Label smoothing: a plate of one country may look like another's."""


def country_state(device: torch.device, weights: Path | None, decay: float) -> TrainingState[CountryNet]:
    """The state of a training of CountryNet, starting from weights or from nothing.

    Raises:
        WeightsError: the weights are missing, damaged or of another architecture.
    """
    network: CountryNet = CountryNet()
    if weights:
        network.load_state_dict(_widened(weights))
    return TrainingState(ARCHITECTURE, network.to(device), decay=decay)


def _widened(weights: Path) -> dict[str, Tensor]:
    """The parameters in a file, which may have fewer designs than today: a new one begins as `UNKNOWN`, as it was."""
    known = min(len(read_weights(weights).get("head.2.bias", DESIGNS)), len(DESIGNS))
    former = CountryNet(known)
    load_weights(former, weights)
    return widened(former, "head.2", known, CLASSES[UNKNOWN], len(DESIGNS) - known)


class CountryTrainer(Trainer[TrainingState[CountryNet], CountryBatch, CountryBatch]):
    file = "country.safetensors"

    def loss(self, batch: CountryBatch) -> Tensor:
        crops = torch.from_numpy(batch.crops).to(self.device, memory_format=torch.channels_last)
        logits = self.state.network(crops).float()
        designs, grounds = (torch.from_numpy(each).to(self.device) for each in (batch.designs, batch.grounds))
        loss = functional.cross_entropy(logits[:, : len(DESIGNS)], designs, label_smoothing=_SMOOTHED)
        if not (grounds != NOT_KNOWN).any():
            return loss
        return loss + _GROUND * functional.cross_entropy(logits[:, len(DESIGNS) :], grounds, ignore_index=NOT_KNOWN)

    def figures(self, known: CountryBatch) -> dict[str, float]:
        found = shares(known, forward(self.state.average, known.crops, self.device))
        return {kind: share.value for kind, share in found.items() if share.count}


def shares(known: CountryBatch, logits: NDArray[np.float32]) -> dict[str, Share]:
    """Plates and their logits -> how many designs are found, and grounds, where they are known."""
    labelled = known.grounds != NOT_KNOWN
    designs, grounds = logits[:, : len(DESIGNS)].argmax(1), logits[labelled, len(DESIGNS) :].argmax(1)
    right = int((designs == known.designs).sum()), int((grounds == known.grounds[labelled]).sum())
    return {"design": Share(right[0], len(designs)), "ground": Share(right[1], len(grounds))}


def known_crops(folder: str, real: Mapping[str, Sequence[KnownPlate]]) -> CountryBatch:
    """Real plates of a folder, by design -> their crops as the detector delivers them.

    Raises:
        DatasetError: there are none.
    """
    plates = [(CLASSES[design], known) for design, each in real.items() for known in each]
    if not plates:
        raise DatasetError(f"{folder}: expected plates with a known country, got none")
    return CountryBatch(
        np.stack([known.plate.crop() for _, known in plates]),
        np.array([design for design, _ in plates], np.int64),
        np.array([known.ground for _, known in plates], np.int64),
    )


def drawn_plates(schemes: Sequence[PlateScheme]) -> CountryBatch:
    """Drawn plates of every design that no training has seen: `_HELD_OUT` is never used as its seed."""
    return Samples(schemes, {}, batch=256, seed=_HELD_OUT)[0]
