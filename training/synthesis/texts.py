"""What plates say: a kind of plate and a text of it, drawn so that every symbol and region code is met."""

from collections.abc import Sequence

import numpy as np

from plate_nets.plates.alphabet import SYMBOLS
from training.synthesis.errors import unknown

DIGITS = SYMBOLS[:10]
LETTERS = SYMBOLS[10:]

KINDS: dict[str, float] = {
    "private": 0.70,
    "taxi": 0.07,
    "trailer": 0.07,
    "military": 0.06,
    "police": 0.05,
    "transit": 0.05,
}
"""Share of each kind among the samples. On the road nearly all plates are private; the others need practice too."""

NUMBERS: dict[str, str] = {
    "private": "A000AA",
    "taxi": "AA000",
    "trailer": "AA0000",
    "military": "0000AA",
    "police": "A0000",
    "transit": "AA000A",
}
"""The pattern before the region code: `A` a letter, `0` a digit."""

LONG_REGION: dict[str, float] = {
    "private": 0.42,
    "taxi": 0.4,
    "trailer": 0.25,
    "military": 0.0,
    "police": 0.1,
    "transit": 0.15,
}
"""Share of region codes of three digits."""

ISSUED_SHORT: tuple[str, ...] = tuple(f"{code:02d}" for code in range(1, 100))
_LONG_CODES = """
    101 102 103 105 109 111 113 116 118 121 122 123 124 125 126 128 130 131 134 136 138 139 142 147 150 152 154 155
    156 158 159 161 163 164 169 172 173 174 177 178 180 181 184 185 186 188 190 193 196 197 198 199 224 250 252 254
    277 299 323 550 702 716 725 750 754 761 763 774 777 790 797 799 977
"""
ISSUED_LONG: tuple[str, ...] = tuple(_LONG_CODES.split())
"""Region codes in use, of two and of three digits."""

REPEATED_SHORT = ("11", "22", "33", "44", "55", "66", "77", "88", "99")
REPEATED_LONG = ("777", "177", "199", "111", "799", "977", "277", "299", "116", "122", "155", "188", "550", "774")
"""Codes with equal neighbours: CTC needs a blank between them, so they want more practice."""


def sample_kind(rng: np.random.Generator) -> str:
    """A kind of plate, by `KINDS`."""
    draw = rng.random()
    for kind, share in KINDS.items():
        draw -= share
        if draw < 0:
            return kind
    return "private"


def sample_text(rng: np.random.Generator, kind: str | None = None) -> tuple[str, str]:
    """A kind of plate (drawn unless given) and a text of it: ("private", "B911TO150").

    Raises:
        InputError: unknown kind.
    """
    kind = sample_kind(rng) if kind is None else kind
    if kind not in NUMBERS:
        raise unknown("texts.sample_text", kind, NUMBERS)
    number = _number(NUMBERS[kind], rng)
    return kind, number + _region(rng, long=rng.random() < LONG_REGION[kind])


def _number(pattern: str, rng: np.random.Generator) -> str:
    while True:
        digits = rng.integers(0, 10, len(pattern))
        letters = rng.integers(0, len(LETTERS), len(pattern))
        if rng.random() < 0.06:  # equal digits, as on vanity plates
            digits[:] = digits[0]
        if any(digits[i] for i, symbol in enumerate(pattern) if symbol == "0"):  # a number of zeros is not issued
            return "".join(
                LETTERS[letters[i]] if symbol == "A" else DIGITS[digits[i]] for i, symbol in enumerate(pattern)
            )


def _region(rng: np.random.Generator, *, long: bool) -> str:
    draw = rng.random()
    if draw < 0.2:
        return _one_of(REPEATED_LONG if long else REPEATED_SHORT, rng)
    if draw < 0.75:
        return _one_of(ISSUED_LONG if long else ISSUED_SHORT, rng)
    return str(rng.integers(100, 1000)) if long else f"{rng.integers(1, 100):02d}"


def _one_of(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
