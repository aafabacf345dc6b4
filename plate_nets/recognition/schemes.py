"""Plates of several schemes: which readers to use, and which scheme a plate belongs to."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from plate_nets.common.errors import InputError, SchemeError
from plate_nets.common.latin import is_latin
from plate_nets.contract import SCRIPTS, reader_of
from plate_nets.countries import PlateScheme, group, joined
from plate_nets.countries.designs import classes_of
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.recognition.appearance import Appearance
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder, unsure
from plate_nets.types import Lines, Logits, Reading


@dataclass(frozen=True)
class ReaderUse:
    """A reader that schemes need: its number of classes, and the designs of their plates as classes of CountryNet."""

    classes: int
    designs: Sequence[int]


class SchemeDecoder:
    """Reads plates of several schemes; the evidence decides between them.

    Countries with the same reader share one search, so the text of one country competes with those of the others, and
    many cost little more than one. The most certain text of all searches wins. If schemes give the same text, the plate
    belongs to the first in the list. If the appearance of the plate is known, it influences the choice, see
    `recognition.appearance`. The confidence of a text is that of its least certain character, see `Reading`.

    ``schemes``: the schemes that callers can choose from; all are read by default.
    """

    def __init__(self, schemes: Sequence[PlateScheme], settings: DecodingSettings = DecodingSettings()) -> None:
        if not schemes:
            raise SchemeError("schemes: expected at least one, got none")
        self._known = {scheme.name: scheme for scheme in schemes}
        if len(self._known) != len(schemes):
            names = ", ".join(scheme.name for scheme in schemes)
            raise SchemeError(f"schemes: expected every name once, got {names}")
        self.schemes = tuple(schemes)
        self.settings = settings
        self._searches: dict[tuple[str, ...], Sequence[PlateDecoder]] = {}
        self._readers: dict[tuple[str, ...], Mapping[str, ReaderUse]] = {}

    def choose(self, names: str) -> tuple[PlateScheme, ...]:
        """Comma-separated names of schemes, or of groups of schemes -> the schemes; all if the text is empty.

        Raises:
            InputError: a scheme that is not read here; the message names those that are.
        """
        if not names:
            return self.schemes
        chosen = tuple(dict.fromkeys(scheme for name in names.split(",") for scheme in self._named(name.strip())))
        if unknown := [name for name in chosen if name not in self._known]:
            raise InputError(
                f"scheme: expected {' or '.join(self._known)}, got {', '.join(map(repr, unknown))}; a server that "
                f"reads them starts with --scheme {','.join([*self._known, *unknown])}"
            )
        return tuple(self._known[name] for name in chosen)

    def _named(self, name: str) -> tuple[str, ...]:
        """The name of a scheme or of a group -> the names of its schemes; an unknown name stands for itself."""
        return (name,) if name in self._known else tuple(scheme.name for scheme in group(name)) or (name,)

    def with_sure(self, sure: float) -> "SchemeDecoder":
        """The same decoder with another minimum confidence of a text, between 0 and 1."""
        other = copy(self)
        other.settings = replace(self.settings, sure=sure)
        other._searches = {}
        return other

    def candidates(
        self,
        name: str,
        logits: Logits,
        lines: Lines,
        schemes: Sequence[PlateScheme],
        appearances: Sequence[Appearance] | None,
    ) -> list[list[Reading]]:
        """Logits (N, C, 18) of a reader -> of each of N plates the reading of each search, for `best_of`."""
        searches = self._searches_of(tuple(schemes), name)
        looks = searches[0].look(logits)  # which the searches of one reader share
        return [list(row) for row in zip(*(each.read(looks, lines, appearances) for each in searches), strict=True)]

    def best_of(
        self, readings: Sequence[Reading], lines: int, schemes: Sequence[PlateScheme], appearance: Appearance | None
    ) -> Reading:
        """Candidates for the reading of a plate with this number of lines -> the best, see `best_of`."""
        if len(schemes) == 1:
            return readings[0]
        return best_of(readings, [scheme.by_lines[lines] for scheme in schemes], appearance)

    def readers(self, schemes: Sequence[PlateScheme]) -> Mapping[str, ReaderUse]:
        names = tuple(scheme.name for scheme in schemes)
        if names not in self._readers:
            together: dict[str, list[PlateScheme]] = {}
            for scheme in schemes:
                together.setdefault(reader_of(scheme).name, []).append(scheme)
            self._readers[names] = {name: ReaderUse(own[0].classes, classes_of(own)) for name, own in together.items()}
        return self._readers[names]

    def turns(self, schemes: Sequence[PlateScheme], appearance: Appearance | None) -> list[str]:
        """The readers of schemes that may read a plate of this appearance, those of the most probable designs first."""
        readers = self.readers(schemes)
        if appearance is None or len(readers) == 1:
            return list(readers)
        possible = [name for name, use in readers.items() if appearance.possible(use.designs)] or list(readers)
        return sorted(possible, key=lambda name: -appearance.most_favour(readers[name].designs))

    def may_win(
        self, name: str, reading: Reading, schemes: Sequence[PlateScheme], appearance: Appearance | None
    ) -> bool:
        """Whether this reader's text of a plate could win against a reading by another reader."""
        if appearance is None or not reading.text or reading.confidence < self.settings.again_below:
            return True
        own = [scheme for scheme in schemes if scheme.name in reading.schemes]
        return _likely(reading, own, appearance) < appearance.most_favour(self.readers(schemes)[name].designs)

    def reader_of(self, reading: Reading, schemes: Sequence[PlateScheme]) -> str:
        return next(reader_of(scheme).name for scheme in schemes if scheme.name == reading.scheme)

    def _searches_of(self, schemes: tuple[PlateScheme, ...], name: str) -> Sequence[PlateDecoder]:
        """One decoder for all countries of a reader, and one for each of its schemes without a country."""
        key = (name, *(scheme.name for scheme in schemes))
        if key not in self._searches:
            together: dict[str, list[PlateScheme]] = {}
            for scheme in schemes:
                if reader_of(scheme).name == name:
                    together.setdefault("" if scheme.country else scheme.name, []).append(scheme)
            self._searches[key] = [PlateDecoder(joined(members), self.settings) for members in together.values()]
        return self._searches[key]

    def decode_looks(
        self,
        name: str,
        logits: Logits,
        lines: int,
        schemes: Sequence[PlateScheme],
        appearance: Appearance | None,
    ) -> Reading:
        """The logits (V, C, 18) of V looks of a reader at a plate -> its reading; see `PlateDecoder.read_together`."""
        searches = self._searches_of(tuple(schemes), name)
        looks = searches[0].look(logits)
        found = [each.read_together(looks, lines, appearance) for each in searches]
        return self.best_of(found, lines, schemes, appearance)

    def is_unsure(self, reading: Reading, height: float) -> bool:
        """Whether a reading of a plate with lines of this height, px, may become certain by a closer look."""
        settings = self.settings
        low = reading.confidence < settings.again_below or height < settings.again_under
        return low and reading.confidence >= settings.again_from

    def is_unread(self, reading: Reading, height: float) -> bool:
        """Whether a plate of this height, px, has no text yet and is high enough to be read from another crop."""
        settings = self.settings
        return settings.again_below > 0 and not reading.text and height >= settings.least_height


