"""Synthetic plate crops: drawn by this project, photographed by a simulated camera.

texts -> plates (with glyphs and layouts) -> surroundings -> camera (with perspective) -> Sample
"""

from dataclasses import dataclass

import numpy as np

from plate_nets.plates import PlateScheme
from plate_nets.types import Frame
from training.synthesis import camera, perspective, plates, surroundings, texts
from training.synthesis.layouts.layout import HEIGHT

_SCALES = tuple(float(v) for v in np.geomspace(0.22, 0.66, 6))
"""px/mm plates are drawn at; few, so that drawn glyphs are used again."""


@dataclass(frozen=True)
class Sample:
    """A crop (24, 94, 3) BGR uint8, its text and format, and the plate's height in px of the simulated photo."""

    crop: Frame
    text: str
    kind: str
    height: float


def synthesize(scheme: PlateScheme, rng: np.random.Generator, kind: str | None = None) -> Sample:
    """A scheme and a generator -> the next synthetic crop; everything in it is decided by the generator.

    Raises:
        InputError: ``kind`` is no format of the scheme.
    """
    kind, text = texts.sample_text(scheme, rng, kind)
    height = camera.draw_height(rng)
    target = perspective.sample_corners(rng, height)
    picture, corners = drawn_plate(scheme, kind, text, height, rng)
    return Sample(camera.shoot(picture, corners, target, rng), text, kind, height)


def drawn_plate(
    scheme: PlateScheme, kind: str, text: str, height: float, rng: np.random.Generator
) -> tuple[Frame, camera.Corners]:
    """A plate with its surroundings from the front, drawn finely enough for ``height`` px, and its corners (4, 2)."""
    wanted = height * 1.15 / HEIGHT
    scale = next((value for value in _SCALES if value >= wanted), _SCALES[-1])
    return surroundings.surround(plates.draw(scheme, kind, text, rng, scale), rng)
