"""Training samples for CornerNet: simulated photos of plates, and the windows that the finder would cut from them."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme, load_schemes, main_scheme
from plate_nets.recognition.corners import cut_windows, first_window, next_window, to_window
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.quads import Quad, quad_size
from plate_nets.recognition.rectification import quad_boxes
from plate_nets.types import Boxes, Frame
from training.real import WIDE, Example, cut_outs, rates
from training.recipe.recipe import CornerMixture
from training.synthesis import drawn_plate, plates, texts
from training.synthesis.camera import centred, edge_height, take_photo, turned, without_colour
from training.synthesis.crops import stray
from training.synthesis.drawing import paste, rounded
from training.synthesis.layouts.layout import HEIGHT, WIDTH
from training.synthesis.perspective import corners_of, sample_corners, stretched

LOWEST, HIGHEST = 8.0, 40.0
"""Plate heights in the simulated photo, px; above the highest the windows do not change."""
_SCALE = 0.45
"""Scale at which plates are drawn over real ones, px/mm."""
_TWO_LINES = 0.35
"""Share of plates of two lines among the drawn ones, if the country has some."""
_TALL = 1.5
"""From so many heights of a one-line plate on, at equal width, a plate is drawn larger than the one that it covers."""
_WHOLE = 0.5
"""Share of the close photos that are themselves the box."""
_GUESSED = 1.7
"""How much more corners stray after the first look than after the last."""
_GREY = 0.08
"""Share of photos without colours."""


@dataclass(frozen=True)
class Source:
    """A picture with a plate in it.

    Attributes:
        picture: (H, W, 3) BGR.
        corners: (4, 2) the plate's corners, px of the picture.
        base: (4, 2) position of a one-line plate in the same plane, for which perspectives are drawn.
        plain: whether it shows only the plate and its nearest surroundings.
    """

    picture: Frame
    corners: Quad
    base: Quad
    plain: bool = False


@dataclass(frozen=True)
class Batch:
    """Windows (N, 3, 64, 128), corners in them (N, 4, 2) px, heights of the plates in them (N,) px."""

    windows: NDArray[np.float32]
    corners: NDArray[np.float32]
    heights: NDArray[np.float32]


@dataclass
class Samples:
    """Batches by step: ``samples[step]`` is the batch of that step, two windows of each of ``batch`` / 2 photos."""

    sources: Sequence[Source]
    chances: NDArray[np.float64]
    _: KW_ONLY
    batch: int
    seed: int
    mixture: CornerMixture = field(default_factory=CornerMixture)

    def __post_init__(self) -> None:
        self.chances = np.cumsum(self.chances)

    def __getitem__(self, step: int) -> Batch:
        rngs = (np.random.default_rng((self.seed, step, place)) for place in range(max(1, self.batch // 2)))
        made = [pair for rng in rngs for pair in make_windows(self.draw(rng), rng, self.mixture)]
        windows, corners = map(np.stack, zip(*made, strict=True))
        return Batch(windows, corners, quad_size(corners)[0])

    def draw(self, rng: np.random.Generator) -> Source:
        """A picture with a plate."""
        kind = rng.random()
        if kind < self.mixture.drawn or not len(self.sources):
            return drawn_source(rng, self.mixture.abroad)
        source = self.sources[int(np.searchsorted(self.chances, rng.random() * self.chances[-1]))]
        covered = kind < self.mixture.drawn + self.mixture.replaced
        return replaced(source, rng, self.mixture.abroad) if covered else source


def load_sources(examples: Iterable[Example]) -> tuple[list[Source], NDArray[np.float64]]:
    """Plates -> those with known corners, and how often to draw each, (N,).

    Raises:
        DatasetError: a photo does not open.
    """
    real = [plate for _, plate in cut_outs(examples, lambda each: each.label.quad is not None, WIDE)]
    return [Source(each.picture, each.corners, each.corners) for each in real], rates(main_scheme(), real)


def drawn_source(rng: np.random.Generator, abroad: float = 0.0) -> Source:
    """A drawn plate with drawn surroundings, from the front: of another country with the chance ``abroad``."""
    scheme, kind, text = _sample(rng, abroad)
    picture, corners = drawn_plate(scheme, kind, text, 30.0, rng)
    width, height = (corners[2] - corners[0]).tolist()
    return Source(picture, corners, stretched(corners, 1.0, width / height * (HEIGHT / WIDTH)), plain=True)


def replaced(source: Source, rng: np.random.Generator, abroad: float = 0.0) -> Source:
    """Draw another plate over that of a cut-out, in the same plane, light and holder: of any kind, one line or two.

    Those of two lines are drawn larger, so that they cover the old one. ``abroad``: as for `drawn_source`.
    """
    scheme, kind, text = _sample(rng, abroad)
    flat = plates.draw(scheme, kind, text, rng, _SCALE)
    height, width = flat.shape[:2]
    tall = (height / width) * (WIDTH / HEIGHT)
    x = float(rng.uniform(0.98, 1.3)) if tall > _TALL else 1.0
    quad, picture = stretched(source.base, x, x * tall), source.picture.copy()
    flat = _lit(flat, picture, source.corners)
    rim = 1 + float(rng.uniform(0.05, 0.16))
    holder = stretched(source.base, x * (1 + (rim - 1) * height / width), x * tall * rim)
    level = float(rng.choice((12, 30, 60, 120))) * float(rng.uniform(0.6, 1.4))
    paste(picture, np.full((60, 260, 3), int(min(level, 250)), np.uint8), holder, rounded(60, 260, 5))
    paste(picture, flat, quad, rounded(height, width, max(2, round(height * float(rng.uniform(0.03, 0.09))))))
    return Source(picture, quad, source.base)


@lru_cache(maxsize=1)
def _countries() -> tuple[PlateScheme, ...]:
    return load_schemes("world")


def _sample(rng: np.random.Generator, abroad: float) -> tuple[PlateScheme, str, str]:
    """A country's scheme, and a format and a text of it: of one line or two."""
    scheme = main_scheme()
    if rng.random() < abroad:
        scheme = _countries()[int(rng.integers(len(_countries())))]
    two_lines = scheme.by_lines[2]
    some = two_lines if two_lines.formats and rng.random() < _TWO_LINES else scheme.by_lines[scheme.fewest_lines]
    return scheme, *texts.sample_text(some, rng)


