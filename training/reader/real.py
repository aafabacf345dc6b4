"""Real plates, cut out of labelled photos with their surroundings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme, load_schemes
from plate_nets.evaluation.coding import reduced
from plate_nets.evaluation.dataset import Label, read_photo
from plate_nets.recognition.quads import lines_of
from plate_nets.recognition.rectification import order_corners
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, STEPS, Frame
from training.synthesis.camera import edge_height
from training.synthesis.layouts.layout import HEIGHT, WIDTH
from training.synthesis.perspective import features_of

CONTEXT = 0.8
"""Surroundings kept around a plate, in plate heights, so that loose and turned crops show real background."""
STORED_HEIGHT = 48
"""Maximum height of a stored line of a plate, px: twice the crop's height, so the crop loses nothing."""

_TURNED, _DIM, _BLURRED = np.radians(3.0), 19.0, 0.8
"""Limits that make a plate hard to read: a turn above, or a contrast (standard deviation of grey) or sharpness (that of
the Laplacian over that of grey, plate 24 px high) below. A tenth of the plates of ru_train are dim, a tenth blurred."""


@dataclass(frozen=True)
class RealPlate:
    """A cut-out of a photo with a plate in it.

    Attributes:
        picture: (H, W, 3) BGR.
        corners: (4, 2) clockwise from the plate's top left, px of the picture.
        text: its symbols from left to right.
        exact: whether the corners are the plate's own; otherwise they are those of its box.
        source: the name of its data set.
        most_lines: maximum number of lines for its country; if it is 1, the shape does not matter.
    """

    picture: Frame
    corners: NDArray[np.float32]
    text: str
    exact: bool
    source: str = ""
    most_lines: int = 2

    @property
    def lines(self) -> int:
        """Lines of the plate, from its country and the shape of its corners; 1 if only its box is known."""
        return min(int(lines_of(self.corners[None])[0]), self.most_lines) if self.exact else 1

    @property
    def hard(self) -> bool:
        """Whether the plate is turned, dim (night, snow, fog) or blurred; two fifths of ru_train are."""
        size = (round(CROP_HEIGHT * WIDTH / HEIGHT), CROP_HEIGHT)
        front = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float32)
        matrix = cv2.getPerspectiveTransform(self.corners, front)
        flat = np.asarray(cv2.warpPerspective(self.picture, matrix, size), np.uint8)
        contrast = float(cv2.cvtColor(flat, cv2.COLOR_BGR2GRAY).astype(np.float32).std())
        angle = abs(float(features_of(self.corners[None].astype(np.float64))[0, 0]))
        return angle > _TURNED or contrast < _DIM or sharpness(flat) < _BLURRED


@dataclass(frozen=True)
class Example:
    """A labelled plate of a prepared data set.

    ``source``: the name of the set. ``country``: ISO 3166 in small letters, or empty. ``lines``: maximum number of
    lines. ``held_out``: its text is not learnt.
    """

    label: Label
    source: str
    country: str
    lines: int
    held_out: bool

    @property
    def symbols(self) -> str:
        """The symbols of its text from left to right."""
        scheme = _scheme_of(self.country)
        return scheme.symbols_of(self.label.text) if scheme else self.label.text

    def cut_out(self, photo: Frame) -> RealPlate:
        """The plate with its surroundings, cut out of its photo and reduced if higher than needed."""
        label, box = self.label, self.label.box
        if label.quad is None:
            corners = np.array([[box.xmin, box.ymin], [box.xmax, box.ymin], [box.xmax, box.ymax], [box.xmin, box.ymax]])
        else:
            corners = order_corners(label.quad)
        height, width = photo.shape[:2]
        pad = CONTEXT * box.height
        x0, y0 = max(0, int(box.xmin - pad)), max(0, int(box.ymin - pad))
        x1, y1 = min(width, int(box.xmax + pad) + 1), min(height, int(box.ymax + pad) + 1)
        picture = photo[y0:y1, x0:x1]
        corners = (corners - [x0, y0]).astype(np.float32)
        plate = RealPlate(picture, corners, self.symbols, label.quad is not None, self.source, self.lines)
        small = reduced(picture, plate.lines * STORED_HEIGHT / max(edge_height(corners), 1.0))
        corners = (corners * (small.shape[1] / picture.shape[1], small.shape[0] / picture.shape[0])).astype(np.float32)
        return replace(plate, picture=np.ascontiguousarray(small), corners=corners)


def sharpness(picture: Frame) -> float:
    """The standard deviation of the Laplacian of a picture in grey over that of the grey."""
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32)
    return float(cv2.Laplacian(grey, cv2.CV_32F).std()) / max(float(grey.std()), 1.0)


def readable(text: str) -> bool:
    """Whether CTC can spell the text in 18 steps: one per symbol, and a blank between equal neighbours."""
    repeats = sum(a == b for a, b in pairwise(text))
    return text != "" and len(text) + repeats <= STEPS


def most_lines(country: str) -> int:
    """Maximum number of lines on a country's plates, from its scheme; 2 without a scheme."""
    scheme = _scheme_of(country)
    return scheme.lines if scheme else 2


@cache
def _scheme_of(country: str) -> PlateScheme | None:
    return next((scheme for scheme in load_schemes("world") if country and scheme.country == country), None)


def load_real(examples: Iterable[Example]) -> tuple[list[RealPlate], list[Frame]]:
    """Plates to learn -> the readable ones, and regions of the same photos without a labelled plate.

    Raises:
        DatasetError: a photo does not open.
    """
    plates: list[RealPlate] = []
    empty: list[Frame] = []
    rng = np.random.default_rng(0)
    for path, known in by_photo(examples):
        photo = read_photo(path)
        plates += [each.cut_out(photo) for each in known if readable(each.symbols) and not each.held_out]
        region = _empty_region(photo, [each.label for each in known], rng)
        if region is not None:
            empty.append(region)
    return plates, empty


def load_foreign(examples: Iterable[Example]) -> list[RealPlate]:
    """Foreign plates -> the same with empty texts.

    Raises:
        DatasetError: a photo does not open.
    """
    return [
        replace(each.cut_out(photo), text="")
        for path, known in by_photo(examples)
        for photo in (read_photo(path),)
        for each in known
    ]


def by_photo(examples: Iterable[Example]) -> Iterator[tuple[Path, list[Example]]]:
    """Each photo with its plates."""
    grouped: dict[Path, list[Example]] = {}
    for each in examples:
        grouped.setdefault(each.label.photo, []).append(each)
    yield from grouped.items()


def _empty_region(photo: Frame, labels: Iterable[Label], rng: np.random.Generator) -> Frame | None:
    """A region of plate shape that touches no label, or None if none was found.

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
