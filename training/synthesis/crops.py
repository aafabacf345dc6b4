"""Photos of plates as the reader gets them: crops of 94 x 24 px, along the detector's box or along found corners."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.quads import Quad, quad_size
from plate_nets.recognition.rectification import RectificationSettings, straighten, widen
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Frame
from training.synthesis.camera import centred, edge_height, smear, soften, take_photo, turned
from training.synthesis.drawing import blend

Sight = Literal["boxed", "near", "far", "moving"]
"""How a plate is seen and cropped: along an upright box; or along its corners, seen well, from a distance by a cheap
camera, or smeared by its movement."""
HEIGHTS: Mapping[Sight, tuple[float, float]] = {
    "boxed": (12.0, 60.0),
    "near": (12.0, 60.0),
    "far": (6.0, 20.0),
    "moving": (8.0, 28.0),
}
"""Lowest and highest line of a plate in the photo, px; above the highest of the near ones the crop does not change."""
_SEVERITY: Mapping[Sight, float] = {"boxed": 1.0, "near": 1.0, "far": 0.7, "moving": 0.5}
"""Factor for the usual faults of a photo: a cheap camera adds its own."""
_FAR_STRAY = 1.5
"""How much more the corners of a distant or smeared plate stray."""
_HEAD, _ALONE = (0.11, 0.2), 0.7
"""Width of a plate's first sign, as a share of the plate's; and how often the corners of the rest leave it out."""
_MARGINS = RectificationSettings()


def draw_height(rng: np.random.Generator, sight: Sight = "near", severity: float = 1.0) -> float:
    """The height of a line in the photo, px: log-uniform, low ones rarer when mild."""
    lowest, highest = HEIGHTS[sight]
    lowest *= (highest / 2 / lowest) ** (1 - min(severity, 1.0))
    return float(lowest * (highest / lowest) ** rng.random() ** 0.9)


def photograph(
    picture: Frame,
    corners: Quad,
    rng: np.random.Generator,
    severity: float = 1.0,
    sight: Sight = "boxed",
    lines: int = 1,
) -> Frame:
    """A picture with a plate and some surroundings -> a crop of it as the reader would get it.

    Args:
        picture: (H, W, 3) BGR, drawn or cut out of a photo.
        corners: (4, 2) clockwise from the plate's top left, px of the picture.
        rng: decides everything.
        severity: 0 almost no faults, 1 the full range of faults, most of them moderate.
        sight: how it is seen and cropped.
        lines: of the plate, 1 or 2; with two, along its corners.

    Returns:
        (24, 94, 3) BGR uint8.
    """
    cheap = sight in ("far", "moving")
    reduced = cheap or rng.random() < 0.6 * severity
    height = draw_height(rng, sight, 1.0 if cheap else severity) if reduced else HEIGHTS[sight][1]
    height = min(edge_height(corners), lines * height)
    base = centred(corners, height)
    if sight != "boxed" and rng.random() < 0.3:
        base = turned(base, float(np.clip(rng.normal(0, np.radians(9)), -0.5, 0.5)))
    return shoot(picture, corners, _tilted(base, height, rng, severity), rng, severity, sight, lines)


def shoot(
    picture: Frame,
    corners: Quad,
    target: Quad,
    rng: np.random.Generator,
    severity: float = 1.0,
    sight: Sight = "boxed",
    lines: int = 1,
) -> Frame:
    """As `photograph`, with the plate's corners in the simulated photo given: ``target`` (4, 2) around (0, 0)."""
    if sight == "boxed":
        origin, size = _box(target, edge_height(target), rng, severity)
        photo = take_photo(picture, corners, target - origin, size, rng, severity)
        how = (cv2.INTER_LINEAR, cv2.INTER_LINEAR, cv2.INTER_AREA, cv2.INTER_CUBIC)[int(rng.integers(4))]
        return np.asarray(cv2.resize(photo, (CROP_WIDTH, CROP_HEIGHT), interpolation=how), np.uint8)
    height = edge_height(target) / lines
    found = stray(target, rng, 1.0 if sight == "near" else _FAR_STRAY)
    # The margins vary a little, so that the reader does not depend on them
    off_x, off_y = float(rng.normal(0, 0.06)), float(rng.normal(0, 0.04))
    margins = replace(
        _MARGINS,
        margin_x=max(0.02, _MARGINS.margin_x + off_x),
        margin_y=max(0.02, _MARGINS.margin_y + off_y),
        line_margin_x=max(0.02, _MARGINS.line_margin_x + off_x),
        line_margin_y=max(0.02, _MARGINS.line_margin_y + off_y),
    )
    around = (margins.margin_x + margins.margin_y + 0.1) * height
    points = np.concatenate((found, target))
    low = np.floor(points.min(axis=0) - around).astype(np.float32)
    width, rows = np.maximum(np.ceil(points.max(axis=0) + around) - low, 4).astype(int).tolist()
    photo = take_photo(picture, corners, target - low, (width, rows), rng, severity * _SEVERITY[sight], lines)
    if sight == "far":
        photo = soften(photo, rng)
    elif sight == "moving":
        photo = smear(photo, height, rng)
    how = cv2.INTER_CUBIC if rng.random() < 0.8 or height > CROP_HEIGHT else cv2.INTER_LINEAR
    return straighten(photo, found - low, lines, margins, how)


