"""Russian plates, GOST R 50577-2018: a number, the region code over RUS and the flag, on one line or on two.

The positions of private plates were compared with the mean of rectified real plates; the standard's own drawings place
single characters within a few mm of them. Two-line plates have the standard's sizes (290 x 170, 288 x 206, 190 x 145
mm); their characters are placed as in photos, because no drawing was available.
"""

from dataclasses import dataclass

from plate_nets.countries import PlateScheme
from plate_nets.countries.drawing import Colour
from plate_nets.countries.scheme import PlateFormat
from training.synthesis.layouts.layout import BLACK, WHITE, PlateLayout, Slot

BASELINE = 92.0
DIGIT, LETTER = 76.0, 58.0
REGION, REGION_BASELINE = 58.0, 69.0
COUNTRY = "RUS"

YELLOW: Colour = (30, 190, 245)
MILITARY: Colour = (34, 32, 32)
BLUE: Colour = (165, 85, 20)
RED: Colour = (35, 30, 175)
FLAG: tuple[Colour, ...] = ((235, 235, 235), (165, 75, 25), (35, 30, 190))


@dataclass(frozen=True)
class _TwoLines:
    """Sizes of a plate of two lines, mm: the first has digits, the second letters and, over RUS, the region code."""

    width: float
    height: float
    digit: float
    letter: float
    region: float
    country: float
    baselines: tuple[float, float, float]
    """Baselines of the first line, of the letters in the second, and of the region code."""


_SQUARE = _TwoLines(290, 170, digit=72, letter=56, region=42, country=15, baselines=(83, 157, 137))
_TRACTOR = _TwoLines(288, 206, digit=80, letter=70, region=56, country=18, baselines=(98, 190, 168))
_MOTORCYCLE = _TwoLines(190, 145, digit=56, letter=43, region=38, country=13, baselines=(68, 133, 117))


@dataclass(frozen=True)
class _Look:
    """What is specific to a format: colours, flag, and the centres of the number's characters if known.

    ``centres``: by the length of the region code; without them the characters have the standard's pitch. ``sizes``: of
    a plate of two lines.
    """

    ground: Colour = WHITE
    ink: Colour = BLACK
    flag: tuple[Colour, ...] = FLAG
    region_ground: Colour | None = None
    centres: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    other: tuple[Colour, Colour] | None = None
    sizes: _TwoLines | None = None


_LOOKS = {
    # Centres after the mean of real plates
    "private": _Look(centres=((57.5, 123.0, 179.0, 234.5, 298.5, 355.5), (48.0, 106.0, 163.0, 220.0, 273.0, 329.5))),
    "taxi": _Look(YELLOW),
    "trailer": _Look(other=(MILITARY, WHITE)),
    "military": _Look(MILITARY, WHITE, flag=()),
    "diplomatic": _Look(RED, WHITE, flag=()),
    "transit": _Look(region_ground=YELLOW),
    "export": _Look(region_ground=YELLOW),
    "police": _Look(BLUE, WHITE, flag=()),
    "police trailer": _Look(BLUE, WHITE, flag=()),
    "square": _Look(sizes=_SQUARE),
    "tractor": _Look(flag=(), other=(MILITARY, WHITE), sizes=_TRACTOR),
    "motorcycle": _Look(flag=(), other=(MILITARY, WHITE), sizes=_MOTORCYCLE),
    "police motorcycle": _Look(BLUE, WHITE, flag=(), sizes=_MOTORCYCLE),
}
"""By the name of the format."""


def layouts(scheme: PlateScheme) -> dict[tuple[str, tuple[str, ...]], PlateLayout]:
    """The scheme -> the layouts of those of its formats that have a look here."""
    return {
        (each.name, patterns): _layout(each, patterns, scheme)
        for each in scheme.formats
        for patterns in each.patterns
        if each.name in _LOOKS
    }


def _layout(plate_format: PlateFormat, patterns: tuple[str, ...], scheme: PlateScheme) -> PlateLayout:
    look = _LOOKS[plate_format.name]
    if look.sizes is not None:
        return _two_lines(look, look.sizes, patterns, scheme)
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
        look.other,
        divider,
        look.region_ground,
        _country(433.0 if look.flag else 452.0, 19.0, 99.0),
        look.flag,
        can_shuffle=look.centres is not None,
    )


def _two_lines(look: _Look, sizes: _TwoLines, patterns: tuple[str, ...], scheme: PlateScheme) -> PlateLayout:
    first, letters, region = patterns
    edge = 0.05 * sizes.width
    start = sizes.width * (0.5 if len(region) == 3 else 0.55)
    upper, lower, raised = sizes.baselines
    middle = (start + sizes.width - edge) / 2
    country_baseline = sizes.height - 0.05 * sizes.height
    flag_width = 1.8 * sizes.country
    return PlateLayout(
        tuple(
            Slot(x, sizes.digit if scheme.signs[sign].isdigit() else sizes.letter, upper)
            for x, sign in zip(_centres(len(first), edge, sizes.width - edge, 0.95 * sizes.digit), first, strict=True)
        )
        + _row(letters, edge, start, sizes.letter, lower)
        + _row(region, start, sizes.width - edge, sizes.region, raised),
        look.ground,
        look.ink,
        look.other,
        country=_country(middle - flag_width / 2 if look.flag else middle, sizes.country, country_baseline),
        flag=look.flag,
        flag_box=(
            middle + flag_width / 2,
            country_baseline - sizes.country,
            middle + 1.5 * flag_width,
            country_baseline,
        ),
        bolts=((0.1 * sizes.width, 0.5 * sizes.height), (0.9 * sizes.width, 0.5 * sizes.height)),
        width=sizes.width,
        height=sizes.height,
    )


def _row(pattern: str, left: float, right: float, height: float, baseline: float) -> tuple[Slot, ...]:
    return tuple(Slot(x, height, baseline) for x in _centres(len(pattern), left, right, 0.9 * height))


def _country(centre: float, height: float, baseline: float) -> tuple[tuple[str, Slot], ...]:
    places = (-1.03, 0.0, 1.0)
    return tuple((each, Slot(centre + x * height, height, baseline)) for each, x in zip(COUNTRY, places, strict=True))


def _centres(count: int, left: float, right: float, pitch: float = 56.3) -> tuple[float, ...]:
    """Characters of a row, centred between two lines at the standard's pitch, or closer if there is not enough room."""
    pitch = min(pitch, (right - left) / count)
    start = (left + right) / 2 - pitch * (count - 1) / 2
    return tuple(start + pitch * place for place in range(count))
