"""Training samples for CountryNet: drawn plates of every country, and real ones of known or other countries.

A drawing is photographed several times, each time differently, because drawing a plate takes longer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import SCRIPTS
from plate_nets.countries import PlateScheme
from plate_nets.countries.designs import CLASSES, DESIGNS, GROUNDS, UNKNOWN, design_of, ground_of
from plate_nets.recognition.geometry import normalized
from plate_nets.recognition.quads import Quad
from plate_nets.types import Crops, Frame
from training.real import Example, RealPlate, cut_outs
from training.synthesis import drawn_layout, photograph_drawn, plates, texts
from training.synthesis.camera import without_colour
from training.synthesis.crops import HEIGHTS, Sight, draw_height, negative, without_first_sign
from training.synthesis.layouts import grounds, varied
from training.synthesis.layouts.layout import PlateLayout

REAL = 0.5
"""Share of real plates among the samples of a design that has real plates."""
NOT_KNOWN = -100
"""The class of an unknown ground, which the loss ignores."""
_FAR = 0.1
_GREY = 0.05
"""Share of pictures without colours, as cameras take them by infrared light."""
_NEGATIVE = 0.05
"""Share of the drawings that are negatives: light signs on dark, whose ground is not known."""
_HEADLESS = 0.2
"""Share of the plates of other scripts whose first sign something hides: what is left of a Chinese plate may look like
a text in Latin letters."""
_COLOURED, _TRIES = 0.3, 6
"""Share of the drawings that are chosen again, up to this many times, if their ground is white, as most are."""
_REPAINTED = 0.1
"""Share of the drawings in a colour that the format does not have: a diplomat's, a soldier's, an undescribed one."""
_FRESH, _POOL = 6, 512
"""Number of new drawings in each step, and number of drawings to choose from."""


@dataclass(frozen=True)
class CountryBatch:
    """Crops (N, 3, 24, 94), the classes of their designs (N,) and of their grounds (N,), which may be `NOT_KNOWN`."""

    crops: Crops
    designs: NDArray[np.int64]
    grounds: NDArray[np.int64]


class Drawing(NamedTuple):
    """A plate of ``lines`` lines from the front, with its surroundings, (H, W, 3) BGR, its corners (4, 2), and the
    class of its ground."""

    picture: Frame
    corners: Quad
    lines: int
    ground: int


class KnownPlate(NamedTuple):
    """A real plate and the class of its ground; `NOT_KNOWN` if the formats that its text fits have several."""

    plate: RealPlate
    ground: int


class Samples:
    """Batches by step: every design appears about equally often, `UNKNOWN` included."""

    def __init__(
        self, schemes: Sequence[PlateScheme], real: Mapping[str, Sequence[KnownPlate]], *, batch: int, seed: int
    ) -> None:
        self.drawn = drawn_formats(schemes)
        self.real = real
        self.designs = [design for design in DESIGNS if self.drawn.get(design) or real.get(design)]
        self.scripts = {design for design, drawn in self.drawn.items() if drawn[0][0].trained_as == SCRIPTS}
        self.batch = batch
        self.seed = seed
        self._drawing = lru_cache(_POOL)(self._draw)

    def __getitem__(self, step: int) -> CountryBatch:
        crops, classes, grounds = zip(*(self._sample(step, place) for place in range(self.batch)), strict=True)
        stacked = normalized(crops)
        return CountryBatch(stacked, np.array(classes, np.int64), np.array(grounds, np.int64))

    def _sample(self, step: int, place: int) -> tuple[Frame, int, int]:
        rng = np.random.default_rng((self.seed, step, place))
        number = step * _FRESH + int(rng.integers(_POOL))
        _, design = self._generator(number)
        real, headless = self.real.get(design, ()), design in self.scripts and rng.random() < _HEADLESS
        if real and (design not in self.drawn or rng.random() < REAL):
            plate, ground = real[int(rng.integers(len(real)))]
            if headless and plate.lines == 1:
                picture, corners = without_first_sign(plate.picture, plate.corners, rng)
                plate = replace(plate, picture=picture, corners=corners)
            crop = plate.photographed(rng, "near")
        else:
            picture, corners, lines, ground = self._drawing(number)
            if rng.random() < _NEGATIVE:
                picture, ground = negative(picture, rng), NOT_KNOWN
            if headless and lines == 1:
                picture, corners = without_first_sign(picture, corners, rng)
            sight: Sight = "far" if rng.random() < _FAR else "near"
            crop = photograph_drawn(picture, corners, lines * draw_height(rng, sight), rng, sight, lines)
        return without_colour(crop, rng, _GREY), CLASSES[design], ground

    def _generator(self, number: int) -> tuple[np.random.Generator, str]:
        """What decides about a drawing, and its design."""
        rng = np.random.default_rng((self.seed, number, self.batch))  # no sample: its place is smaller
        return rng, self.designs[int(rng.integers(len(self.designs)))]

    def _draw(self, number: int) -> Drawing:
        rng, design = self._generator(number)
        scheme, shares = self.drawn[design][int(rng.integers(len(self.drawn[design])))]
        weights = np.array(list(shares.values()))
        for _ in range(_TRIES if rng.random() < _COLOURED else 1):
            kind = list(shares)[int(rng.choice(len(shares), p=weights / weights.sum()))]
            kind, text = texts.sample_text(scheme, rng, kind)
            layout = plates.sample_layout(scheme, kind, text, rng)
            if ground_of(layout.ground) != "white":
                break
        if rng.random() < _REPAINTED:
            layout = _repainted(layout, rng)
        lines = next(each.lines for each in scheme.formats if each.name == kind)
        picture, corners = drawn_layout(layout, text, lines * HEIGHTS["near"][1], rng)
        return Drawing(picture, corners, lines, _class_of(ground_of(layout.ground)))


def _repainted(layout: PlateLayout, rng: np.random.Generator) -> PlateLayout:
    coloured = [each for each in varied.COLOURS if ground_of(each[0]) not in ("white", None)]
    ground, ink = coloured[int(rng.integers(len(coloured)))]
    blue, green, red = (round(min(each * rng.uniform(0.75, 1.25), 255)) for each in ground)
    return replace(layout, ground=(blue, green, red), ink=ink)


def drawn_formats(schemes: Sequence[PlateScheme]) -> dict[str, list[tuple[PlateScheme, dict[str, float]]]]:
    """Schemes -> for each design, its drawable formats and how often each of them is drawn."""
    found: dict[str, list[tuple[PlateScheme, dict[str, float]]]] = {}
    for scheme in schemes:
        by_design: dict[str, dict[str, float]] = {}
        for each in scheme.formats:
            by_design.setdefault(design_of(scheme, each), {})[each.name] = scheme.synthesis.shares[each.name]
        for design, shares in by_design.items():
            if sum(shares.values()):
                found.setdefault(design, []).append((scheme, shares))
    return found


def load_real(schemes: Sequence[PlateScheme], examples: Iterable[Example]) -> dict[str, list[KnownPlate]]:
    """Plates of known countries -> the plates of each design.

    A plate counts if its text fits a format of its country; plates of countries without a scheme are `UNKNOWN`.

    Raises:
        DatasetError: a photo does not open.
    """
    by_country = {scheme.country: scheme for scheme in schemes if scheme.country}
    found: dict[str, list[KnownPlate]] = {}
    for each, plate in cut_outs(examples, lambda each: bool(each.country)):
        scheme, text = by_country.get(each.country), each.label.text
        if design := _design(scheme, text):
            found.setdefault(design, []).append(KnownPlate(plate, _class_of(_ground(scheme, text))))
    return found


def _design(scheme: PlateScheme | None, text: str) -> str:
    if scheme is None:
        return UNKNOWN
    formats = scheme.formats_of(text)
    return design_of(scheme, formats[0]) if formats else ""


def _ground(scheme: PlateScheme | None, text: str) -> str | None:
    """The ground of a plate, if all formats that its text fits have the same one."""
    if scheme is None:
        return None
    colours = [grounds(scheme, fit) for fit in scheme.fits(text)]
    names = {ground_of(colour) for each in colours for colour in each}
    return names.pop() if len(names) == 1 and all(colours) else None


def _class_of(ground: str | None) -> int:
    return NOT_KNOWN if ground is None else GROUNDS.index(ground)