def stray(corners: Quad, rng: np.random.Generator, times: float = 1.0) -> Quad:
    """Corners (4, 2) as CornerNet finds them: off by about 0.06 of the height, one in twenty by 0.15 and more.

    The plate's ends are off most, along the plate. ``times``: a factor for all errors.
    """
    heights, widths = quad_size(corners[None])
    height, width = float(heights[0]), float(widths[0])
    amount = times * float(rng.choice((0.6, 1.0, 1.8), p=(0.5, 0.35, 0.15)))
    along = (corners[1] - corners[0] + corners[2] - corners[3]) / max(2 * width, 1e-3)
    ends = rng.standard_t(4, 2) * 0.045
    shift = rng.normal(0, 0.02, 2) + rng.standard_t(5, (4, 2)) * 0.03
    shift = shift + np.outer([ends[0], ends[1], ends[1], ends[0]], along)
    return np.asarray(corners + np.clip(amount * shift, -0.4, 0.4) * height, np.float32)


def negative(picture: Frame, rng: np.random.Generator) -> Frame:
    """Light for dark, and dark for light, in a grey or a coloured light: as infrared light or a dark plate shows."""
    light = (255 - picture).astype(np.float32)
    if rng.random() < 0.5:
        light[:] = light.mean(axis=2, keepdims=True)
    else:
        light *= rng.uniform(0.5, 1.0, 3).astype(np.float32)
    return np.asarray(np.clip(light * rng.uniform(0.6, 1.0) + rng.uniform(0, 40), 0, 255), np.uint8)


def without_first_sign(picture: Frame, corners: Quad, rng: np.random.Generator) -> tuple[Frame, Quad]:
    """A plate of one line whose first sign something hides, and its corners, or those of what is left of it."""
    head = float(rng.uniform(*_HEAD))
    top, bottom = corners[:2].astype(np.float32), corners[:1:-1].astype(np.float32)
    cut = np.stack([each[0] + head * (each[1] - each[0]) for each in (top, bottom)])
    picture = picture.copy()
    hidden = widen(np.stack((top[0], cut[0], cut[1], bottom[0])), left=2.0, top=0.3, right=0.0, bottom=0.3)
    blend(picture, hidden, tuple(rng.uniform(15, 240) + rng.normal(0, 12, 3)), 1.0)
    return picture, np.stack((cut[0], top[1], bottom[1], cut[1])) if rng.random() < _ALONE else corners


def _tilted(corners: Quad, height: float, rng: np.random.Generator, severity: float) -> Quad:
    """Turn, tilt, stretch and keystone a quad around (0, 0) a little more."""
    amount = severity * float(rng.beta(1.2, 2.2))
    angle = rng.normal(0, np.radians(7)) * amount
    lean = rng.normal(0, 0.18) * amount
    stretch = np.exp(rng.normal(0, 0.12) * amount)
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos * stretch, sin * stretch], [-sin + lean * cos, cos + lean * sin]], np.float32)
    wobble = rng.normal(0, 0.035 * amount + 0.008 * min(severity, 1), (4, 2)) * height
    return np.asarray(corners @ turn + wobble, np.float32)


def _box(
    target: Quad, height: float, rng: np.random.Generator, severity: float
) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """The detector's box around a quad: its top left corner and its size (w, h), whole px."""
    # Even a mild crop is loose: the detector's boxes are off by a tenth of the height, and a margin is added.
    spread = 0.09 + 0.04 * severity
    margins = np.clip(rng.gamma(1.5, spread / 1.5, 4) - 0.05 * min(1.0, 0.3 + severity), -0.05, 0.3) * height
    low = target.min(axis=0) - margins[:2]
    high = target.max(axis=0) + margins[2:]
    first = np.floor(low + rng.random(2))
    size = np.maximum(np.round(high - first), 4)
    return first.astype(np.float32), (int(size[0]), int(size[1]))
