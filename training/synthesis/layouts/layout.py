"""What a layout is. Sizes are in mm, x to the right and y down from the plate's top left corner."""

from dataclasses import dataclass

from plate_nets.plates.drawing import Band, Colour, Disc
from training.synthesis.typefaces import GOST

WIDTH = 520.0
HEIGHT = 112.0
"""Of a plate of one line."""

WHITE: Colour = (236, 236, 234)
BLACK: Colour = (28, 26, 26)


@dataclass(frozen=True)
class Slot:
    """Where one character stands: centre x, height and baseline, mm; ``narrowed``: its width, for 1 of the usual."""

    x: float
    height: float
    baseline: float
    narrowed: float = 1.0


@dataclass(frozen=True)
class PlateLayout:
    """The front of a plate."""

    slots: tuple[Slot, ...]
    """Of the text's characters, in order."""
    ground: Colour
    ink: Colour
    other: tuple[Colour, Colour] | None = None
    """Ground and ink of the plates of the same format that look otherwise; these have no flag."""
    divider: float | None = None
    """Centre x of a line from edge to edge."""
    last_ground: Colour | None = None
    """Ground of the field behind that line on most plates, where it is another."""
    country: tuple[tuple[str, Slot], ...] = ()
    """Small letters that are no part of the text, and where they stand."""
    flag: tuple[Colour, ...] = ()
    """Its stripes from the top."""
    flag_box: tuple[float, float, float, float] = (467.0, 84.5, 508.0, 100.1)
    """Left, top, right, bottom of the flag, mm."""
    bolts: tuple[tuple[float, float], ...] = ((13.0, 54.5), (505.0, 54.5))
    """Where the plate is screwed on, mm."""
    width: float = WIDTH
    height: float = HEIGHT
    typeface: str = GOST
    bands: tuple[Band, ...] = ()
    """Parts of the ground in other colours, under the characters."""
    coloured: tuple[tuple[str, Slot, Colour], ...] = ()
    """Small letters in an ink of their own."""
    discs: tuple[Disc, ...] = ()
    stars: tuple[tuple[float, float, float], ...] = ()
    """Centre and radius of rings of yellow stars, mm."""
    can_shuffle: bool = False
    """Whether symbols may change places in a photo of it: cells of about one size, dark on one light ground."""
