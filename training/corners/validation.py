"""Measures how far found corners are from labelled ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from plate_nets.evaluation.corner_metrics import corner_errors
from plate_nets.evaluation.dataset import Label, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.quads import Quads
from plate_nets.recognition.rectification import order_corners
from plate_nets.types import Boxes, Frame


@dataclass(frozen=True)
class LabelledCorners:
    """The path of a photo, the boxes (N, 4) to start from, and the labelled corners (N, 4, 2), px."""

    path: Path
    boxes: Boxes
    quads: Quads

    @cached_property
    def photo(self) -> Frame:
        """The photo, which is kept for the next validation."""
        return read_photo(self.path)


def load_corners(photos: Iterable[tuple[Path, Sequence[Label]]]) -> list[LabelledCorners]:
    """The plates of labelled photos with known corners, and their labelled boxes."""
    found = []
    for path, labels in photos:
        quads = [order_corners(label.quad) for label in labels if label.quad is not None]
        if quads:
            known = [label for label in labels if label.quad is not None]
            found.append(LabelledCorners(path, boxes_of(known), np.stack(quads)))
    return found


def errors_on(network: nn.Module, labelled: Iterable[LabelledCorners]) -> NDArray[np.float32]:
    """The errors (N, 4) of all corners found from the labelled boxes by a network in evaluation mode."""

    @torch.inference_mode()
    def votes(windows: NDArray[np.float32]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = network(torch.from_numpy(windows)).float().numpy()
        return answer

    finder = CornerFinder(votes)
    found = [corner_errors(finder.find(each.photo, each.boxes).quads, each.quads) for each in labelled]
    return np.concatenate([np.empty((0, 4), np.float32), *found])
