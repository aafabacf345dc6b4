"""Drawn plates that cannot be read, each for one known reason."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import cv2
import numpy as np

from plate_nets.countries import PlateScheme, load_scheme
from plate_nets.evaluation.coding import code_jpeg
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reasons import with_sights
from plate_nets.types import Box, Frame, Plate
from tests.frames import compose
from training.synthesis.plates import draw_layout, sample_layout
from training.synthesis.scripts import BENGALI, DEVANAGARI, KANA, THAI
from training.synthesis.texts import sample_text

Spoil = Callable[[Frame, Box, np.random.Generator], Frame]
"""A frame with a plate -> the same with what makes the plate unreadable."""

_SIZE = (360, 640)
_SHARP = (20.0, 36.0)


def _same(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    return frame


def unfocused(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    return np.asarray(cv2.GaussianBlur(frame, (0, 0), rng.uniform(0.1, 0.16) * box.height), np.uint8)


def _blurred(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    """Out of focus, or moving along the road."""
    if rng.random() < 0.5:
        return unfocused(frame, box, rng)
    length = int(rng.uniform(0.45, 0.8) * box.height)
    return np.asarray(cv2.blur(frame, (length, 1)), np.uint8)


def _dark(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    noise = rng.normal(0, rng.uniform(1.5, 4), frame.shape)
    return np.clip(frame * rng.uniform(0.02, 0.07) + 4 + noise, 0, 255).astype(np.uint8)


def _glare(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    """A light that is far brighter than the plate, with its halo."""
    y, x = np.mgrid[: frame.shape[0], : frame.shape[1]]
    at = (box.xmin + rng.uniform(0.2, 0.8) * box.width, (box.ymin + box.ymax) / 2)
    reach = rng.uniform(0.1, 0.25) * box.width
    light = 600 * np.exp(-(((x - at[0]) / reach) ** 2 + ((y - at[1]) / reach) ** 2))
    return np.clip(frame + light[..., None], 0, 255).astype(np.uint8)


def _cut_off(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    left = round(box.xmin + rng.uniform(0.15, 0.5) * box.width)
    right = round(box.xmax - rng.uniform(0.15, 0.5) * box.width)
    return np.ascontiguousarray(frame[:, left:] if rng.random() < 0.5 else frame[:, :right])


def _hidden(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    """Behind a post, in one colour."""
    x = round(box.xmin + rng.uniform(0.05, 0.6) * box.width)
    width = round(rng.uniform(0.2, 0.4) * box.width)
    spoilt = frame.copy()
    spoilt[round(box.ymin) - 40 : round(box.ymax) + 40, x : x + width] = rng.uniform(30, 200, 3)
    noise = rng.normal(0, 3, frame.shape)
    return np.clip(spoilt + noise, 0, 255).astype(np.uint8)


def _unsure(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    """Compressed strongly."""
    return code_jpeg(frame, int(rng.integers(8, 22)))


_READ = ("russia", "germany", "france", "poland", "united_kingdom", "italy", "czechia")
_VISITORS = ("france", "united_kingdom", "italy")
"""Their plates fit no format of Germany."""
SPOILS: Mapping[str, Spoil] = {
    "too_low": _same,
    "blurred": _blurred,
    "dark": _dark,
    "glare": _glare,
    "cut_off": _cut_off,
    "hidden": _hidden,
    "script_unknown": _same,
    "unsure": _unsure,
    "no_format": _same,
}
_HEIGHTS = {"too_low": (5.0, 8.0), "unsure": (12.0, 17.0)}


def _text(kind: str, scheme: PlateScheme, rng: np.random.Generator) -> tuple[str, str, str]:
    """A format, a text of it that lays out the plate, and the text to draw."""
    name, text = sample_text(scheme, rng)
    while len(text) < 6 or not (fits := scheme.by_lines[1].fits(text)) or name not in {fit.format.name for fit in fits}:
        name, text = sample_text(scheme, rng)
    if kind == "script_unknown":
        signs = [*BENGALI, *DEVANAGARI] if rng.random() < 0.5 else [*THAI, *KANA]
        return name, text, "".join(rng.choice(signs, len(text)))
    return name, text, text


def drawn(kind: str, scheme: PlateScheme, rng: np.random.Generator) -> tuple[Frame, Box]:
    """A frame with one plate that is unreadable for this reason, and where it is."""
    picture = np.empty((1, 1, 3), np.uint8)
    while picture.shape[1] < 3.4 * picture.shape[0]:  # of two lines
        name, text, shown = _text(kind, scheme, rng)
        picture = draw_layout(sample_layout(scheme, name, text, rng), shown, rng, 0.5)
    height = rng.uniform(*_HEIGHTS.get(kind, _SHARP))
    w, h = max(1, round(height * picture.shape[1] / picture.shape[0])), round(height)
    x, y = int(rng.integers(200, 600 - w)), int(rng.integers(120, 240))
    frame = compose(*_SIZE, seed=int(rng.integers(1 << 30)))
    # A car's body around the plate
    frame[y - 40 : y + h + 40, x - 60 : x + w + 60] = rng.uniform(20, 200, 3)
    frame[y : y + h, x : x + w] = cv2.resize(picture, (w, h), interpolation=cv2.INTER_AREA)
    noise = rng.normal(0, 2, frame.shape)
    frame = np.clip(frame + noise, 0, 255).astype(np.uint8)
    box = Box(x, y, x + w, y + h)
    return SPOILS[kind](frame, box, rng), box


def unread(kind: str, count: int, world: LocalReader, german: LocalReader) -> Iterator[Plate]:
    """As many plates that the readers find and do not read, with what their pixels say, each of a new drawing."""
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    names, reader = (_VISITORS, german) if kind == "no_format" else (_READ, world)
    for _ in range(8 * count):
        frame, _ = drawn(kind, load_scheme(names[int(rng.integers(len(names)))]), rng)
        plates = with_sights(partial(np.asarray, frame), reader.read(frame, evidence=True))
        if plates and not plates[0].reading.text:
            yield plates[0]
            count -= 1
            if not count:
                return
    raise AssertionError(f"{kind}: too few drawings are found and not read")
