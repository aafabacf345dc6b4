"""Russian plates of one line, GOST R 50577-2018: a number, a line, the region code over RUS and the flag.

The positions were compared with the mean of rectified real plates; the standard's own drawings place single characters
within a few mm of them.
"""

from dataclasses import dataclass

from plate_nets.plates import PlateScheme
from training.synthesis.layouts.layout import BLACK, WHITE, Colour, PlateLayout, Slot

BASELINE = 92.0
DIGIT, LETTER = 76.0, 58.0
REGION, REGION_BASELINE = 58.0, 69.0

YELLOW: Colour = (30, 190, 245)
MILITARY: Colour = (34, 32, 32)
BLUE: Colour = (165, 85, 20)
FLAG: tuple[Colour, ...] = ((235, 235, 235), (165, 75, 25), (35, 30, 190))


@dataclass(frozen=True)
class _Look:
    """What is particular to a format: colours, flag, and the centres of the number's characters where they are known.

    ``centres``: by the length of the region code; without them the characters stand at the standard's pitch.
    """

    ground: Colour = WHITE
    ink: Colour = BLACK
    flag: tuple[Colour, ...] = FLAG
    region_ground: Colour | None = None
    centres: tuple[tuple[float, ...], tuple[float, ...]] | None = None


_LOOKS = {
    # Centres after the mean of real plates
    "private": _Look(
        centres=((57.5, 123.0, 179.0, 234.5, 298.5, 355.5), (48.0, 106.0, 163.0, 220.0, 273.0, 329.5)),
    ),
    "taxi": _Look(YELLOW),
    "trailer": _Look(),
    "military": _Look(MILITARY, WHITE, flag=()),
    "police": _Look(BLUE, WHITE, flag=()),
    "transit": _Look(region_ground=YELLOW),
}
"""By the name of the format."""


def layouts(scheme: PlateScheme) -> dict[tuple[str, tuple[str, ...]], PlateLayout]:
    """The scheme -> the layouts of those of its formats that have a look here."""
    return {
        (each.name, patterns): _layout(_LOOKS[each.name], patterns, scheme)
        for each in scheme.formats
        for patterns in each.patterns
        if each.name in _LOOKS
    }


def _layout(look: _Look, patterns: tuple[str, ...], scheme: PlateScheme) -> PlateLayout:
    number, region = patterns
    long = len(region) == 3
    divider = 364.5 if long else 394.0
    centres = look.centres[long] if look.centres else _centres(len(number), 14.0 if long else 22.0, divider)
    slots = tuple(
        Slot(x, DIGIT if scheme.signs[sign].isdigit() else LETTER, BASELINE)
        for x, sign in zip(centres, number, strict=True)
    )
    region_centres = (390.5, 434.5, 479.0) if long else (426.5, 472.0)
    return PlateLayout(
        slots + tuple(Slot(x, REGION, REGION_BASELINE) for x in region_centres),
        look.ground,
        look.ink,
        divider,
        look.region_ground,
        "RUS",
        look.flag,
        can_shuffle=look.centres is not None,
    )


def _centres(count: int, left: float, right: float, pitch: float = 56.3) -> tuple[float, ...]:
    """Characters of a number, centred between two lines at the standard's pitch."""
    start = (left + right) / 2 - pitch * (count - 1) / 2
    return tuple(start + pitch * place for place in range(count))
