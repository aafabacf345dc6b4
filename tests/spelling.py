"""Handmade logits of LPRNet for a text, and what they are decoded to."""

from collections.abc import Mapping
from itertools import chain

import numpy as np

from plate_nets.countries import PlateScheme, main_scheme
from plate_nets.recognition.appearance import Appearance
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.types import STEPS, Logits, Reading

RUSSIA = main_scheme()


def spell(
    text: str,
    *,
    doubts: dict[int, tuple[str, float]] | None = None,
    peak: float = 9.0,
    scheme: PlateScheme = RUSSIA,
) -> Logits:
    """Logits (1, C, 18) of a text in the middle, one symbol at every second step.

    ``doubts``: place -> (other symbol, its logit).
    """
    logits = np.zeros((1, scheme.classes, STEPS), np.float32)
    logits[0, scheme.blank] = peak
    first = max(0, STEPS // 2 - len(text))
    for place, symbol in enumerate(text):
        step = first + 2 * place
        logits[0, scheme.blank, step] = 0
        logits[0, scheme.index[symbol], step] = peak
        other = (doubts or {}).get(place)
        if other:
            logits[0, scheme.index[other[0]], step] = other[1]
    return logits


def decoded(
    decoder: SchemeDecoder, logits: Mapping[str, Logits], lines: int = 1, look: Appearance | None = None
) -> Reading:
    """The logits (1, C, 18) of one plate, by the name of each reader that was asked -> its reading."""
    schemes, looks = decoder.schemes, [look] if look else None
    found = (decoder.candidates(name, own, np.array([lines]), schemes, looks) for name, own in logits.items())
    return decoder.best_of([*chain.from_iterable(rows[0] for rows in found)], lines, schemes, look)
