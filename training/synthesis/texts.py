"""Draws texts for plates: a format of a scheme and a text that fits it, so that every symbol and code occurs.

The scheme says how often each occurs (`plates.SynthesisTexts`).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme
from plate_nets.countries.synthesis import Codes

REPEATED_SHARE, ISSUED_SHARE = 0.2, 0.55
"""For parts with codes: the share of codes with equal neighbours, and of codes in use; the rest is any code."""
VANITY_SHARE = 0.06
"""For parts without codes: the share whose digits are all equal, as on vanity plates."""


def sample_text(scheme: PlateScheme, rng: np.random.Generator, kind: str | None = None) -> tuple[str, str]:
    """Draw a format's name, unless it is given, and a text that fits it: ("private", "B911TO150").

    Raises:
        InputError: unknown format.
    """
    formats = {each.name: each for each in scheme.formats}
    if kind is None:
        kind = by_share(scheme.synthesis.shares, scheme.formats[0].name, rng)
    if kind not in formats:
        raise InputError(f"texts.sample_text: unknown {kind!r}; expected one of {' '.join(formats)}")
    text = ""
    for part in formats[kind].parts:
        shares = {pattern: scheme.synthesis.ways[kind][pattern] for pattern in part[1:]}
        if part[0] in scheme.synthesis.codes:
            text += _code(scheme, by_share(shares, part[0], rng), rng)
        else:
            text += _number(scheme, by_share(shares, part[0], rng) if shares else part[0], rng)
    return kind, text


def by_share(shares: Mapping[str, float], rest: str, rng: np.random.Generator) -> str:
    """Draw a name by its share; ``rest`` has the remaining share."""
    draw = rng.random()
    for name, share in shares.items():
        draw -= share
        if draw < 0:
            return name
    return rest


def _number(scheme: PlateScheme, pattern: str, rng: np.random.Generator) -> str:
    signs = {sign: symbols for sign, symbols in scheme.signs.items() if sign in pattern}
    while True:
        drawn = {sign: rng.integers(0, len(symbols), len(pattern)) for sign, symbols in signs.items()}
        if rng.random() < VANITY_SHARE:
            for sign, symbols in signs.items():
                if symbols.isdigit():
                    drawn[sign][:] = drawn[sign][0]
        text = "".join(signs[sign][drawn[sign][place]] for place, sign in enumerate(pattern))
        if scheme.is_issued(text):
            return text


def _code(scheme: PlateScheme, pattern: str, rng: np.random.Generator) -> str:
    codes = scheme.synthesis.codes.get(pattern, Codes((), ()))
    draw = rng.random()
    if draw < REPEATED_SHARE and codes.repeated:
        return _one_of(codes.repeated, rng)
    issued = codes.issued if draw < REPEATED_SHARE + ISSUED_SHARE else ()
    return _one_of(issued or _all(scheme, pattern), rng)


_all = lru_cache(PlateScheme.texts_of)


def _one_of(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]
