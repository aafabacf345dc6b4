"""Measures how well a reader reads labelled plates, given their boxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from plate_nets.countries import PlateScheme
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops
from training.real import Example, cut_outs


@dataclass(frozen=True)
class LabelledCrops:
    """Crops (N, 3, 24, 94) as delivered by the detector, with their texts."""

    crops: Crops
    texts: Sequence[str]


def load_crops(scheme: PlateScheme, examples: Iterable[Example]) -> LabelledCrops:
    """Plates with a text, as the server cuts them."""
    crops, texts = [np.empty((0, 3, CROP_HEIGHT, CROP_WIDTH), np.float32)], []
    for each, plate in cut_outs(examples, lambda each: bool(each.label.text)):
        crops.append(plate.crop()[None])
        texts.append(scheme.spelled(each.symbols))
    return LabelledCrops(np.concatenate(crops), texts)


def best_paths(logits: torch.Tensor, scheme: PlateScheme) -> list[str]:
    """CTC logits (N, C, 18) -> the texts of the best paths: repeats merged, blanks dropped."""
    return [
        "".join(scheme.alphabet[symbol] for symbol in torch.unique_consecutive(path).tolist() if symbol != scheme.blank)
        for path in logits.argmax(1)
    ]


@torch.inference_mode()
def exact_share(reader: nn.Module, labelled: LabelledCrops, scheme: PlateScheme, device: torch.device) -> float:
    """The share of plates whose best path is exactly the label, 0..1."""
    right = 0
    for start in range(0, len(labelled.texts), 64):
        crops = torch.from_numpy(labelled.crops[start : start + 64]).to(device, memory_format=torch.channels_last)
        texts = best_paths(reader(crops).float().cpu(), scheme)
        right += sum(a == b for a, b in zip(texts, labelled.texts[start : start + 64], strict=True))
    return right / max(len(labelled.texts), 1)