def _lit(flat: Frame, picture: Frame, corners: Quad) -> Frame:
    """Give a drawn plate the light of the plate that it replaces."""
    (x0, y0), (x1, y1) = np.maximum(corners.min(axis=0), 0).astype(int), np.maximum(corners.max(axis=0), 1).astype(int)
    old = picture[y0:y1, x0:x1]
    if old.size == 0:
        return flat
    gain = np.percentile(old, 80, axis=(0, 1)) / 225.0
    return np.asarray(np.clip(flat * np.clip(gain, 0.15, 1.1), 0, 255), np.uint8)


def make_windows(
    source: Source, rng: np.random.Generator, mixture: CornerMixture = CornerMixture()
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """A picture with a plate -> a first and a next window of a simulated photo of it, each with the corners in it."""
    base = _target(source, rng, mixture)
    matrix = cv2.getPerspectiveTransform(source.base, base)
    quad = np.asarray(cv2.perspectiveTransform(source.corners[None], matrix)[0], np.float32)
    frame_low, frame_high, whole = _frame(quad, rng, mixture)
    box = np.concatenate((frame_low, frame_high)) if whole else _box(quad, frame_low, frame_high, rng)
    windows = [first_window(box), next_window(stray(quad, rng, _GUESSED))]
    points = np.concatenate(windows)
    low = np.maximum(np.floor(points.min(axis=0)) - 2, np.floor(frame_low))
    high = np.minimum(np.ceil(points.max(axis=0)) + 2, np.ceil(frame_high))
    width, height = np.maximum(high - low, 4).astype(int).tolist()
    severity = float(rng.uniform(0, 1)) if source.plain else float(rng.uniform(0, 1) ** 2)
    photo = take_photo(source.picture, source.base, base - low, (width, height), rng, severity)
    photo = without_colour(photo, rng, _GREY)
    return [(cut_windows(photo, [w - low])[0], to_window(quad, w)) for w in windows]


def _target(source: Source, rng: np.random.Generator, mixture: CornerMixture) -> Quad:
    """Position of the source's base in the simulated photo, around (0, 0)."""
    height = float(LOWEST * (HIGHEST / LOWEST) ** rng.random())
    if not source.plain:
        height = min(height, max(edge_height(source.base), 6.0))
    if rng.random() < mixture.own:
        return turned(centred(source.base, height), float(rng.normal(0, np.radians(3))))
    if rng.random() >= mixture.turned:
        return sample_corners(rng, height, largest_box=6.0)
    angle, narrow = np.radians(rng.uniform(-32, 32)), np.log(rng.uniform(0.17, 0.45))
    lean, *twist = rng.normal(0, (0.05, 0.006, 0.008))
    return corners_of(np.array([angle, lean, narrow, *twist]), height)


def _frame(
    quad: Quad, rng: np.random.Generator, mixture: CornerMixture
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """The border of the frame around a plate, and whether it is the box too.

    It is far away, near on one side or on all, or cuts up to a fifth of the plate's width.
    """
    low, high = quad.min(axis=0) - 1000, quad.max(axis=0) + 1000
    draw, whole = rng.random(), False
    if draw < 2 * mixture.cut:
        side = int(rng.integers(4))
        axis = side % 2
        reach = float(rng.uniform(-0.2 if draw < mixture.cut else 0.0, 0.3)) * float(np.ptp(quad[:, axis]))
        if side < 2:
            low[axis] = quad[:, axis].min() - reach
        else:
            high[axis] = quad[:, axis].max() + reach
    elif draw < 2 * mixture.cut + mixture.close:
        near = rng.uniform(0.0, 0.5, (2, 2)) * edge_height(quad)
        low, high = quad.min(axis=0) - near[0], quad.max(axis=0) + near[1]
        whole = rng.random() < _WHOLE
    return low.astype(np.float32), high.astype(np.float32), whole


def _box(
    quad: Quad, low: NDArray[np.float32], high: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """The detector's box (4,) xyxy around a quad: usually off by a little, sometimes down to an overlap of 0.4."""
    true: NDArray[np.float32] = quad_boxes(quad[None])[0]
    for _ in range(20):
        shift = rng.uniform(-0.3, 0.3, 4) * np.tile(true[2:] - true[:2], 2)
        box = moved(true[None], rng)[0] if rng.random() < 0.7 else true + shift
        box = np.clip(box, np.tile(low, 2), np.tile(high, 2))
        if iou(box[None], true[None])[0, 0] > 0.4:
            return np.asarray(box, np.float32)
    return true


def moved(boxes: Boxes, rng: np.random.Generator) -> Boxes:
    """Shift boxes (N, 4) xyxy by the detector's usual error."""
    size = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
    return np.asarray(boxes + rng.standard_t(4, boxes.shape) * np.array([0.025, 0.08, 0.025, 0.08]) * size, np.float32)
