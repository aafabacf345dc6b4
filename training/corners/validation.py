"""Measures how far found corners are from labelled ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plate_nets.evaluation.corner_metrics import corner_errors
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.corners import CornerFinder, CornerNetwork, CornerSettings
from plate_nets.recognition.quads import Quads
from plate_nets.recognition.rectification import order_corners
from plate_nets.types import Boxes, Frame


@dataclass(frozen=True)
class LabelledCorners:
    """A photo, the boxes (N, 4) to start from, and the labelled corners (N, 4, 2), px."""

    name: str
    read: Callable[[], Frame]
    boxes: Boxes
    quads: Quads


def load_corners(folder: Path) -> list[LabelledCorners]:
    """The plates of a labelled folder with known corners, and their labelled boxes.

    Raises:
        DatasetError: as `plate_nets.evaluation.dataset.load_dataset`.
    """
    found = []
    for path, labels in load_dataset(folder).photos():
        quads = [order_corners(label.quad) for label in labels if label.quad is not None]
        if quads:
            known = [label for label in labels if label.quad is not None]
            found.append(LabelledCorners(path.name, partial(read_photo, path), boxes_of(known), np.stack(quads)))
    return found


def errors_on(
    network: nn.Module | CornerNetwork,
    labelled: Iterable[LabelledCorners],
    settings: CornerSettings = CornerSettings(),
    cache: dict[str, Frame] | None = None,
) -> NDArray[np.float32]:
    """The errors (N, 4) of all corners found from the labelled boxes; ``cache`` keeps the photos."""
    finder = CornerFinder(as_call(network) if isinstance(network, nn.Module) else network, settings)
    errors = [np.empty((0, 4), np.float32)]
    for each in labelled:
        photo = cache.get(each.name) if cache is not None else None
        if photo is None:
            photo = each.read()
            if cache is not None:
                cache[each.name] = photo
        errors.append(corner_errors(finder.find(photo, each.boxes).quads, each.quads))
    return np.concatenate(errors)


def as_call(network: nn.Module) -> CornerNetwork:
    """A torch network in evaluation mode -> a call on arrays."""

    @torch.inference_mode()
    def call(windows: NDArray[np.float32]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = network(torch.from_numpy(windows)).float().numpy()
        return answer

    return call


def quantiles(errors: NDArray[np.float32], shares: Sequence[float] = (0.5, 0.95)) -> list[float]:
    """Errors -> their quantiles; infinite without errors."""
    return [float(np.quantile(errors, share)) if errors.size else float("inf") for share in shares]