def best_of(
    readings: Sequence[Reading], chosen: Sequence[PlateScheme], appearance: Appearance | None = None
) -> Reading:
    """The best of the readings that searches returned for one plate, with all schemes that give its text.

    Args:
        readings: one per search.
        chosen: the schemes that were read, in the caller's order.
        appearance: the appearance of the plate, which influences the choice.
    """
    if appearance is not None:
        readings = [
            unsure(reading) if reading.text and appearance.contradicts(reading, chosen) else reading
            for reading in readings
        ]
    candidates = [reading for reading in readings if reading.text] or _unread(readings, chosen)
    possible = _schemes_of(reading for reading in candidates if reading.text)

    owners = [scheme for scheme in chosen if scheme.name in possible]
    best = max(candidates, key=lambda reading: _likely(reading, owners, appearance))  # the first of equals
    if not best.text:
        return best
    found = _schemes_of(reading for reading in candidates if reading.text == best.text)
    owners = [scheme for scheme in chosen if scheme.name in found]
    names = tuple(scheme.name for scheme in owners)
    return replace(best, scheme=names[0], schemes=names, format=owners[0].format_names(best.text))


def _unread(readings: Sequence[Reading], chosen: Sequence[PlateScheme]) -> Sequence[Reading]:
    """Readings without a text -> those to choose from.

    They are those of a reader of other scripts, if another reader sees an unknown sign where this one sees one that it
    knows; otherwise those of the others.
    """
    scripts = {scheme.name for scheme in chosen if scheme.trained_as == SCRIPTS}
    own = [reading for reading in readings if reading.scheme in scripts]
    others = [reading for reading in readings if reading.scheme not in scripts]
    if any(UNKNOWN in reading.best for reading in others):
        return [reading for reading in own if not is_latin(reading.best)] or others
    return others or own


def _likely(reading: Reading, schemes: Sequence[PlateScheme], appearance: Appearance | None) -> float:
    """The confidence of a reading, lowered if it disagrees with the appearance of the plate; of its best scheme."""
    if appearance is None or not reading.text:
        return reading.confidence
    return reading.confidence * max(appearance.favour(scheme, reading.text) for scheme in schemes)


def _schemes_of(readings: Iterable[Reading]) -> set[str]:
    return {name for reading in readings for name in reading.schemes or (reading.scheme,)}


def evidence_of(readings: Sequence[Reading], logits: Mapping[str, Logits], schemes: Sequence[PlateScheme]) -> Logits:
    """N readings and logits (N, C, 18) by the reader's name -> the logits (N, C, 18) that each reading is based on.

    C is the largest number of classes of the readers of these plates; the rows of others are padded with their lowest
    value.

    ``schemes``: those that were read.
    """
    if len(logits) == 1:
        return next(iter(logits.values()))
    readers = {scheme.name: reader_of(scheme).name for scheme in schemes}
    return stacked([logits[readers[reading.scheme]][place] for place, reading in enumerate(readings)])


def stacked(rows: Sequence[Logits]) -> Logits:
    """The logits (C, 18) of plates -> (N, C, 18) with the largest C; the others are padded with their lowest value."""
    most = max(map(len, rows))
    return np.stack([np.pad(row, ((0, most - len(row)), (0, 0)), constant_values=row.min()) for row in rows])
