"""What the reader is trained on: real plates, synthetic plates and a few regions without a plate.

Every sample is a function of (seed, step, place in the batch) alone, so a resumed training sees what an
uninterrupted one would have seen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset as TorchDataset

from plate_nets.alphabet import INDEX, SYMBOLS
from plate_nets.dataset import Label, load_dataset, read_photo
from plate_nets.geometry import normalize_crop
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, STEPS, Crops, Frame
from training.synthesis import synthesize
from training.synthesis.camera import photograph

CONTEXT = 0.8
"""Surroundings kept around a plate, in plate heights, so that loose and turned crops show real background."""
STORED_HEIGHT = 48
"""Plates are stored at most this high, px: twice the crop's height loses nothing that the crop could show."""

_VANITY = re.compile(r"[A-Z](000|111|222|333|444|555|666|777|888|999)|([A-Z])\d{3}\2\2")


@dataclass(frozen=True)
class RealPlate:
    """A cut-out of a photo with a plate in it: picture (H, W, 3) BGR, corners (4, 2) in its pixels, text."""

    picture: Frame
    corners: NDArray[np.float32]
    text: str


@dataclass(frozen=True)
class Mixture:
    """The share of each kind of sample; the rest is synthetic."""

    real: float = 0.5
    empty: float = 0.03


@dataclass(frozen=True)
class Batch:
    """Crops (N, 3, 24, 94), targets: symbol indices of all texts in a row (sum of lengths,), lengths (N,)."""

    crops: Crops
    targets: NDArray[np.int64]
    lengths: NDArray[np.int64]


def readable(text: str) -> bool:
    """Whether CTC can spell the text in 18 steps: one a symbol, and a blank between equal neighbours."""
    repeats = sum(a == b for a, b in pairwise(text))
    return text != "" and len(text) + repeats <= STEPS


def cut_out(photo: Frame, label: Label) -> RealPlate:
    """A labelled plate with its surroundings, reduced where it is higher than needed."""
    box = label.box
    if label.quad is None:
        corners = np.array([[box.xmin, box.ymin], [box.xmax, box.ymin], [box.xmax, box.ymax], [box.xmin, box.ymax]])
    else:
        corners = label.quad
    height, width = photo.shape[:2]
    pad = CONTEXT * box.height
    x0, y0 = max(0, int(box.xmin - pad)), max(0, int(box.ymin - pad))
    x1, y1 = min(width, int(box.xmax + pad) + 1), min(height, int(box.ymax + pad) + 1)
    picture = photo[y0:y1, x0:x1]
    corners = (corners - [x0, y0]).astype(np.float32)
    edge = float(np.linalg.norm(corners[3] - corners[0]) + np.linalg.norm(corners[2] - corners[1])) / 2
    scale = STORED_HEIGHT / max(edge, 1.0)
    if scale < 1:
        size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
        corners = (corners * (size[0] / picture.shape[1], size[1] / picture.shape[0])).astype(np.float32)
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return RealPlate(np.ascontiguousarray(picture), corners, label.text)


def load_real(folders: Sequence[Path], *, strict: bool = False) -> tuple[list[RealPlate], list[Frame]]:
    """Labelled folders -> their readable plates, and regions of the same photos without a labelled plate.

    Raises:
        DatasetError: as `plate_nets.dataset.load_dataset`.
    """
    plates: list[RealPlate] = []
    empty: list[Frame] = []
    rng = np.random.default_rng(0)
    for folder in folders:
        dataset = load_dataset(folder, symbols=SYMBOLS, strict=strict)
        for path, labels in dataset.photos():
            photo = read_photo(path)
            plates += [cut_out(photo, label) for label in labels if readable(label.text)]
            region = _empty_region(photo, labels, rng)
            if region is not None:
                empty.append(region)
    return plates, empty


def _empty_region(photo: Frame, labels: Iterable[Label], rng: np.random.Generator) -> Frame | None:
    """A region of plate shape that touches no label, or None where none was found.

    Taken from the upper half, where unlabelled plates of other cars are rare.
    """
    height, width = photo.shape[:2]
    w = int(rng.uniform(0.08, 0.35) * width)
    h = int(w / rng.uniform(2, 5.5))
    if h < 8 or h >= height // 2:
        return None
    for _ in range(5):
        x, y = int(rng.integers(0, width - w)), int(rng.integers(0, height // 2 - h + 1))
        if all(
            x + w < label.box.xmin or x > label.box.xmax or y + h < label.box.ymin or y > label.box.ymax
            for label in labels
        ):
            region = cv2.resize(photo[y : y + h, x : x + w], (2 * CROP_WIDTH, 2 * CROP_HEIGHT))
            return np.asarray(region, np.uint8)
    return None


class Samples(TorchDataset[Batch]):
    """Batches by step: ``samples[step]`` is the batch of that step."""

    def __init__(
        self,
        plates: Sequence[RealPlate],
        empty: Sequence[Frame],
        *,
        batch: int,
        seed: int,
        mixture: Mixture = Mixture(),
    ) -> None:
        self.plates = plates
        self.empty = empty
        self.batch = batch
        self.seed = seed
        self.mixture = mixture
        counts = Counter(plate.text for plate in plates)
        # Vanity plates and plates photographed often are over-represented: weigh them down.
        weights = np.array([(0.3 if _VANITY.match(p.text) else 1.0) / counts[p.text] ** 0.5 for p in plates])
        self.chances = np.cumsum(weights / weights.sum()) if len(plates) else np.zeros(0)

    def __getitem__(self, step: int) -> Batch:
        crops, texts = zip(*(self._sample(step, place) for place in range(self.batch)), strict=True)
        return Batch(
            crops=np.stack([normalize_crop(crop) for crop in crops]),
            targets=np.array([INDEX[symbol] for text in texts for symbol in text], np.int64),
            lengths=np.array([len(text) for text in texts], np.int64),
        )

    def _sample(self, step: int, place: int) -> tuple[Frame, str]:
        rng = np.random.default_rng((self.seed, step, place))
        kind = rng.random()
        if kind < self.mixture.real and len(self.plates):
            plate = self.plates[int(np.searchsorted(self.chances, rng.random() * self.chances[-1]))]
            # Most real photos already carry their own faults: add to them mildly, at times strongly.
            crop = photograph(plate.picture, plate.corners, rng, severity=float(rng.uniform(0, 1) ** 2))
            return crop, plate.text
        if kind > 1 - self.mixture.empty and len(self.empty):
            region = self.empty[int(rng.integers(len(self.empty)))]
            h, w = region.shape[:2]
            corners = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
            return photograph(region, corners, rng, severity=float(rng.uniform(0, 0.6))), ""
        sample = synthesize(rng)
        return sample.crop, sample.text
