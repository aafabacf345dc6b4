"""Plates of two lines, drawn roughly: enough to learn their outline, not to read them.

Sizes after GOST R 50577-2018: type 1A 290 x 170 mm, type 3 288 x 206 mm, type 4 190 x 145 mm; the characters stand
about where the standard has them. Plates of other countries have the same shapes.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from plate_nets.plates import default_scheme
from plate_nets.types import Frame
from training.synthesis import glyphs


@dataclass(frozen=True)
class TwoLines:
    """A layout: size in mm, classes of both lines (`A` letter, `0` digit), height of the characters in mm."""

    width: float
    height: float
    lines: tuple[str, str]
    size: float


KINDS = (
    TwoLines(290, 170, ("A000", "AA00"), 62),
    TwoLines(290, 170, ("A000", "AA000"), 58),
    TwoLines(288, 206, ("0000", "AA00"), 76),
    TwoLines(190, 145, ("0000", "AA00"), 52),
    TwoLines(190, 145, ("AA00", "0000"), 52),
)
_GROUNDS = ((236, 236, 234), (30, 190, 245), (34, 32, 32), (165, 85, 20))


def draw_two_lines(rng: np.random.Generator, scale: float) -> Frame:
    """A generator and px/mm -> a plate of two lines from the front, (H, W, 3) BGR."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    ground = np.array(_GROUNDS[0 if rng.random() < 0.75 else int(rng.integers(1, len(_GROUNDS)))], np.float32)
    ground = np.clip(ground * rng.uniform(0.88, 1.06), 0, 255)
    ink = np.array((28, 26, 26) if ground.mean() > 100 else (230, 230, 230), np.float32)
    cover = np.zeros((round(kind.height * scale), round(kind.width * scale)), np.uint8)
    if rng.random() < 0.8:
        inset = max(1, round(float(rng.uniform(2, 6)) * scale))
        cv2.rectangle(cover, (inset, inset), (cover.shape[1] - 1 - inset, cover.shape[0] - 1 - inset), (255,), 1)
    signs = default_scheme().signs
    for row, pattern in enumerate(kind.lines):
        baseline = kind.height * ((0.46, 0.92)[row] + float(rng.normal(0, 0.015)))
        pitch = kind.width * 0.88 / len(pattern)
        for place, symbol in enumerate(pattern):
            choices = signs[symbol]
            drawn = glyphs.mask(choices[int(rng.integers(len(choices)))], max(2, round(kind.size * scale)), 0.0)
            x = kind.width * 0.06 + pitch * (place + 0.5)
            top, left = round(baseline * scale) - drawn.shape[0], round(x * scale - drawn.shape[1] / 2)
            area = cover[max(top, 0) : top + drawn.shape[0], max(left, 0) : left + drawn.shape[1]]
            np.maximum(area, drawn[: area.shape[0], : area.shape[1]], out=area)
    share = cover[:, :, None].astype(np.float32) / 255
    return (ground * (1 - share) + ink * share).astype(np.uint8)
