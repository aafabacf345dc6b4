"""Synthetic plate crops: drawn by this project, photographed by a simulated camera.

texts -> plates (with glyphs and layouts) -> surroundings -> crops (with camera and perspective) -> Sample
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame
from training.synthesis import crops, perspective, plates, surroundings, texts
from training.synthesis.crops import Sight
from training.synthesis.layouts.layout import HEIGHT, WIDTH, PlateLayout

_SCALES = tuple(float(v) for v in np.geomspace(0.22, 1.0, 8))
"""Scales at which plates are drawn, px/mm; few, so that drawn glyphs can be reused."""
_LARGEST_BOX = 4.5
"""Height of the upright box around a plate that is cropped along its corners, in plate heights: it loses no rows."""


@dataclass(frozen=True)
class Sample:
    """A crop (24, 94, 3) BGR uint8, its text and format, and the plate's height in px of the simulated photo."""

    crop: Frame
    text: str
    kind: str
    height: float


def synthesize(
    scheme: PlateScheme,
    rng: np.random.Generator,
    kind: str | None = None,
    sight: Sight = "boxed",
    lines: int | None = None,
    change: Callable[[str, np.random.Generator], str] | None = None,
    inverted: bool = False,
) -> Sample:
    """Make the next synthetic crop of a plate. The generator decides everything in it.

    ``lines``: of the plate; None: the fewest that the scheme has. ``change``: makes another text of the same length,
    which stands on the plate. ``inverted``: as a negative.

    Raises:
        InputError: ``kind`` is not a format of the scheme.
    """
    lines = lines or scheme.fewest_lines
    kind, text = texts.sample_text(scheme.by_lines[lines], rng, kind)
    shown = change(text, rng) if change else text
    height = lines * crops.draw_height(rng, sight)
    picture, corners = drawn_plate(scheme, kind, text, height, rng, shown, inverted)
    return Sample(photograph_drawn(picture, corners, height, rng, sight, lines), shown, kind, height)


def photograph_drawn(
    picture: Frame, corners: Quad, height: float, rng: np.random.Generator, sight: Sight, lines: int
) -> Frame:
    """A drawn plate of ``lines`` lines from the front, about ``height`` px high in the photo -> (24, 94, 3) BGR."""
    largest = perspective.LARGEST_BOX if sight == "boxed" else _LARGEST_BOX
    return crops.shoot(picture, corners, placed(corners, height, rng, largest), rng, 1.0, sight, lines)


def drawn_plate(
    scheme: PlateScheme,
    kind: str,
    text: str,
    height: float,
    rng: np.random.Generator,
    shown: str = "",
    inverted: bool = False,
) -> tuple[Frame, Quad]:
    """A plate with its surroundings from the front, drawn finely enough for ``height`` px, and its corners (4, 2).

    ``shown``: what stands on it instead of ``text``, with as many symbols. ``inverted``: as a negative.
    """
    picture, corners = drawn_layout(plates.sample_layout(scheme, kind, text, rng), shown or text, height, rng)
    return crops.negative(picture, rng) if inverted else picture, corners


def drawn_layout(layout: PlateLayout, text: str, height: float, rng: np.random.Generator) -> tuple[Frame, Quad]:
    """As `drawn_plate`, in a layout that has a slot for each character."""
    needed = height * 1.15 / layout.height
    scale = next((value for value in _SCALES if value >= needed), _SCALES[-1])
    return surroundings.surround(plates.draw_layout(layout, text, rng, scale), rng)


def placed(
    corners: Quad, height: float, rng: np.random.Generator, largest_box: float = perspective.LARGEST_BOX
) -> Quad:
    """Place a plate seen from the front, with ``corners`` (4, 2), in a photo: (4, 2) around (0, 0).

    It is about ``height`` px high there. The perspective is that of one-line plates in the same plane.
    """
    (front_width, front_height) = corners[2] - corners[0]
    tall = float(front_height / front_width) * WIDTH / HEIGHT  # 1 for a plate of one line
    base = perspective.sample_corners(rng, height / tall, largest_box=largest_box)
    return base if abs(tall - 1) < 0.05 else perspective.stretched(base, 1.0, tall)
