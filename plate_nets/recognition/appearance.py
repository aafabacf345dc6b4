"""The country and the ground colour of a plate, from its appearance and its text. CountryNet classifies the appearance.

The appearance also helps to choose a text: a plate of Romania and one of Kazakhstan may both read B123ABC, but look
different.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.latin import is_latin
from plate_nets.contract import SCRIPTS
from plate_nets.countries import PlateScheme
from plate_nets.countries.designs import CLASSES, DESIGNS, GROUNDS, UNKNOWN, design_of, grounds_of
from plate_nets.types import Reading

Favour = Callable[[str], float]
"""A text -> how well the appearance of the plate agrees with it, from `LEAST_FAVOUR` to 1."""

LEAST_FAVOUR = 0.1
_TRUST = 0.5
"""Exponent of a design's probability in the choice of a text, so that the reader counts twice as much. A guess."""
_IMPROBABLE = LEAST_FAVOUR ** (1 / _TRUST)
"""Designs that are less probable than this get the least favour. Plates of ru_train have at least 0.014 for Russia, and
those of ru_dev that are read 0.19, also grey, dark or tinted."""
_ELSEWHERE = 0.1
"""How often plates of other countries carry a text of this country's format, relative to its own. A guess. None of them
carries a text in another script."""
_SURE = 0.5
"""The minimum probability of a country for it to be named."""
_OTHER_SCRIPT = 0.4
"""From this probability of a design in another script on, a text in Latin letters is none of its plates."""
_DECIDED = 0.95
"""From this probability of a design on, the plate's text is one of that country: of 562 right texts of nine countries'
crops, none was of another country."""
_BLUE = 0.9
"""From this probability on, a plate is blue, and a text of countries that have no blue ones is none of it: of a Chinese
plate whose first sign is hidden, the rest may fit their formats. Of 2,000 right texts of 15 sets, none is lost."""
_COUNTRIES = {design.partition(" ")[0] for design in DESIGNS}


