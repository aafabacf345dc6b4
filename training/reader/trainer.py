"""Trains the reader with CTC, STN and LPRNet jointly, and measures how well it reads labelled plates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.contract import reader_network
from plate_nets.countries import PlateScheme
from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.runtimes.torchscript import forward
from plate_nets.recognition.ctc import best_path, log_softmax
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, STEPS, Crops
from training.loop import Trainer, mixed_precision
from training.reader.samples import Batch
from training.reader.state import Reader, ReaderState
from training.real import Example, cut_outs

_LOSS_CAP = 12.0
"""Maximum loss of one plate: about one and a half characters entirely wrong."""


@dataclass(frozen=True)
class LabelledCrops:
    """Crops (N, 3, 24, 94) as delivered by the detector, with their texts."""

    crops: Crops
    texts: Sequence[str]


class ReaderTrainer(Trainer[ReaderState, Batch, LabelledCrops]):
    def loss(self, batch: Batch) -> Tensor:
        crops = torch.from_numpy(batch.crops).to(self.device, memory_format=torch.channels_last)
        with mixed_precision(self.device):
            logits = self.state.network(crops)
        targets, lengths = (torch.from_numpy(each).to(self.device) for each in (batch.targets, batch.lengths))
        return ctc_loss(logits.float(), targets, lengths)

    def figures(self, known: LabelledCrops) -> dict[str, float]:
        return {"exact": exact_share(self.state.average, known, self.state.scheme, self.device)}

    def save(self, name: str) -> None:
        save_reader(self.state.average, self.out / name, self.facts, self.state.scheme)


def ctc_loss(logits: Tensor, targets: Tensor, lengths: Tensor) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): logits (N, C, 18) -> mean loss per plate.

    The last class is the blank, as in every scheme. A plate's loss is capped, because about one label in a hundred is
    wrong and must not steer the rest.
    """
    logp = logits.log_softmax(1).permute(2, 0, 1)  # (N, C, 18) -> (18, N, C)
    steps = torch.full((logits.shape[0],), STEPS, dtype=torch.long)
    losses = functional.ctc_loss(
        logp, targets, steps, lengths, blank=logits.shape[1] - 1, reduction="none", zero_infinity=True
    )
    weights = _LOSS_CAP / losses.detach().clamp(min=_LOSS_CAP)
    return (losses * weights).mean()


def save_reader(reader: Reader, folder: Path, metadata: dict[str, str], scheme: PlateScheme) -> None:
    """Write a reader as `stn.safetensors` and LPRNet's file, which is named after its network.

    A frozen STN belongs to another reader and is not written.
    """
    if reader.stn_learns:
        save_weights(reader.stn, folder / "stn.safetensors", metadata, scheme)
    save_weights(reader.lprnet, folder / f"{reader_network(scheme)}.safetensors", metadata, scheme)


def load_crops(scheme: PlateScheme, examples: Iterable[Example]) -> LabelledCrops:
    """Plates with a text, as the server cuts them."""
    crops, texts = [np.empty((0, 3, CROP_HEIGHT, CROP_WIDTH), np.float32)], []
    for each, plate in cut_outs(examples, lambda each: bool(each.label.text)):
        crops.append(plate.crop()[None])
        texts.append(scheme.spelled(each.symbols))
    return LabelledCrops(np.concatenate(crops), texts)


def exact_share(reader: nn.Module, labelled: LabelledCrops, scheme: PlateScheme, device: torch.device) -> float:
    """The share of plates whose best path is exactly the label, 0..1."""
    chunks = (labelled.crops[start : start + 64] for start in range(0, len(labelled.texts), 64))
    paths = chain.from_iterable(log_softmax(forward(reader, chunk, device)) for chunk in chunks)
    right = sum(best_path(path, scheme).text == text for path, text in zip(paths, labelled.texts, strict=True))
    return right / max(len(labelled.texts), 1)
