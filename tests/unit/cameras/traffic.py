"""Invented plates of frames: where a car's plate is at a time, and what a network would output for it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.stay import CarSettings
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.countries import PlateScheme
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.decoding import PlateDecoder
from plate_nets.types import Box, Frame, Plate
from tests.spelling import RUSSIA, spell

T0 = 1_700_000_000.0
"""Start of the invented videos, Unix seconds."""

FrameOf = Callable[[float], Iterable[Plate]]
"""Seconds since the start -> the plates of that frame."""


def plate(
    text: str,
    x: float,
    y: float = 300.0,
    height: float = 24.0,
    *,
    score: float = 0.8,
    peak: float = 9.0,
    doubts: dict[int, tuple[str, float]] | None = None,
) -> Plate:
    """A plate around a centre. ``peak``: how certain the reading is; ``doubts``: as in `spell`."""
    logits = spell(text, peak=peak, doubts=doubts)
    (reading,) = PlateDecoder(RUSSIA).decode(logits)
    half = np.array([2.2 * height, height / 2])
    (xmin, ymin), (xmax, ymax) = np.array([x, y]) - half, np.array([x, y]) + half
    return Plate(Box(xmin, ymin, xmax, ymax), score, reading, logits[0])


class Blind:
    """A reader that finds nothing, and keeps the height and width of each frame."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        assert isinstance(image, np.ndarray)
        self.sizes.append((image.shape[0], image.shape[1]))
        return []


def noise(x: float, y: float, seed: int, height: float = 24.0) -> Plate:
    """What networks see in a kerb stone: another weak text in every frame."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2.5, (RUSSIA.classes, 18)).astype(np.float32)
    (reading,) = PlateDecoder(RUSSIA).decode(logits[None])
    return replace(plate("A000AA77", x, y, height), reading=reading, logits=logits)


def approaching(text: str, time: float, lane: float = 3.0, speed: float = 16.7, start: float = 25.0) -> list[Plate]:
    """A car that passes at a steady speed in m/s. The camera has a focal length of 1,000 px and is 4 m above it."""
    z = start - speed * time
    if z < 4:
        return []
    return [plate(text, 640 + 1000 * lane / z, 200 + 1000 * 3.4 / z, 112 / z)]


def watch(
    frames: FrameOf,
    seconds: float,
    rate: float = 25.0,
    settings: CarSettings = CarSettings(),
    watch_lists: Sequence[WatchList] = (),
    scheme: PlateScheme | None = None,
) -> list[PlateEvent]:
    """The events of an invented video."""
    cars = CarEvents(Camera("gate"), settings, scheme, watch_lists)
    events = []
    for index in range(round(seconds * rate)):
        events += cars.update(list(frames(index / rate)), T0 + index / rate)
    return events + cars.finish()
