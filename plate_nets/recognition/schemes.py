"""Plates of several schemes: which readers look at them, and whose plate each is."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import repeat

import numpy as np

from plate_nets.contract import reader_of
from plate_nets.errors import InputError, SchemeError
from plate_nets.plates import PlateScheme, group, joined
from plate_nets.recognition.appearance import Appearance
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.types import Lines, Logits, Reading


class SchemeDecoder:
    """Reads the plates of some schemes: the evidence decides between them.

    Countries with one reader are searched together: what another country would read speaks against a text, and many
    cost little more than one. Of what the searches find the surest is the plate's text; where schemes give the same
    text, the plate belongs to the one that was named first. What a plate looks like decides with its text where it is
    known, see `recognition.appearance`. A text is as sure as its least sure character, see `Reading`.

    ``schemes``: what can be asked for, and is where nobody asks.
    """

    def __init__(self, schemes: Sequence[PlateScheme], settings: DecodingSettings = DecodingSettings()) -> None:
        if not schemes:
            raise SchemeError("schemes: expected one at least, got none")
        self._known = {scheme.name: scheme for scheme in schemes}
        if len(self._known) != len(schemes):
            raise SchemeError(f"schemes: expected every name once, got {', '.join(each.name for each in schemes)}")
        self.schemes = tuple(schemes)
        self.settings = settings
        self._searches: dict[tuple[str, ...], list[PlateDecoder]] = {}

    def choose(self, names: str) -> tuple[PlateScheme, ...]:
        """What a caller asks for -> the schemes; all of them where the text is empty.

        ``names``: of schemes that are read here, or of groups of which all are, with a comma between.

        Raises:
            InputError: a scheme that is not read here; the message names those that are.
        """
        if not names:
            return self.schemes
        asked = tuple(dict.fromkeys(each for name in names.split(",") for each in self._named(name.strip())))
        if unknown := [name for name in asked if name not in self._known]:
            raise InputError(
                f"scheme: expected {' or '.join(self._known)}, got {', '.join(map(repr, unknown))}; a server that "
                f"reads them starts with --scheme {','.join([*self._known, *unknown])}"
            )
        return tuple(self._known[name] for name in asked)

    def _named(self, name: str) -> tuple[str, ...]:
        """The name of a scheme or a group -> the schemes that it stands for; what is neither stands for itself."""
        return (name,) if name in self._known else tuple(each.name for each in group(name)) or (name,)

    def asking(self, sure: float) -> "SchemeDecoder":
        """The same decoder, which asks for another least confidence of a text; between 0 and 1."""
        other = copy(self)
        other.settings = replace(self.settings, sure=sure)
        other._searches = {}
        return other

    def decode(
        self,
        logits: Mapping[str, Logits],
        lines: Lines | None = None,
        schemes: Sequence[PlateScheme] = (),
        looks: Sequence[Appearance] | None = None,
    ) -> list[Reading]:
        """Logits (N, C, 18) by the reader's name -> N readings in the same order; as `PlateDecoder.decode`.

        ``schemes``: of these, where not of all. ``looks``: of each plate, what it looks like.
        """
        asked = tuple(schemes or self.schemes)
        searches = self._searches_of(asked)
        each = [search.decode(logits[reader_of(search.scheme).name], lines, looks) for search in searches]
        if len(asked) == 1:
            return each[0]
        counts = np.ones(len(each[0]), np.intp) if lines is None else lines
        return [
            surest(readings, [scheme.by_lines[int(count)] for scheme in asked], look)
            for *readings, count, look in zip(*each, counts, looks or repeat(None, len(counts)), strict=True)
        ]

    def tell(
        self,
        readings: Sequence[Reading],
        looks: Sequence[Appearance],
        lines: Lines | None = None,
        schemes: Sequence[PlateScheme] = (),
    ) -> list[Reading]:
        """Readings of plates, and what these look like -> the same, which say of which country and colour they are."""
        asked = tuple(schemes or self.schemes)
        counts = np.ones(len(readings), np.intp) if lines is None else lines
        return [
            look.tell(reading, [scheme.by_lines[int(count)] for scheme in asked])
            for reading, look, count in zip(readings, looks, counts, strict=True)
        ]

    def _searches_of(self, schemes: tuple[PlateScheme, ...]) -> list[PlateDecoder]:
        """One decoder for the countries of each reader, and one for each scheme of no country, which fits any text."""
        names = tuple(scheme.name for scheme in schemes)
        if names not in self._searches:
            together: dict[tuple[str, str], list[PlateScheme]] = {}
            for scheme in schemes:
                together.setdefault((reader_of(scheme).name, "" if scheme.country else scheme.name), []).append(scheme)
            self._searches[names] = [PlateDecoder(joined(each), self.settings) for each in together.values()]
        return self._searches[names]

    def decode_looks(
        self,
        logits: Mapping[str, Logits],
        lines: int = 1,
        schemes: Sequence[PlateScheme] = (),
        look: Appearance | None = None,
    ) -> Reading:
        """The logits (V, C, 18) of V looks at one plate, by the reader's name -> its reading.

        As `PlateDecoder.decode_looks`; ``schemes`` and ``look`` as in `decode`.
        """
        asked = tuple(schemes or self.schemes)
        searches = self._searches_of(asked)
        each = [search.decode_looks(logits[reader_of(search.scheme).name], lines, look) for search in searches]
        return each[0] if len(asked) == 1 else surest(each, [scheme.by_lines[lines] for scheme in asked], look)

    def unsure(self, readings: Sequence[Reading], heights: Sequence[float]) -> list[int]:
        """Readings, and the heights of their lines, px -> the rows that are worth a second look."""
        settings = self.settings
        return [
            row
            for row, (reading, height) in enumerate(zip(readings, heights, strict=False))
            if reading.confidence >= settings.again_from
            and (reading.confidence < settings.again_below or height < settings.again_under)
        ]


def surest(readings: Sequence[Reading], asked: Sequence[PlateScheme], look: Appearance | None = None) -> Reading:
    """What searches found on one plate, and the schemes in the order in which they were named -> its reading.

    ``look``: what the plate looks like, which speaks for the texts of such plates.
    """
    told = [reading for reading in readings if reading.text] or readings
    possible = _schemes_of(reading for reading in told if reading.text)

    def likely(reading: Reading) -> float:
        if look is None or not reading.text:
            return reading.confidence
        return reading.confidence * max(
            look.favour(scheme, reading.text) for scheme in asked if scheme.name in possible
        )

    best = max(told, key=likely)  # of equals the first
    if not best.text:
        return best
    found = _schemes_of(reading for reading in told if reading.text == best.text)
    owners = [scheme for scheme in asked if scheme.name in found]
    names = tuple(scheme.name for scheme in owners)
    return replace(best, scheme=names[0], schemes=names, format=owners[0].format_names(best.text))


def _schemes_of(readings: Iterable[Reading]) -> set[str]:
    """The names of all schemes that readings are of."""
    return {name for reading in readings for name in reading.schemes or (reading.scheme,)}


def evidence_of(readings: Sequence[Reading], logits: Mapping[str, Logits], schemes: Sequence[PlateScheme]) -> Logits:
    """Readings and logits by the reader's name -> the logits (N, C, 18) that each reading rests on.

    C is that of the reader with the most classes; below the classes of others stands their lowest value.

    Args:
        readings: N of them.
        logits: (N, C, 18) by the reader's name.
        schemes: those that were read by.
    """
    if len(logits) == 1:
        return next(iter(logits.values()))
    readers = {scheme.name: reader_of(scheme).name for scheme in schemes}
    most = max(each.shape[1] for each in logits.values())
    rows = [logits[readers[reading.scheme]][place] for place, reading in enumerate(readings)]
    return np.stack([np.pad(row, ((0, most - len(row)), (0, 0)), constant_values=row.min()) for row in rows])
