"""Sources of training windows: cut-outs of labelled photos, and plates drawn onto them or on their own."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import main_scheme
from plate_nets.evaluation.coding import reduced
from plate_nets.evaluation.dataset import Label, read_photo
from plate_nets.recognition.quads import Quad, quad_size
from plate_nets.recognition.rectification import order_corners
from plate_nets.types import Frame
from training.synthesis import drawn_plate, plates, texts
from training.synthesis.drawing import paste, rounded
from training.synthesis.layouts.layout import HEIGHT, WIDTH
from training.synthesis.perspective import stretched
from training.synthesis.scene import foreign_plate

CONTEXT = 0.85
"""Surroundings kept around a plate, in widths of its box, on each side."""
STORED_HEIGHT = 44.0
"""Maximum height of stored plates, px: more than the network ever sees."""
_SCALE = 0.45
"""Scale at which plates are drawn, px/mm."""
_VANITY = re.compile(r"[A-Z](000|111|222|333|444|555|666|777|888|999)|([A-Z])\d{3}\2\2")


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


def load_sources(photos: Iterable[tuple[Path, Sequence[Label]]]) -> tuple[list[Source], NDArray[np.float64]]:
    """Labelled photos -> a cut-out for each plate with labelled corners, and the chance to draw each, (N,).

    Vanity plates and plates photographed often are over-represented, so their chances are lower.

    Raises:
        DatasetError: a photo does not open.
    """
    sources: list[Source] = []
    labelled: list[str] = []
    for path, labels in photos:
        if known := [label for label in labels if label.quad is not None]:
            photo = read_photo(path)
            sources += [cut_out(photo, label) for label in known]
            labelled += [label.text for label in known]
    counts = Counter(labelled)
    weights = np.array([(0.4 if _VANITY.match(text) else 1.0) / counts[text] ** 0.5 for text in labelled], np.float64)
    return sources, weights / max(float(weights.sum()), 1e-9)


def cut_out(photo: Frame, label: Label) -> Source:
    """Cut out a labelled plate with its surroundings, reduced if it is higher than needed."""
    assert label.quad is not None
    quad = order_corners(label.quad)
    (left, top), (right, bottom) = quad.min(axis=0), quad.max(axis=0)
    pad = CONTEXT * max(right - left, 2 * (bottom - top))
    height, width = photo.shape[:2]
    x0, y0 = max(0, int(left - pad)), max(0, int(top - 0.7 * pad))
    x1, y1 = min(width, int(right + pad) + 1), min(height, int(bottom + 0.7 * pad) + 1)
    picture = photo[y0:y1, x0:x1]
    corners = np.asarray(quad - [x0, y0], np.float32)
    small = reduced(picture, STORED_HEIGHT / max(float(quad_size(corners[None])[0][0]), 1.0))
    corners = (corners * (small.shape[1] / picture.shape[1], small.shape[0] / picture.shape[0])).astype(np.float32)
    return Source(np.ascontiguousarray(small), corners, corners)


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
    x = y = 1.0
    if draw < two_lines:
        scheme = main_scheme().by_lines[2]
        kind, text = texts.sample_text(scheme, rng)
        flat = plates.draw(scheme, kind, text, rng, _SCALE)
        x = float(rng.uniform(0.98, 1.3))
        y = x * (flat.shape[0] / flat.shape[1]) * (WIDTH / HEIGHT)
    elif draw < two_lines + 0.15:
        flat = foreign_plate(rng)
    else:
        kind, text = texts.sample_text(main_scheme().by_lines[1], rng)
        flat = plates.draw(main_scheme(), kind, text, rng, _SCALE)
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
