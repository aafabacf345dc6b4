"""Training samples for CornerNet: simulated photos of plates, and the windows that the finder would cut from them."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.corners import cut_windows, first_window, next_window, to_window
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.quads import Quad, quad_size
from plate_nets.recognition.rectification import quad_boxes
from plate_nets.types import Frame
from training.corners.sources import Source, drawn_source, replaced
from training.recipe.recipe import CornerMixture
from training.synthesis.camera import centred, edge_height, take_photo, turned
from training.synthesis.perspective import corners_of, sample_corners

LOWEST, HIGHEST = 8.0, 40.0
"""Plate heights in the simulated photo, px; above the highest the windows do not change."""


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
        windows, corners = [], []
        for place in range(max(1, self.batch // 2)):
            rng = np.random.default_rng((self.seed, step, place))
            for window, points in make_windows(self.draw(rng), rng, self.mixture):
                windows.append(window)
                corners.append(points)
        stacked = np.stack(corners)
        return Batch(np.stack(windows), stacked, quad_size(stacked)[0])

    def draw(self, rng: np.random.Generator) -> Source:
        """A picture with a plate."""
        kind = rng.random()
        if kind < self.mixture.drawn or not len(self.sources):
            return drawn_source(rng)
        source = self.sources[int(np.searchsorted(self.chances, rng.random() * self.chances[-1]))]
        return replaced(source, rng) if kind < self.mixture.drawn + self.mixture.replaced else source


def make_windows(
    source: Source, rng: np.random.Generator, mixture: CornerMixture = CornerMixture()
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """A picture with a plate -> a first and a next window of a simulated photo of it, each with the corners in it."""
    base = _target(source, rng, mixture)
    matrix = cv2.getPerspectiveTransform(source.base, base)
    quad = np.asarray(cv2.perspectiveTransform(source.corners[None], matrix)[0], np.float32)
    frame_low, frame_high = _frame(quad, rng, mixture.cut)
    windows = [first_window(_box(quad, frame_low, frame_high, rng)), next_window(_guess(quad, rng))]
    points = np.concatenate(windows)
    low = np.maximum(np.floor(points.min(axis=0)) - 2, np.floor(frame_low))
    high = np.minimum(np.ceil(points.max(axis=0)) + 2, np.ceil(frame_high))
    size = np.maximum(high - low, 4).astype(int)
    severity = float(rng.uniform(0, 1)) if source.plain else float(rng.uniform(0, 1) ** 2)
    photo = take_photo(source.picture, source.base, base - low, (int(size[0]), int(size[1])), rng, severity)
    return [(cut_windows(_grey_at_times(photo, rng), [w - low])[0], to_window(quad, w)) for w in windows]


def _target(source: Source, rng: np.random.Generator, mixture: CornerMixture) -> Quad:
    """Position of the source's base in the simulated photo, around (0, 0)."""
    height = float(LOWEST * (HIGHEST / LOWEST) ** rng.random())
    if not source.plain:
        height = min(height, max(edge_height(source.base), 6.0))
    if rng.random() < mixture.own:
        return turned(centred(source.base, height), float(rng.normal(0, np.radians(3))))
    if rng.random() >= mixture.turned:
        return sample_corners(rng, height, largest_box=6.0)
    features = np.array(
        [
            np.radians(rng.uniform(-32, 32)),
            rng.normal(0, 0.05),
            np.log(rng.uniform(0.17, 0.45)),
            rng.normal(0, 0.006),
            rng.normal(0, 0.008),
        ]
    )
    return corners_of(features, height)


def _frame(quad: Quad, rng: np.random.Generator, cut: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The border of the frame around a plate: far away, near, or cutting up to a fifth of the plate's width."""
    low, high = quad.min(axis=0) - 1000, quad.max(axis=0) + 1000
    draw = rng.random()
    if draw < 2 * cut:
        width, height = quad.max(axis=0) - quad.min(axis=0)
        inside = -0.2 if draw < cut else 0.0
        side = int(rng.integers(4))
        axis = side % 2
        reach = float(rng.uniform(inside, 0.3)) * float(height if axis else width)
        if side < 2:
            low[axis] = quad[:, axis].min() - reach
        else:
            high[axis] = quad[:, axis].max() + reach
    return low.astype(np.float32), high.astype(np.float32)


def _box(
    quad: Quad, low: NDArray[np.float32], high: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """The detector's box (4,) xyxy around a quad: usually off by a little, sometimes down to an overlap of 0.4."""
    true: NDArray[np.float32] = quad_boxes(quad[None])[0]
    size = np.tile(true[2:] - true[:2], 2)
    for _ in range(20):
        if rng.random() < 0.7:
            shift = rng.standard_t(4, 4) * np.array([0.025, 0.08, 0.025, 0.08])
        else:
            shift = rng.uniform(-0.3, 0.3, 4)
        box = true + shift.astype(np.float32) * size
        box = np.clip(box, np.tile(low, 2), np.tile(high, 2))
        if iou(box[None], true[None])[0, 0] > 0.4:
            return np.asarray(box, np.float32)
    return true


def _guess(quad: Quad, rng: np.random.Generator) -> Quad:
    """Corners as an earlier look leaves them: moved, turned, stretched, and each shifted, in plate heights."""
    height, width = (float(v[0]) for v in quad_size(quad[None]))
    amount = float(rng.choice((0.5, 1.0, 2.0)))
    common = rng.normal(0, 0.06, 2)
    each = rng.standard_t(4, (4, 2)) * 0.05
    ends = rng.standard_t(3, 2) * 0.08  # the left and right edges stray most, along the plate
    along = (quad[1] - quad[0] + quad[2] - quad[3]) / max(2 * width, 1e-3)
    shift = common + each + np.outer([ends[0], ends[1], ends[1], ends[0]], along)
    return np.asarray(quad + np.clip(shift * amount, -0.6, 0.6) * height, np.float32)


def _grey_at_times(photo: Frame, rng: np.random.Generator) -> Frame:
    """One photo in twelve without colour, as at night under infrared light."""
    if rng.random() > 0.08:
        return photo
    return np.asarray(cv2.cvtColor(cv2.cvtColor(photo, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR), np.uint8)
