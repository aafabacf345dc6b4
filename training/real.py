"""Real plates, cut out of labelled photos with their surroundings: what readers, countries and corners learn from."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.quads import Quad, lines_of
from plate_nets.recognition.rectification import box_quads, crop_rectified, order_corners, quad_boxes
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, STEPS, Boxes, Frame
from training.synthesis.camera import edge_height
from training.synthesis.crops import Sight, photograph
from training.synthesis.layouts.layout import HEIGHT, WIDTH

NEAR, WIDE = (0.8, 0.8), (3.9, 2.7)
"""Surroundings kept on each side of a plate, in heights of its box: loose and turned crops show real background, and
windows around the plate a real street."""
STORED_HEIGHT = 48
"""Maximum height of a stored line of a plate, px: twice the crop's height, so the crop loses nothing."""
SAME = 0.6
"""Minimum overlap (IoU) of two boxes of one plate. A guess."""
_VANITY = 0.3
"""How often a vanity plate is drawn for each usual one: they are photographed far more often than they exist."""
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
    corners: Quad
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
        flat = cv2.warpPerspective(self.picture, cv2.getPerspectiveTransform(self.corners, front), size)
        grey = cv2.cvtColor(flat, cv2.COLOR_BGR2GRAY).astype(np.float32)
        contrast = float(grey.std())
        sharpness = float(cv2.Laplacian(grey, cv2.CV_32F).std()) / max(contrast, 1.0)
        right, down = self.corners[1] - self.corners[0] + self.corners[2] - self.corners[3]
        return abs(float(np.arctan2(down, right))) > _TURNED or contrast < _DIM or sharpness < _BLURRED

    def photographed(self, rng: np.random.Generator, sight: Sight) -> Frame:
        """The plate as the reader would get it, (24, 94, 3) BGR, with mild faults besides its own, sometimes strong."""
        severity = float(rng.uniform(0, 1) ** 2)
        return photograph(self.picture, self.corners, rng, severity, sight if self.exact else "boxed", self.lines)

    def crop(self) -> NDArray[np.float32]:
        known = self.corners if self.exact else np.full_like(self.corners, np.nan)
        boxes, lines = quad_boxes(self.corners[None]), np.array([self.lines])
        crops = crop_rectified(self.picture, known[None], boxes, lines, DetectionSettings().crop_margin)
        return np.asarray(crops[0], np.float32)


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

    def cut_out(self, photo: Frame, around: tuple[float, float] = NEAR) -> RealPlate:
        """The plate with its surroundings, cut out of its photo and reduced if higher than needed."""
        label, box = self.label, self.label.box
        exact = label.quad is not None
        corners = order_corners(label.quad) if label.quad is not None else box_quads(np.array([box.sides]))[0]
        height, width = photo.shape[:2]
        pad_x, pad_y = (each * box.height for each in around)
        x0, y0 = max(0, int(box.xmin - pad_x)), max(0, int(box.ymin - pad_y))
        x1, y1 = min(width, int(box.xmax + pad_x) + 1), min(height, int(box.ymax + pad_y) + 1)
        picture = photo[y0:y1, x0:x1]
        corners = (corners - [x0, y0]).astype(np.float32)
        plate = RealPlate(picture, corners, self.symbols, exact, self.source, self.lines)
        small = reduced(picture, plate.lines * STORED_HEIGHT / max(edge_height(corners), 1.0))
        corners = (corners * (small.shape[1] / picture.shape[1], small.shape[0] / picture.shape[0])).astype(np.float32)
        return replace(plate, picture=np.ascontiguousarray(small), corners=corners)


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


def one_each(labels: Sequence[Label], boxes: Boxes) -> list[int]:
    """The labels of a photo and the boxes (N, 4) of their plates -> the rows of those that count: of several labels
    for one plate, the last."""
    overlaps = np.triu(iou(boxes, boxes), 1) > SAME
    for first, later in np.argwhere(overlaps).tolist():
        one, other = labels[first], labels[later]
        if one.text != other.text:
            what = f"two labels for one plate, {one.text!r} and {other.text!r}; the later one counts"
            logging.warning("left out %s: %s", one.photo, what)
    rows: list[int] = np.flatnonzero(~overlaps.any(axis=1)).tolist()
    return rows


def by_photo(examples: Iterable[Example]) -> Iterator[tuple[Path, list[Example]]]:
    grouped: dict[Path, list[Example]] = {}
    for each in examples:
        grouped.setdefault(each.label.photo, []).append(each)
    yield from grouped.items()


def cut_outs(
    examples: Iterable[Example],
    wanted: Callable[[Example], bool] = lambda each: True,
    around: tuple[float, float] = NEAR,
) -> Iterator[tuple[Example, RealPlate]]:
    """The wanted plates with their cut-outs.

    Raises:
        DatasetError: a photo does not open.
    """
    for path, known in by_photo(each for each in examples if wanted(each)):
        photo = read_photo(path)
        yield from ((each, each.cut_out(photo, around)) for each in known)


def rates(scheme: PlateScheme, plates: Sequence[RealPlate]) -> NDArray[np.float64]:
    """How often to draw each plate, (N,): plates photographed often and vanity plates are over-represented."""
    counts = Counter(plate.text for plate in plates)
    return np.array([(_VANITY if is_vanity(scheme, p.text) else 1.0) / counts[p.text] ** 0.5 for p in plates])


def is_vanity(scheme: PlateScheme, text: str) -> bool:
    """Whether three or more digits of a number, or three or more letters, are all equal: A777BC, A123AA."""
    for fit in scheme.fits(text):
        for pattern, part in zip(fit.patterns, fit.parts, strict=True):
            digits = [symbol for symbol in part if symbol.isdigit()]
            letters = [symbol for symbol in part if not symbol.isdigit()]
            equal = any(len(each) >= 3 and len(set(each)) == 1 for each in (digits, letters))
            if equal and pattern not in scheme.synthesis.codes:
                return True
    return False


def empty_regions(examples: Iterable[Example]) -> list[Frame]:
    """A region of plate shape (48, 188, 3) of each photo that touches no label, where one is found.

    Taken from the upper half, where unlabelled plates of other cars are rare.

    Raises:
        DatasetError: a photo does not open.
    """
    rng, regions = np.random.default_rng(0), []
    for path, known in by_photo(examples):
        photo, boxes = read_photo(path), [each.label.box for each in known]
        height, width = photo.shape[:2]
        w = int(rng.uniform(0.08, 0.35) * width)
        h = int(w / rng.uniform(2, 5.5))
        for _ in range(5 if 8 <= h < height // 2 else 0):
            x, y = int(rng.integers(0, width - w)), int(rng.integers(0, height // 2 - h + 1))
            if all(x + w < box.xmin or x > box.xmax or y + h < box.ymin or y > box.ymax for box in boxes):
                region = cv2.resize(photo[y : y + h, x : x + w], (2 * CROP_WIDTH, 2 * CROP_HEIGHT))
                regions.append(np.asarray(region, np.uint8))
                break
    return regions
