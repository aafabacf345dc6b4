"""What a layout is. Sizes are in mm, x to the right and y down from the plate's top left corner."""

from dataclasses import dataclass

Colour = tuple[int, int, int]
"""Blue, green, red, 0..255."""

WIDTH = 520.0
HEIGHT = 112.0

WHITE: Colour = (236, 236, 234)
BLACK: Colour = (28, 26, 26)


@dataclass(frozen=True)
class Slot:
    """Where one character stands: centre x, height and baseline, mm."""

    x: float
    height: float
    baseline: float


@dataclass(frozen=True)
class PlateLayout:
    """The front of a one-line plate of 520 x 112 mm."""

    slots: tuple[Slot, ...]
    """Of the text's characters, in order."""
    ground: Colour
    ink: Colour
    divider: float | None = None
    """Centre x of a line before the last part."""
    last_ground: Colour | None = None
    """Ground of the field behind that line on most plates, where it is another."""
    country: str = ""
    """Small letters under the last part."""
    flag: tuple[Colour, ...] = ()
    """Its stripes from the top, beside those letters; without it they stand alone, centred."""
    can_shuffle: bool = False
    """Whether symbols may change places in a photo of it: cells of about one size, dark on one light ground."""
