"""Which strings are Russian licence plates: the one-line types of GOST R 50577-2018 that the reader knows.

A format is a pattern of symbol classes: `A` stands for one of the twelve letters, `0` for a digit. The last two or
three digits are the region code.
"""

import re
from dataclasses import dataclass

from plate_nets.plates.alphabet import DIGITS, LETTERS

SCHEME = "russia"
"""The name of this alphabet with these formats."""


@dataclass(frozen=True)
class PlateFormat:
    """One type of plate: its name, the pattern before the region code, and how long that code may be."""

    name: str
    number: str
    regions: tuple[int, ...]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The whole patterns, one a length of the region code: ("A000AA00", "A000AA000")."""
        return tuple(self.number + "0" * digits for digits in self.regions)


FORMATS = (
    PlateFormat("private", "A000AA", (2, 3)),
    PlateFormat("taxi", "AA000", (2, 3)),
    PlateFormat("trailer", "AA0000", (2, 3)),
    PlateFormat("military", "0000AA", (2,)),
    PlateFormat("police", "A0000", (2, 3)),
    PlateFormat("transit", "AA000A", (2, 3)),
)
"""Types 1, 1B, 2, military, police and transit. `AA000000` is a taxi plate with a region of three digits or a trailer
plate with one of two: the string alone does not tell."""

PATTERNS = frozenset(pattern for plate_format in FORMATS for pattern in plate_format.patterns)


def pattern_of(text: str) -> str:
    """The classes of a text's symbols: "B911TO150" -> "A000AA000"; a symbol of neither class becomes "?"."""
    return "".join("A" if symbol in LETTERS else "0" if symbol in DIGITS else "?" for symbol in text)


def formats_of(text: str) -> tuple[PlateFormat, ...]:
    """The formats a text fits, most often none or one.

    Numbers of zeros alone are not issued, a region code is not `00`, and one of three digits does not start with 0.
    """
    pattern = pattern_of(text)
    return tuple(
        plate_format
        for plate_format in FORMATS
        for known, digits in zip(plate_format.patterns, plate_format.regions, strict=True)
        if known == pattern and _issued(text, digits)
    )


def format_names(text: str) -> str:
    """The names of the formats that a text fits: "private", "taxi or trailer", or empty."""
    return " or ".join(plate_format.name for plate_format in formats_of(text))


def is_plate(text: str) -> bool:
    """Whether a text fits a format."""
    return bool(formats_of(text))


def _issued(text: str, region_digits: int) -> bool:
    number, region = text[:-region_digits], text[-region_digits:]
    if not re.search("[1-9]", number):
        return False
    return region != "00" if region_digits == 2 else region[0] != "0"
