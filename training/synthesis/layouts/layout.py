"""The layout of a plate. Sizes are in mm, x to the right and y down from the plate's top left corner."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plate_nets.countries.drawing import Band, Colour, Disc
from training.synthesis.typefaces import GOST

WIDTH = 520.0
HEIGHT = 112.0
"""Height of a one-line plate."""

WHITE: Colour = (236, 236, 234)
BLACK: Colour = (28, 26, 26)


@dataclass(frozen=True)
class Slot:
    """Position of one character: centre x, height and baseline, mm; ``narrowed``: its width, 1 is normal."""

    x: float
    height: float
    baseline: float
    narrowed: float = 1.0


@dataclass(frozen=True)
class PlateLayout:
    """The front of a plate."""

    slots: tuple[Slot, ...]
    """Slots of the text's characters, in order."""
    ground: Colour
    ink: Colour
    other: tuple[Colour, Colour] | None = None
    """Ground and ink of plates of the same format that look different; these have no flag."""
    divider: float | None = None
    """Centre x of a line from edge to edge."""
    last_ground: Colour | None = None
    """Ground of the field behind that line on most plates, if it differs."""
    country: tuple[tuple[str, Slot], ...] = ()
    """Small letters that are not part of the text, with their slots."""
    flag: tuple[Colour, ...] = ()
    """Its stripes from the top."""
    flag_box: tuple[float, float, float, float] = (467.0, 84.5, 508.0, 100.1)
    """Left, top, right, bottom of the flag, mm."""
    bolts: tuple[tuple[float, float], ...] = ((13.0, 54.5), (505.0, 54.5))
    """Positions of the screws, mm."""
    width: float = WIDTH
    height: float = HEIGHT
    typeface: str = GOST
    bands: tuple[Band, ...] = ()
    """Parts of the ground in other colours, under the characters."""
    coloured: tuple[tuple[str, Slot, Colour], ...] = ()
    """Small letters in their own ink."""
    discs: tuple[Disc, ...] = ()
    stars: tuple[tuple[float, float, float], ...] = ()
    """Centre and radius of rings of yellow stars, mm."""
    words: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Symbols that a word is drawn for, and the word."""
    can_shuffle: bool = False
    """Whether symbols may be exchanged in a photo of it: cells of about one size, dark on one light ground."""
