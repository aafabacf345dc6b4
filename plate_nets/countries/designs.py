"""The designs of plates as classes: one per country, or several if `PlateFormat.design` distinguishes its formats.

Also the colours of a plate's ground.
"""

from collections.abc import Iterable
from colorsys import rgb_to_hsv

from plate_nets.countries.drawing import Colour
from plate_nets.countries.scheme import PlateFormat, PlateScheme

UNKNOWN = "unknown"
"""The class of all other countries, and the result for a plate whose country is not certain."""

DESIGNS = (
    UNKNOWN, "am", "ar", "az", "be", "br", "br old", "by", "cz", "de", "ee", "es", "fi", "fr", "gb", "ge", "id", "in",
    "it", "kg", "kz", "lt", "lv", "md", "nl", "pl", "pt", "ro", "ru", "se", "tr", "ua", "us", "uz", "vn", "at", "au",
    "ba", "bg", "ca", "ch", "cl", "co", "dk", "ec", "gr", "hk", "hr", "hu", "ie", "il", "ke", "mo", "mx", "my", "ng",
    "no", "nz", "pe", "ph", "rs", "sg", "si", "sk", "tw", "za", "cn", "eg", "ir", "kr", "tn", "ae", "jp", "ma", "sa",
    "dz",
)  # fmt: skip
"""Countries by ISO 3166 alpha-2, in the order of the classes of `CountryNet`: its weights depend on it, so new ones are
last."""

GROUNDS = ("white", "yellow", "blue", "red", "black", "green")
"""In the order of the classes of `CountryNet`. Grey, silver and cream count as white."""

_HUES = {"red": 0.0, "yellow": 45 / 360, "green": 130 / 360, "blue": 215 / 360}
_PALE, _COLOURED = 0.25, 0.4
"""Up to the first saturation a ground is white, from the second it has a colour."""
_DARK = 0.25
"""Up to this value a ground is black."""

CLASSES = {design: index for index, design in enumerate(DESIGNS)}


def design_of(scheme: PlateScheme, plate_format: PlateFormat) -> str:
    """A format of a country -> its class; `UNKNOWN` for a country that `CountryNet` does not know."""
    design = f"{scheme.country} {plate_format.design}".rstrip()
    return design if design in CLASSES else UNKNOWN


def classes_of(schemes: Iterable[PlateScheme]) -> list[int]:
    """Schemes -> the classes of all designs of their plates, in order."""
    return sorted({CLASSES[design_of(scheme, each)] for scheme in schemes for each in scheme.formats})


def ground_of(colour: Colour) -> str | None:
    """A drawn colour -> its name in `GROUNDS`; None if it is between white and a colour.

    Dark colours are black and pale ones white; the others get the nearest hue.
    """
    blue, green, red = (channel / 255 for channel in colour)
    hue, saturation, value = rgb_to_hsv(red, green, blue)
    if value <= _DARK:
        return "black"
    if saturation <= _PALE:
        return "white"
    if saturation < _COLOURED:
        return None
    return min(_HUES, key=lambda name: abs((hue - _HUES[name] + 0.5) % 1 - 0.5))


def grounds_of(scheme: PlateScheme, text: str) -> set[str | None]:
    """A text of a scheme -> the grounds on which its formats are drawn, see `ground_of`; empty if none is drawn."""
    drawings = scheme.synthesis.drawings
    designs = [design for each in scheme.formats_of(text) for design in drawings.get(each.name, ())]
    return {ground_of(colour) for each in designs for colour in (each.ground, *(look.ground for look in each.looks))}
