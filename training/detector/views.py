"""Training pictures for the detector: parts of photos and drawn pictures, near and far, and their targets.

A full-HD frame scaled to 640 to 1280 px and a close-up of a car are treated alike, as parts of the input's size. In a
grid of up to four by four of them, plates and vehicles are as distant as a camera sees them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plate_nets.evaluation.dataset import read_photo
from plate_nets.networks.runtimes.torchscript import detector_input
from plate_nets.recognition.geometry import GREY
from plate_nets.recognition.overlap import inside, iou
from plate_nets.types import Boxes, Frame
from training.detector.drawn import spoilt
from training.detector.loss import DOUBTFUL
from training.detector.objects import KINDS, PLATE, Objects
from training.detector.pictures import Picture
from training.detector.signs import with_signs

SHAPES = ((448, 640), (448, 800), (544, 960), (736, 1280))
"""Height and width of a batch's pictures, px; the first is the most frequent."""
_OFTEN = (0.5, 0.25, 0.15, 0.1)
GRIDS, _HOW_OFTEN = (1, 2, 3, 4), (0.5, 0.2, 0.15, 0.15)
"""Parts along a side of a picture."""
_SOURCES = (0.6, 0.2, 0.2)
"""Shares of photos, drawn streets and other drawn pictures."""
_SURE_PLATE, _SURE_VEHICLE, _LEAST_VEHICLE = 0.7, 0.5, 0.2
"""Minimum scores of a sure object, which is a target, and of a doubtful one, which is ignored."""
_SAME = 0.2
_SEVERITY = 0.5
"""Of the faults of a camera, besides those that a photo has."""
_LEAST_SEEN = {True: (0.6, 3.0), False: (0.4, 10.0)}
"""For plates and vehicles: minimum visible share, and minimum side, px; an object with less is doubtful."""
_HARDLY = 0.1
"""An object with a smaller visible share is left out."""


@dataclass(frozen=True)
class Example:
    """A picture with its objects, of which those with a low score are doubtful."""

    photo: Path
    objects: Objects

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which objects are targets, (N,); the others are ignored."""
        return np.asarray(self.objects.scores >= np.where(self.objects.kinds == 0, _SURE_PLATE, _SURE_VEHICLE))


class Batch(NamedTuple):
    """Pictures (N, 3, h, w) float32 RGB 0..1, and the targets of each head, as for `loss.head_loss`."""

    pictures: Tensor
    plates: Tensor
    vehicles: Tensor


def example(photo: Path, taught: Objects, labelled: Boxes, complete: bool) -> Example:
    """Combine a picture, the teachers' objects and its labelled plates (N, 4).

    ``complete``: every plate is declared labelled, so a plate that only a teacher found is doubtful at most. An unsure
    vehicle inside a sure one is dropped.
    """
    plates, sure = taught.kinds == 0, taught.scores >= _SURE_VEHICLE
    known = iou(taught.boxes, labelled).max(axis=1, initial=0) >= _SAME
    known |= inside(taught.boxes, labelled).max(axis=1, initial=0) >= 0.5
    within = inside(taught.boxes, taught.boxes[sure & ~plates]).max(axis=1, initial=0) >= 0.7
    kept = np.where(plates, ~known, sure | ((taught.scores >= _LEAST_VEHICLE) & ~within))
    others = replace(taught, scores=taught.scores * ~(plates & complete)).where(kept)
    return Example(photo, Objects.of((PLATE, box, 1.0) for box in labelled.tolist()) + others)


def of_photos(pictures: Sequence[Picture], taught: Mapping[Path, Objects]) -> list[Example]:
    """Labelled photos, and the teachers' objects in them -> examples."""
    return [example(each.photo, taught.get(each.photo, Objects()), each.boxes, each.complete) for each in pictures]


def of_drawn(folder: Path, objects: Mapping[str, Objects]) -> tuple[list[Example], list[Example]]:
    """A folder written by `training.detector.drawn` -> its streets and its other pictures."""
    both: tuple[list[Example], list[Example]] = ([], [])
    for photo in sorted((folder / "images").iterdir()):
        drawn = objects.get(photo.name, Objects())
        both[not photo.name.startswith("street")].append(Example(photo, drawn))
    return both


