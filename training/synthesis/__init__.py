"""Synthetic plate crops: drawn by this project, photographed by a simulated camera.

texts -> plates (with glyphs and layouts) -> surroundings -> camera (with perspective) -> Sample
"""

from dataclasses import dataclass

import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.types import Frame
from training.synthesis import camera, perspective, plates, surroundings, texts
from training.synthesis.layouts.layout import HEIGHT, WIDTH, PlateLayout

_SCALES = tuple(float(v) for v in np.geomspace(0.22, 1.0, 8))
"""Scales at which plates are drawn, px/mm; few, so that drawn glyphs can be reused."""


@dataclass(frozen=True)
class Sample:
    """A crop (24, 94, 3) BGR uint8, its text and format, and the plate's height in px of the simulated photo."""

    crop: Frame
    text: str
    kind: str
    height: float


def synthesize(scheme: PlateScheme, rng: np.random.Generator, kind: str | None = None) -> Sample:
    """Make the next synthetic crop of a one-line plate, cropped along its upright box.

    The generator decides everything in it.

    Raises:
        InputError: ``kind`` is not a format of the scheme.
    """
    kind, text = texts.sample_text(scheme.by_lines[1], rng, kind)
    height = camera.draw_height(rng)
    picture, corners = drawn_plate(scheme, kind, text, height, rng)
    target = placed(corners, height, rng)
    return Sample(camera.shoot(picture, corners, target, rng), text, kind, height)


def drawn_plate(
    scheme: PlateScheme, kind: str, text: str, height: float, rng: np.random.Generator
) -> tuple[Frame, camera.Corners]:
    """A plate with its surroundings from the front, drawn finely enough for ``height`` px, and its corners (4, 2)."""
    return drawn_layout(plates.sample_layout(scheme, kind, text, rng), text, height, rng)


def drawn_layout(
    layout: PlateLayout, text: str, height: float, rng: np.random.Generator
) -> tuple[Frame, camera.Corners]:
    """As `drawn_plate`, in a layout that has a slot for each character."""
    needed = height * 1.15 / layout.height
    scale = next((value for value in _SCALES if value >= needed), _SCALES[-1])
    return surroundings.surround(plates.draw_layout(layout, text, rng, scale), rng)


def placed(
    corners: camera.Corners, height: float, rng: np.random.Generator, largest_box: float = perspective.LARGEST_BOX
) -> camera.Corners:
    """Place a plate seen from the front, with ``corners`` (4, 2), in a photo: (4, 2) around (0, 0).

    It is about ``height`` px high there. The perspective is that of one-line plates in the same plane.
    """
    (front_width, front_height) = corners[2] - corners[0]
    tall = float(front_height / front_width) * WIDTH / HEIGHT  # 1 for a plate of one line
    base = perspective.sample_corners(rng, height / tall, largest_box=largest_box)
    return base if abs(tall - 1) < 0.05 else perspective.stretched(base, 1.0, tall)
