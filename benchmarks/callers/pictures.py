"""Pictures to send: drawn frames with a given number of plates, or those of a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from plate_nets.common.errors import InputError
from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.recognition.health import known_picture
from plate_nets.types import Frame

HD = (720, 1280)
FULL_HD = (1080, 1920)

_PLATE = (slice(190, 245), slice(150, 330))
"""Rows and columns of the plate in the health check's picture, with a little of the grey ground around it."""
_LEFTS = (70, 390, 710, 1030)
_TOPS = (333, 205, 461, 77, 589)
"""Positions of plates on an HD frame, px. They differ by multiples of 64, the detector's coarsest cell, so that all are
seen equally well."""
_QUALITY = 90
"""JPEG quality: with this ground a frame has about as many bytes as a street photo."""
MOST_PLATES = len(_LEFTS) * len(_TOPS)


@dataclass(frozen=True)
class Picture:
    """A frame to send raw, the same one encoded, and the number of its plates if known."""

    name: str
    frame: Frame
    encoded: bytes
    plates: int | None


def drawn_picture(plates: int, hw: tuple[int, int] = HD) -> Picture:
    """Draw copies of one plate on noisy grey ground, of the same size relative to the frame at any size.

    Raises:
        InputError: more plates than fit.
    """
    if not 0 <= plates <= MOST_PLATES:
        raise InputError(f"--plates: expected 0 to {MOST_PLATES} on a frame, got {plates}")
    h, w = hw
    rng = np.random.default_rng(plates)
    frame = np.clip(rng.normal(110, 6, (h, w, 3)), 0, 255).astype(np.uint8)
    scale = w / HD[1]
    plate = cv2.resize(
        _plate_picture(), None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    )
    for top, left in [(top, left) for top in _TOPS for left in _LEFTS][:plates]:
        y, x = round(scale * top), round(scale * left)
        frame[y : y + plate.shape[0], x : x + plate.shape[1]] = plate
    _, encoded = cv2.imencode(".jpg", frame, (cv2.IMWRITE_JPEG_QUALITY, _QUALITY))
    decoded = cv2.imdecode(encoded, cv2.IMREAD_COLOR)  # so that raw and encoded are the same picture
    return Picture(f"{plates} plates {w}x{h}", np.asarray(decoded, np.uint8), encoded.tobytes(), plates)


def folder_pictures(folder: Path) -> Sequence[Picture]:
    """The pictures of a folder, sorted by name.

    Raises:
        InputError: there is no picture, or one does not open.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise InputError(f"--frames {folder}: no picture; looked for {', '.join(sorted(SUFFIXES))}")
    pictures = []
    for path in paths:
        encoded = path.read_bytes()
        frame = cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR)
        if frame is None:
            raise InputError(f"--frames {path}: cannot be opened as a picture")
        pictures.append(Picture(path.name, np.asarray(frame, np.uint8), encoded, None))
    return pictures


@cache
def _plate_picture() -> Frame:
    picture = cv2.imdecode(np.frombuffer(known_picture().image, np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(picture[_PLATE], np.uint8)