@dataclass(frozen=True)
class Appearance:
    """The probability of each of `DESIGNS` (K,) and of each of `GROUNDS` (G,), for one plate."""

    designs: NDArray[np.float64]
    grounds: NDArray[np.float64]

    def likeness(self, scheme: PlateScheme, text: str) -> float:
        """The probability that the plate has the design of one of the scheme's formats that fit the text; 0 if none
        fits.

        A country that the network does not know has the probability of `UNKNOWN`, but at least that of chance.
        """
        return max((self._probability(design_of(fit.scheme, fit.format)) for fit in scheme.fits(text)), default=0.0)

    def favour(self, scheme: PlateScheme, text: str) -> float:
        """How well the appearance agrees with a text of a scheme; for joined schemes, of the best one. See `Favour`."""
        return _favour(self.likeness(scheme, text))

    def most_favour(self, classes: Sequence[int]) -> float:
        """How well the appearance can agree with a text of these designs at best."""
        return _favour(max(self._probability(DESIGNS[index]) for index in classes))

    def possible(self, classes: Sequence[int]) -> bool:
        """Whether the plate may have one of these designs; that of `UNKNOWN` may be any that is not decided."""
        if self.decided:
            return CLASSES[self.decided] in classes
        return CLASSES[UNKNOWN] in classes or float(self.designs[classes].max()) >= _IMPROBABLE

    @property
    def decided(self) -> str:
        """The design that the plate certainly has, or empty."""
        return self._design(_DECIDED)

    def _design(self, least: float) -> str:
        """The most probable design, if it is at least this probable and that of a known country; otherwise empty."""
        design = int(self.designs.argmax())
        return DESIGNS[design] if design != CLASSES[UNKNOWN] and float(self.designs[design]) >= least else ""

    def contradicts(self, reading: Reading, schemes: Sequence[PlateScheme]) -> bool:
        """Whether a reading's text is none of a plate that looks like this one.

        The design may certainly be that of another country, so that a part is not read. What looks like a plate of
        another script has no text in Latin letters: its own sign is not read. A word or a number alone may stand on any
        sign: it is a text only on what looks like a plate of a country that has such texts.
        """
        if self._lacks_its_script(reading.text, schemes):
            return True
        names = reading.schemes or (reading.scheme,)
        owners = [scheme for scheme in schemes if scheme.name in names]
        if reading.text.isalpha() or reading.text.isdigit():
            return not any(self._looks_like(scheme, reading.text) for scheme in owners)
        if self._is_blue_unlike(reading.text, schemes):
            return True
        country = self.decided.partition(" ")[0]
        own = {scheme.country for scheme in owners} - {""}
        return country != "" and country not in own and own <= _COUNTRIES

    def _is_blue_unlike(self, text: str, schemes: Sequence[PlateScheme]) -> bool:
        """Whether the plate is blue, and a text fits formats of these schemes' countries, of which none is blue."""
        if float(self.grounds[GROUNDS.index("blue")]) < _BLUE:
            return False
        drawn = [grounds_of(scheme, text) for scheme in schemes if scheme.country and scheme.is_plate(text)]
        return bool(drawn) and all(each and each.isdisjoint((None, "blue")) for each in drawn)

    def _lacks_its_script(self, text: str, schemes: Sequence[PlateScheme]) -> bool:
        """Whether a text in Latin letters stands on what looks like a plate of a country with another script, and is
        none of that country's."""
        country = self._design(_OTHER_SCRIPT).partition(" ")[0]
        own = [scheme for scheme in schemes if country and scheme.country == country]
        scripts = any(scheme.trained_as == SCRIPTS for scheme in own)
        return scripts and is_latin(text) and not any(scheme.is_plate(text) for scheme in own)

    def _looks_like(self, scheme: PlateScheme, text: str) -> bool:
        """Whether a plate with this text of a scheme looks like this one.

        Of a country that the network does not know, only the ground can tell, and only if a format does.
        """
        if scheme.country in _COUNTRIES:
            return self.likeness(scheme, text) >= _SURE
        ground = int(self.grounds.argmax())
        drawn = grounds_of(scheme, text)
        other = float(self.grounds[ground]) >= _SURE and drawn and GROUNDS[ground] not in drawn
        return scheme.is_telling(text) and not other

    def describe(self, reading: Reading, schemes: Sequence[PlateScheme]) -> Reading:
        """Add the ground colour to a reading and, if it has a text, the country.

        The schemes that give the text are ordered by how well they agree with the appearance. The confidence of the
        text does not change.
        """
        ground = int(self.grounds.argmax())
        described = replace(
            reading,
            country=UNKNOWN,
            ground=GROUNDS[ground],
            ground_confidence=float(self.grounds[ground]),
        )
        names = reading.schemes or (reading.scheme,)
        matching = [scheme for scheme in schemes if reading.text and scheme.country and scheme.name in names]
        if not matching:
            return described
        likeness = {scheme.name: self.likeness(scheme, reading.text) for scheme in matching}
        matching.sort(key=lambda scheme: -likeness[scheme.name])  # stable: equals keep the order of `schemes`
        countries: defaultdict[str, float] = defaultdict(float)
        for scheme in matching:
            countries[scheme.country] += likeness[scheme.name]
        country = max(countries, key=lambda name: countries[name])
        total = sum(likeness.values())
        elsewhere = _ELSEWHERE if is_latin(reading.text) else 0.0
        confidence = countries[country] / (total + elsewhere * max(1 - total, 0.0))
        ranked = (*(scheme.name for scheme in matching), *(name for name in names if name not in likeness))
        return replace(
            described,
            country=country if confidence >= _SURE else UNKNOWN,
            country_confidence=confidence,
            scheme=ranked[0],
            schemes=ranked if reading.schemes else (),
            format=matching[0].format_names(reading.text),
        )

    def _probability(self, design: str) -> float:
        probability = float(self.designs[CLASSES[design]])
        return max(probability, 1 / len(DESIGNS)) if design == UNKNOWN else probability


def appearances(logits: NDArray[np.float32]) -> list[Appearance]:
    """Logits (N, K + G) of `contract.COUNTRY` -> the appearance of each of the N plates."""
    designs, grounds = (_softmax(part) for part in np.split(logits.astype(np.float64), [len(DESIGNS)], axis=1))
    return [Appearance(*probabilities) for probabilities in zip(designs, grounds, strict=True)]


def _favour(likeness: float) -> float:
    return max(LEAST_FAVOUR, math.pow(likeness, _TRUST))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)
