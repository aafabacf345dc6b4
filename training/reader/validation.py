"""Measures how well a reader reads labelled plates, given their boxes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from plate_nets.countries import PlateScheme
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.quads import lines_of
from plate_nets.recognition.rectification import crop_rectified, order_corners
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops
from training.reader.real import countries_in, most_lines


@dataclass(frozen=True)
class LabelledCrops:
    """Crops (N, 3, 24, 94) as delivered by the detector, with their texts.

    ``decides``: whether they count for the choice of the best weights.
    """

    crops: Crops
    texts: Sequence[str]
    decides: bool = True


def load_crops(scheme: PlateScheme, folder: Path, straightened: bool = False) -> LabelledCrops:
    """The plates of a labelled folder with a text, cropped with the detector's margin; ``straightened``: along their
    corners, if these are known."""
    crops, texts = [np.empty((0, 3, CROP_HEIGHT, CROP_WIDTH), np.float32)], []
    countries, margin = countries_in(folder), DetectionSettings().crop_margin
    unknown = np.full((4, 2), np.nan, np.float32)
    for path, labels in load_dataset(folder, symbols=scheme.alphabet).photos():
        known = [label for label in labels if label.text]
        if known:
            quads = [label.quad if straightened else None for label in known]
            corners = np.stack([unknown if quad is None else order_corners(quad) for quad in quads])
            lines = np.minimum(lines_of(corners), most_lines(countries[path.name]))
            crops.append(crop_rectified(read_photo(path), corners, boxes_of(known), lines, margin))
            texts += [label.text for label in known]
    return LabelledCrops(np.concatenate(crops), texts)


def validation_crops(scheme: PlateScheme, folders: Sequence[Path], straightened: bool) -> dict[str, LabelledCrops]:
    """Labelled folders -> the crops to measure on, by name; with ``straightened``, those along corners decide."""
    names = [folder.name for folder in folders]
    found = {}
    for folder in folders:
        name = folder.name if names.count(folder.name) == 1 else f"{folder.parent.name}/{folder.name}"
        if straightened:
            found[f"{name}, straightened"] = load_crops(scheme, folder, straightened=True)
        found[name] = replace(load_crops(scheme, folder), decides=not straightened)
    return found


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
