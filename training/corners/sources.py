"""Sources of training windows: cut-outs of labelled photos, and plates drawn onto them or on their own."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import load_scheme, main_scheme
from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame
from training.real import WIDE, Example, cut_outs, rates
from training.synthesis import drawn_plate, plates, texts
from training.synthesis.drawing import paste, rounded
from training.synthesis.layouts.layout import HEIGHT, WIDTH
from training.synthesis.perspective import stretched
from training.synthesis.scene import FOREIGN

_SCALE = 0.45
"""Scale at which plates are drawn, px/mm."""
_ABROAD = 0.15
"""Share of plates of other countries among those drawn over real ones."""


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


def load_sources(examples: Iterable[Example]) -> tuple[list[Source], NDArray[np.float64]]:
    """Plates -> those with known corners, and how often to draw each, (N,).

    Raises:
        DatasetError: a photo does not open.
    """
    plates = [plate for _, plate in cut_outs(examples, lambda each: each.label.quad is not None, WIDE)]
    return [Source(each.picture, each.corners, each.corners) for each in plates], rates(main_scheme(), plates)


def drawn_source(rng: np.random.Generator) -> Source:
    """A drawn one-line plate with drawn surroundings, from the front."""
    kind, text = texts.sample_text(main_scheme().by_lines[1], rng)
    picture, corners = drawn_plate(main_scheme(), kind, text, 30.0, rng)
    return Source(picture, corners, corners, plain=True)


def replaced(source: Source, rng: np.random.Generator, two_lines: float = 0.35) -> Source:
    """Draw another plate over that of a cut-out, in the same plane, light and holder: of any kind, one line or two.

    ``two_lines``: the share of plates of two lines. They are drawn larger, so that they cover the old one.
    """
    draw = rng.random()
    if draw < two_lines:
        scheme = main_scheme().by_lines[2]
    else:
        scheme = (load_scheme(FOREIGN) if draw < two_lines + _ABROAD else main_scheme()).by_lines[1]
    kind, text = texts.sample_text(scheme, rng)
    flat = plates.draw(scheme, kind, text, rng, _SCALE)
    x = float(rng.uniform(0.98, 1.3)) if draw < two_lines else 1.0
    y = x * (flat.shape[0] / flat.shape[1]) * (WIDTH / HEIGHT)
    height, width = flat.shape[:2]
    quad = stretched(source.base, x, y)
    picture = source.picture.copy()
    flat = _lit(flat, picture, source.corners)
    rim = 1 + float(rng.uniform(0.05, 0.16))
    holder = stretched(source.base, x * (1 + (rim - 1) * height / width), y * rim)
    level = float(rng.choice((12, 30, 60, 120))) * float(rng.uniform(0.6, 1.4))
    paste(picture, np.full((60, 260, 3), int(min(level, 250)), np.uint8), holder, rounded(60, 260, 5))
    paste(picture, flat, quad, rounded(height, width, max(2, round(height * float(rng.uniform(0.03, 0.09))))))
    return Source(picture, quad, source.base)


def _lit(flat: Frame, picture: Frame, corners: Quad) -> Frame:
    """Give a drawn plate the light of the plate that it replaces."""
    (x0, y0), (x1, y1) = np.maximum(corners.min(axis=0), 0).astype(int), np.maximum(corners.max(axis=0), 1).astype(int)
    old = picture[y0:y1, x0:x1]
    if old.size == 0:
        return flat
    gain = np.percentile(old, 80, axis=(0, 1)) / 225.0
    return np.asarray(np.clip(flat * np.clip(gain, 0.15, 1.1), 0, 255), np.uint8)