@dataclass
class Views:
    """Batches of photos, drawn streets and other drawn pictures, a function of (seed, step) alone.

    ``batch``: pictures of the smallest of `SHAPES`; larger ones are fewer, for the same number of pixels.
    """

    sources: Sequence[Sequence[Example]]
    batch: int
    seed: int

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step."""
        rng = np.random.default_rng((self.seed, step))
        h, w = SHAPES[int(rng.choice(len(SHAPES), p=_OFTEN))]
        count = max(1, round(self.batch * SHAPES[0][0] * SHAPES[0][1] / (h * w)))
        frames, *rows = zip(*(self._view(rng, (h, w)) for _ in range(count)), strict=True)
        numbers = np.repeat(np.arange(count), [len(boxes) for boxes in rows[0]])[:, None]
        boxes, kinds = map(np.concatenate, rows)
        both = (torch.from_numpy(targets(numbers, boxes, kinds, of_plates)) for of_plates in (True, False))
        return Batch(detector_input(np.stack(frames)), *both)

    def _view(self, rng: np.random.Generator, hw: tuple[int, int]) -> tuple[Frame, Boxes, NDArray[np.int64]]:
        """A picture of size ``hw``, its boxes (N, 4) and kinds (N, 2): index in `KINDS`, and whether it is sure."""
        grid = int(rng.choice(GRIDS, p=_HOW_OFTEN))
        frame = np.full((*hw, 3), GREY, np.uint8)
        rows, columns = (np.linspace(0, side, grid + 1).round().astype(int) for side in hw)
        boxes, kinds = [], []
        for top, bottom in pairwise(rows.tolist()):
            for left, right in pairwise(columns.tolist()):
                source = self.sources[int(rng.choice(len(self.sources), p=_SOURCES)) if grid == 1 else 0]
                chosen = source[int(rng.integers(len(source)))]
                part, own, which = seen(chosen, (bottom - top, right - left), rng, grid)
                frame[top:bottom, left:right] = part
                boxes.append(own + np.array((left, top, left, top), np.float32))
                kinds.append(which)
        together = np.concatenate(boxes), np.concatenate(kinds)
        plates = together[0][together[1][:, 0] == 0]
        if grid == 1 and rng.random() < 0.3:
            frame = with_signs(rng, frame, plates)
        return spoilt(frame, plates, rng, _SEVERITY), *together


def seen(
    chosen: Example, hw: tuple[int, int], rng: np.random.Generator, grid: int
) -> tuple[Frame, Boxes, NDArray[np.int64]]:
    """A part of an example that fills ``hw`` as far as possible; the boxes in it, and their kinds (N, 2)."""
    frame = read_photo(chosen.photo)
    h, w = frame.shape[:2]
    fit = min(hw[0] / h, hw[1] / w)
    if w >= 2 * hw[1]:  # a frame that comes in at 640 px to its half and more
        scale = rng.uniform(fit, 0.7)
    else:
        scale = fit * float(np.exp(rng.uniform(np.log(0.4 if grid == 1 else 0.8), np.log(1.6))))
    size = (max(1, round(w * scale)), max(1, round(h * scale)))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    frame = np.asarray(cv2.resize(frame, size, interpolation=how), np.uint8)
    boxes = (chosen.objects.boxes * np.float32(scale)).reshape(-1, 4)
    plates = np.flatnonzero((chosen.objects.kinds == 0) & chosen.sure)
    aim = boxes[rng.choice(plates)] if len(plates) and rng.random() < 0.8 else None
    left, top = (_offset(rng, size[axis], hw[1 - axis], aim, axis) for axis in (0, 1))
    view = np.full((*hw, 3), GREY, np.uint8)
    x, y = max(left, 0), max(top, 0)
    part = frame[max(-top, 0) :, max(-left, 0) :][: hw[0] - y, : hw[1] - x]
    view[y : y + part.shape[0], x : x + part.shape[1]] = part
    boxes = boxes + np.array((left, top, left, top), np.float32)
    if rng.random() < 0.5:
        view, sides = view[:, ::-1], np.array((hw[1], 0, hw[1], 0), np.float32)
        boxes = boxes[:, [2, 1, 0, 3]] * np.array((-1, 1, -1, 1), np.float32) + sides
    return view, *within(boxes, chosen, hw)


def _offset(rng: np.random.Generator, side: int, view: int, aim: NDArray[np.float32] | None, axis: int) -> int:
    """Start of a side of the picture in the view, px, so that the target is in it."""
    if side <= view:
        return int(rng.integers(0, view - side + 1))
    least, most = view - side, 0
    if aim is not None:
        least = max(least, min(0, int(np.ceil(-aim[axis]))) if aim[axis + 2] - aim[axis] > view else int(-aim[axis]))
        most = min(most, int(view - aim[axis + 2]))
    return int(rng.integers(min(least, most), max(least, most) + 1))


def within(boxes: Boxes, source: Example, hw: tuple[int, int]) -> tuple[Boxes, NDArray[np.int64]]:
    """Boxes (N, 4) of an example's objects -> those in view, clipped to it, and their kinds (M, 2)."""
    cut = np.clip(boxes, 0, np.array((hw[1], hw[0], hw[1], hw[0]), np.float32))
    sizes, whole = cut[:, 2:] - cut[:, :2], boxes[:, 2:] - boxes[:, :2]
    share = sizes.prod(axis=1) / np.maximum(whole.prod(axis=1), 1e-6)
    plates = source.objects.kinds == 0
    least = np.where(plates[:, None], _LEAST_SEEN[True], _LEAST_SEEN[False])
    sure = source.sure & (share >= least[:, 0]) & (sizes.min(axis=1, initial=np.inf) >= least[:, 1])
    there = share >= _HARDLY
    return cut[there], np.stack((source.objects.kinds, sure), axis=1)[there].astype(np.int64)


def targets(numbers: NDArray[np.int64], boxes: Boxes, kinds: NDArray[np.int64], of_plates: bool) -> NDArray[np.float32]:
    """The pictures (N, 1), boxes (N, 4) and kinds (N, 2) of objects -> the targets (K, 6) of a head: picture, kind or
    `DOUBTFUL`, box."""
    kind = np.where(kinds[:, 1] > 0, kinds[:, 0] - (not of_plates), DOUBTFUL)
    rows = np.concatenate((numbers, kind[:, None], boxes), axis=1).astype(np.float32)
    return np.asarray(rows[(kinds[:, 0] == KINDS.index(PLATE)) == of_plates])
