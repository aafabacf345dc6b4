"""Measures how well a reader reads labelled plates, given their boxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from plate_nets.countries import PlateScheme
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.quads import lines_of
from plate_nets.recognition.rectification import crop_rectified, order_corners
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops
from training.reader.real import Example, by_photo


@dataclass(frozen=True)
class LabelledCrops:
    """Crops (N, 3, 24, 94) as delivered by the detector, with their texts."""

    crops: Crops
    texts: Sequence[str]


def load_crops(scheme: PlateScheme, examples: Iterable[Example]) -> LabelledCrops:
    """Plates with a text, cropped along their corners, or with the detector's margin if only their boxes are known."""
    crops, texts = [np.empty((0, 3, CROP_HEIGHT, CROP_WIDTH), np.float32)], []
    margin = DetectionSettings().crop_margin
    unknown = np.full((4, 2), np.nan, np.float32)
    for path, known in by_photo(each for each in examples if each.label.text):
        labels = [each.label for each in known]
        corners = np.stack([unknown if each.quad is None else order_corners(each.quad) for each in labels])
        lines = np.minimum(lines_of(corners), [each.lines for each in known])
        crops.append(crop_rectified(read_photo(path), corners, boxes_of(labels), lines, margin))
        texts += [scheme.spelled(each.symbols) for each in known]
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
