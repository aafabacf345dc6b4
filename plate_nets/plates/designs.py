"""How plates look, as classes: of a country one, or several where `PlateFormat.design` tells its formats apart.

And the colours that the ground of a plate has.
"""

from colorsys import rgb_to_hsv

from plate_nets.plates.drawing import Colour
from plate_nets.plates.scheme import PlateFormat, PlateScheme

UNKNOWN = "unknown"
"""The class of plates of any other country, and what is said of a plate whose country is not sure."""

DESIGNS = (
    UNKNOWN, "am", "ar", "az", "be", "br", "br old", "by", "cz", "de", "ee", "es", "fi", "fr", "gb", "ge", "id", "in",
    "it", "kg", "kz", "lt", "lv", "md", "nl", "pl", "pt", "ro", "ru", "se", "tr", "ua", "us", "uz", "vn",
)  # fmt: skip
"""In the order of the classes of `CountryNet`, which its weights are bound to: countries by ISO 3166 alpha-2."""

GROUNDS = ("white", "yellow", "blue", "red", "black", "green")
"""In the order of the classes of `CountryNet`. Grey, silver and cream count as white."""

_HUES = {"red": 0.0, "yellow": 45 / 360, "green": 130 / 360, "blue": 215 / 360}
_PALE, _COLOURED = 0.25, 0.4
"""Saturation up to which a ground is white, and from which it has a colour."""
_DARK = 0.25
"""Value up to which a ground is black."""

CLASSES = {design: index for index, design in enumerate(DESIGNS)}


def design_of(scheme: PlateScheme, plate_format: PlateFormat) -> str:
    """A format of a country -> its class; `UNKNOWN` of a country that `CountryNet` does not know."""
    design = f"{scheme.country} {plate_format.design}".rstrip()
    return design if design in CLASSES else UNKNOWN


def ground_of(colour: Colour) -> str | None:
    """A colour as it is drawn -> its name among `GROUNDS`; None where it is between white and a colour.

    By hue, saturation and value: dark ones are black, pale ones white, the others have the nearest hue.
    """
    blue, green, red = (each / 255 for each in colour)
    hue, saturation, value = rgb_to_hsv(red, green, blue)
    if value <= _DARK:
        return "black"
    if saturation <= _PALE:
        return "white"
    if saturation < _COLOURED:
        return None
    return min(_HUES, key=lambda name: abs((hue - _HUES[name] + 0.5) % 1 - 0.5))
