"""Simulates plates as they are cropped along found corners: straight, with the errors of the corners."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import cv2
import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.recognition.quads import quad_size
from plate_nets.recognition.rectification import RectificationSettings, straighten
from plate_nets.types import CROP_HEIGHT, Frame
from training.synthesis import Sample, drawn_plate, placed, texts
from training.synthesis.camera import HIGHEST, Corners, centred, draw_height, edge_height, take_photo, tilt, turned
from training.synthesis.far import draw_far_height, draw_moving_height, smear, soften

Sight = Literal["near", "far", "moving"]
"""How a plate is seen: well, from a distance by a cheap camera, or smeared by its movement (`synthesis.far`)."""

_LARGEST_BOX = 4.5
"""Height of the upright box around a drawn plate, in plate heights; a steep plate loses no rows."""
_FAR_STRAY = 1.5
"""How much more the corners of a distant or smeared plate stray."""
_MARGINS = RectificationSettings()
_HEIGHTS: Mapping[Sight, Callable[[np.random.Generator], float]] = {
    "near": draw_height,
    "far": draw_far_height,
    "moving": draw_moving_height,
}
_SEVERITY: Mapping[Sight, float] = {"near": 1.0, "far": 0.7, "moving": 0.5}
"""Factor for the usual faults of a photo: a cheap camera adds its own."""


def photograph_straightened(
    picture: Frame,
    corners: Corners,
    rng: np.random.Generator,
    severity: float = 1.0,
    sight: Sight = "near",
    lines: int = 1,
) -> Frame:
    """As `training.synthesis.camera.photograph`, but cropped along corners, for 1 or 2 lines: (24, 94, 3) BGR."""
    source = edge_height(corners)
    if sight == "near":
        reduced = rng.random() < 0.6 * severity
        height = min(source, lines * (draw_height(rng, severity) if reduced else HIGHEST))
    else:
        height = min(source, lines * _HEIGHTS[sight](rng))
    base = centred(corners, height)
    if rng.random() < 0.3:
        base = turned(base, float(np.clip(rng.normal(0, np.radians(9)), -0.5, 0.5)))
    return shoot_straightened(picture, corners, tilt(base, height, rng, severity), rng, severity, lines, sight)


def synthesize_straightened(
    scheme: PlateScheme, rng: np.random.Generator, lines: int = 1, sight: Sight = "near"
) -> Sample:
    """A drawn plate of ``lines`` lines, photographed and cut along its corners."""
    kind, text = texts.sample_text(scheme.by_lines[lines], rng)
    height = lines * _HEIGHTS[sight](rng)
    picture, corners = drawn_plate(scheme, kind, text, height, rng)
    return Sample(photograph_drawn(picture, corners, height, rng, lines, sight), text, kind, height)


def photograph_drawn(
    picture: Frame, corners: Corners, height: float, rng: np.random.Generator, lines: int = 1, sight: Sight = "near"
) -> Frame:
    """A drawn plate of ``lines`` lines from the front, about ``height`` px high in the photo -> (24, 94, 3) BGR."""
    target = placed(corners, height, rng, _LARGEST_BOX)
    return shoot_straightened(picture, corners, target, rng, lines=lines, sight=sight)


def shoot_straightened(
    picture: Frame,
    corners: Corners,
    target: Corners,
    rng: np.random.Generator,
    severity: float = 1.0,
    lines: int = 1,
    sight: Sight = "near",
) -> Frame:
    """As `training.synthesis.camera.shoot`, but cropped along corners that stray from ``target``: (24, 94, 3) BGR.

    The margins vary a little, so that the reader does not depend on them.
    """
    height = edge_height(target) / lines
    found = stray(target, rng, 1.0 if sight == "near" else _FAR_STRAY)
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
    low = np.floor(points.min(axis=0) - around)
    size = np.maximum(np.ceil(points.max(axis=0) + around) - low, 4).astype(int)
    shifted = target - low.astype(np.float32)
    severity *= _SEVERITY[sight]
    photo = take_photo(picture, corners, shifted, (int(size[0]), int(size[1])), rng, severity, lines)
    if sight == "far":
        photo = soften(photo, rng)
    elif sight == "moving":
        photo = smear(photo, height, rng)
    how = cv2.INTER_CUBIC if rng.random() < 0.8 or height > CROP_HEIGHT else cv2.INTER_LINEAR
    return straighten(photo, np.asarray(found - low, np.float32), lines, margins, how)


def stray(corners: Corners, rng: np.random.Generator, times: float = 1.0) -> Corners:
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
