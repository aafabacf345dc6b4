"""Frames for tests: drawn plates on a plain ground, so that every box and text is known."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import cv2
import numpy as np
import pillow_heif
from PIL import Image

from plate_nets.countries import main_scheme
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.types import Box, Frame
from training.synthesis.plates import draw

ASPECT = 112 / 520


@dataclass(frozen=True)
class Placed:
    """A private plate with its text, and its top left corner and width in pixels of the frame."""

    text: str
    x: int
    y: int
    width: int = 160

    @property
    def box(self) -> Box:
        return Box(self.x, self.y, self.x + self.width, self.y + round(self.width * ASPECT))


def crowd(count: int) -> list[Placed]:
    """Plates with different texts, in rows of four, for a frame of 720 x 1280 px with 20 of them or fewer."""
    letters = islice(product("KABEMHOPCTYX", repeat=3), count)
    return [
        Placed(f"{a}{(i * 37 + 1) % 1000:03d}{b}{c}77", 60 + 300 * (i % 4), 40 + 130 * (i // 4))
        for i, (a, b, c) in enumerate(letters)
    ]


def compose(h: int, w: int, plates: Iterable[Placed] = (), seed: int = 0) -> Frame:
    """A grey frame (h, w, 3) with a little noise and these plates."""
    rng = np.random.default_rng(seed)
    frame = np.clip(rng.normal(110, 4, (h, w, 3)), 0, 255).astype(np.uint8)
    for plate in plates:
        size = (plate.width, round(plate.width * ASPECT))
        drawn = cv2.resize(draw(main_scheme(), "private", plate.text, rng), size, interpolation=cv2.INTER_AREA)
        frame[plate.y : plate.y + size[1], plate.x : plate.x + size[0]] = drawn
    return frame


def hard_to_read(frame: Frame) -> Frame:
    """A frame of 480x640 that looks distant and out of focus: readers are not sure of its plates."""
    small = cv2.resize(frame, None, fx=0.3, fy=0.3, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(small, (0, 0), 1.25), np.uint8)


def encode(frame: Frame, suffix: str = ".png") -> bytes:
    """A frame -> the bytes of a picture file."""
    if suffix in (".heic", ".avif"):
        return saved(frame, suffix[1:].upper(), quality=95)
    done, encoded = cv2.imencode(suffix, frame)
    assert done, suffix
    return encoded.tobytes()


def saved(picture: Frame | Image.Image, kind: str, **options: Any) -> bytes:
    """A picture -> the bytes of a file as Pillow writes it, with options of this kind."""
    pillow_heif.register_heif_opener()
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture[..., ::-1])
    file = io.BytesIO()
    image.save(file, "HEIF" if kind == "HEIC" else kind, **options)
    return file.getvalue()


def overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes."""
    return float(iou(stacked([one]), stacked([other]))[0, 0])
