"""What a plate looks like beside what it says: its design and the colour of its ground, told by CountryNet.

Formats and design decide together whose plate it is: Romania's and Kazakhstan's B123ABC look different.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.plates import PlateScheme
from plate_nets.plates.designs import CLASSES, DESIGNS, GROUNDS, UNKNOWN, design_of
from plate_nets.types import Reading

Favour = Callable[[str], float]
"""A text -> how well the plate looks like one that says it, from `LEAST_FAVOUR` to 1."""

LEAST_FAVOUR = 0.1
_TRUST = 0.5
"""Power of a design's probability beside that of a text: the reader's say counts twice as much. A guess."""
_ELSEWHERE = 0.1
"""How probable the text of a country is on the plates of others, beside its own. A guess."""
_SURE = 0.5
"""A country that is less probable is not named."""


@dataclass(frozen=True)
class Appearance:
    """The probability of each of `DESIGNS` (K,) and of each of `GROUNDS` (G,)."""

    designs: NDArray[np.float64]
    grounds: NDArray[np.float64]

    def likeness(self, scheme: PlateScheme, text: str) -> float:
        """How probable the design is of a scheme's formats that a text fits, 0..1; 0 where it fits none.

        Of a country that the network does not know it is that of `UNKNOWN`, and no less than one of chance.
        """
        designs = {design_of(scheme, each) for each in scheme.formats_of(text)}
        return max((self._probability(design) for design in designs), default=0.0)

    def favour(self, scheme: PlateScheme, text: str) -> float:
        """What speaks for a text of a scheme, or of any of several that it joins: see `Favour`."""
        likeness = max(self.likeness(each, text) for each in scheme.members or (scheme,))
        return max(LEAST_FAVOUR, math.pow(likeness, _TRUST))

    def tell(self, reading: Reading, schemes: Sequence[PlateScheme]) -> Reading:
        """A reading by schemes -> the same with the colour of the ground and, where it has a text, the country.

        The schemes that give its text come in the order of their likeness. The text is as sure as it was.
        """
        ground = int(self.grounds.argmax())
        told = replace(
            reading,
            country=UNKNOWN,
            ground=GROUNDS[ground],
            ground_confidence=float(self.grounds[ground]),
        )
        names = reading.schemes or (reading.scheme,)
        own = [each for each in schemes if reading.text and each.country and each.name in names]
        if not own:
            return told
        likeness = {each.name: self.likeness(each, reading.text) for each in own}
        own.sort(key=lambda each: -likeness[each.name])  # of equals the one that was named first
        countries: defaultdict[str, float] = defaultdict(float)
        for each in own:
            countries[each.country] += likeness[each.name]
        country = max(countries, key=lambda each: countries[each])
        total = sum(likeness.values())
        confidence = countries[country] / (total + _ELSEWHERE * max(1 - total, 0.0))
        ranked = (*(each.name for each in own), *(name for name in names if name not in likeness))
        return replace(
            told,
            country=country if confidence >= _SURE else UNKNOWN,
            country_confidence=confidence,
            scheme=ranked[0],
            schemes=ranked if reading.schemes else (),
            format=own[0].format_names(reading.text),
        )

    def _probability(self, design: str) -> float:
        probability = float(self.designs[CLASSES[design]])
        return max(probability, 1 / len(DESIGNS)) if design == UNKNOWN else probability


def appearances(logits: NDArray[np.float32]) -> list[Appearance]:
    """Logits (N, K + G) of `contract.COUNTRY` -> what each of the N plates looks like."""
    designs, grounds = (_softmax(part) for part in np.split(logits.astype(np.float64), [len(DESIGNS)], axis=1))
    return [Appearance(*each) for each in zip(designs, grounds, strict=True)]


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)
