"""What the plates of a country say, as one value: alphabet, formats, lines. `russia.toml` is the first.

A scheme is handed to whatever needs one: decoder, network, contract, synthesis, training and evaluation.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from plate_nets.errors import SchemeError
from plate_nets.plates.drawing import PlateDrawing

MOST_WORK = 500_000
"""Looks at a symbol of a pattern, for the automaton of all formats: half a second; Russia's takes 4,000."""


@dataclass(frozen=True)
class PlateFormat:
    """One type of plate.

    ``parts``: its parts in order, each with the patterns that it may have: (("A000AA",), ("00", "100")).
    ``first_line``: how many of them stand on the first line of two; None: there is but one line. ``design``: where the
    formats of the country look different, what tells them apart, see `plates.designs`.
    """

    name: str
    parts: tuple[tuple[str, ...], ...]
    first_line: int | None = None
    design: str = ""

    @property
    def lines(self) -> int:
        """1 or 2."""
        return 1 if self.first_line is None else 2

    @property
    def parts_of_lines(self) -> tuple[int, ...]:
        """How many parts each line has."""
        first = len(self.parts) if self.first_line is None else self.first_line
        return (first, len(self.parts) - first)[: self.lines]

    @property
    def patterns(self) -> tuple[tuple[str, ...], ...]:
        """A pattern of each part, in all combinations: (("A000AA", "00"), ("A000AA", "100"))."""
        return tuple(product(*self.parts))


@dataclass(frozen=True)
class Fit:
    """How a text fits a format: its parts and their patterns, ("B911TO", "150") and ("A000AA", "100")."""

    format: PlateFormat
    patterns: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Codes:
    """What a part is mostly drawn from in synthesis: codes with equal neighbours, and codes in use; empty: any."""

    repeated: tuple[str, ...]
    issued: tuple[str, ...]


@dataclass(frozen=True)
class SynthesisTexts:
    """How often rendered texts are of which kind, for training.

    ``shares``: of each format, by name, 0..1.
    ``ways``: by format and pattern, the share of a way to write a part, 0..1; the part's first pattern has the rest.
    ``codes``: by pattern of a part.
    ``drawings``: the designs of plates, by format; what has none is drawn in many ways.
    """

    shares: Mapping[str, float]
    ways: Mapping[str, Mapping[str, float]]
    codes: Mapping[str, Codes]
    drawings: Mapping[str, tuple[PlateDrawing, ...]] = field(default_factory=dict)


Rest = frozenset[tuple[str, ...]]
"""What may still come of a text: for each place the symbols that may stand there."""


class Successors:
    """What may come next, by state: (class of a symbol, the state that it leads to), ...; the empty text is at `start`.

    The prefixes of patterns as an automaton, of which only what is asked for is worked out. Threads may share one.
    """

    def __init__(self, patterns: Rest, alphabet: str) -> None:
        # A state is the set of what may still come (the derivative of the patterns by a prefix, Brzozowski 1964)
        self.start = patterns
        self._alphabet = alphabet
        self._known = {patterns: patterns}
        self._rows: dict[Rest, tuple[tuple[int, Rest], ...]] = {}

    def __getitem__(self, state: Rest) -> tuple[tuple[int, Rest], ...]:
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = tuple(self._row(state))
        return row

    def explore(self, most_work: int) -> None:
        """Works out every state.

        Raises:
            SchemeError: it would take more looks at a symbol of a pattern than ``most_work``.
        """
        work, waiting, seen = 0, [self.start], {self.start}
        for state in waiting:  # grows meanwhile
            work += len(state) * len(self._alphabet)
            if work > most_work:
                raise SchemeError(f"an automaton of more than {len(seen)} states")
            for _, after in self[state]:
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)

    def _row(self, state: Rest) -> Iterator[tuple[int, Rest]]:
        for index, symbol in enumerate(self._alphabet):
            after = frozenset(each[1:] for each in state if each and symbol in each[0])
            if after:
                yield index, self._known.setdefault(after, after)  # one object a state: its hash is worked out once


@dataclass(frozen=True)
class PlateScheme:
    """The plates of a country, or of several.

    ``alphabet``: the symbols in the order of LPRNet's classes. ``signs``: a sign of patterns -> the symbols it stands
    for. ``not_issued``: digits that no part has alone. ``lines``: of a plate, 1 or at most 2. The first format is the
    usual one. ``country``: ISO 3166 alpha-2 in lower case, or empty; ``region_is_last``: a plate's last part is the
    code of its region. ``reader``: the scheme whose reader reads these plates too; empty: it has one of its own.
    ``groups``: names under which it can be asked for with others. ``any_shape``: its plates of one line may be as short
    as those of two, see `quads.ONE_LINE_ASPECT`. ``members``: of several countries each one, see `joined`.
    """

    name: str
    alphabet: str
    signs: Mapping[str, str] = field(hash=False)
    formats: tuple[PlateFormat, ...]
    not_issued: frozenset[str]
    lines: int
    synthesis: SynthesisTexts = field(hash=False)
    country: str = ""
    region_is_last: bool = False
    reader: str = ""
    groups: tuple[str, ...] = ()
    any_shape: bool = False
    members: tuple["PlateScheme", ...] = ()

    @property
    def trained_as(self) -> str:
        """The name of the scheme that its reader is trained for."""
        return self.reader or self.name

    @property
    def blank(self) -> int:
        """The class of the CTC blank: the last."""
        return len(self.alphabet)

    @property
    def classes(self) -> int:
        """Classes of LPRNet: the symbols and the blank."""
        return len(self.alphabet) + 1

    @cached_property
    def index(self) -> Mapping[str, int]:
        """A symbol -> its class."""
        return {symbol: index for index, symbol in enumerate(self.alphabet)}

    @cached_property
    def by_lines(self) -> Mapping[int, "PlateScheme"]:
        """Lines of a plate -> the scheme with the formats of so many lines alone: there may be none.

        The same text can stand on one line and on two: the plate's shape tells the formats apart.
        """
        return {lines: self._only(lines) for lines in (1, 2)}

    @cached_property
    def by_shape(self) -> Mapping[int, "PlateScheme"]:
        """Lines that the shape of a plate shows -> the scheme with the formats that such a plate may have."""
        if self.members:
            return {lines: self._together([each.by_shape[lines] for each in self.members]) for lines in (1, 2)}
        return self.by_lines if not self.any_shape else {1: self.by_lines[1], 2: self}

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the alphabet, in hexadecimal: what binds weights to a scheme.

        Weights give a probability for each class, and the alphabet alone says what a class means. Formats are left
        out: they choose among readings, and a format more does not make weights unfit.
        """
        return hashlib.sha256(self.alphabet.encode()).hexdigest()

    @cached_property
    def successors(self) -> Successors:
        """The prefixes of all formats as an automaton, for a search that follows formats alone."""
        patterns = (
            tuple(each.signs[sign] for sign in "".join(pattern))
            for each in self.members or (self,)
            for plate_format in each.formats
            for pattern in plate_format.patterns
        )
        return Successors(frozenset(patterns), self.alphabet)

    def owners(self, text: str) -> tuple["PlateScheme", ...]:
        """The schemes whose plate a text is: this one or, of several countries, those whose formats it fits."""
        return tuple(each for each in self.members or (self,) if each.is_plate(text))

    def owner(self, text: str, named: str = "") -> "PlateScheme":
        """Of several countries the one whose plate a text is: the one so named where it fits, or the first to fit."""
        owners = self.owners(text) if self.members else (self,)
        return next((each for each in owners if each.name == named), next(iter(owners), self))

    def read_with(self, name: str) -> "PlateScheme":
        """Of several countries those that the reader of the one so named reads; all where they share a reader."""
        return self._read_with.get(name, self)

    @cached_property
    def _read_with(self) -> Mapping[str, "PlateScheme"]:
        readers: dict[str, list[PlateScheme]] = {}
        for each in self.members:
            readers.setdefault(each.trained_as, []).append(each)
        if len(readers) <= 1:
            return {}
        return {each.name: self._together(readers[each.trained_as]) for each in self.members}

    def fits(self, text: str) -> tuple[Fit, ...]:
        """How a text fits the formats, most often in no way or one."""
        if self.members:
            return tuple(fit for each in self.members for fit in each.fits(text))
        found = []
        for plate_format, patterns, expression in self._expressions:
            match = expression.fullmatch(text)
            if match and all(map(self.is_issued, match.groups())):
                found.append(Fit(plate_format, patterns, match.groups()))
        return tuple(found)

    def formats_of(self, text: str) -> tuple[PlateFormat, ...]:
        """The formats that a text fits."""
        return tuple(dict.fromkeys(fit.format for fit in self.fits(text)))

    def region_of(self, text: str) -> str | None:
        """The code of the region that a text names, where the plates of the country have one."""
        if self.members:
            return next((each.region_of(text) for each in self.owners(text)), None)
        fits = self.fits(text)
        return fits[0].parts[-1] if fits and self.region_is_last else None

    def format_names(self, text: str) -> str:
        """The names of the formats that a text fits: "private", "taxi or trailer", or empty."""
        return " or ".join(each.name for each in self.formats_of(text))

    def is_plate(self, text: str) -> bool:
        """Whether a text fits a format."""
        return bool(self.fits(text))

    def is_issued(self, part: str) -> bool:
        """Whether a part may have its digits, by `not_issued`."""
        return "".join(filter(str.isdigit, part)) not in self.not_issued

    def texts_of(self, pattern: str) -> tuple[str, ...]:
        """Every text that a part of this pattern may have."""
        return tuple(filter(self.is_issued, map("".join, product(*(self.signs[sign] for sign in pattern)))))

    def _only(self, lines: int) -> "PlateScheme":
        if self.members:
            return self._together([each.by_lines[lines] for each in self.members])
        formats = tuple(each for each in self.formats if each.lines == lines)
        shares = {each.name: self.synthesis.shares[each.name] for each in formats}
        total = sum(shares.values()) or 1.0
        synthesis = replace(self.synthesis, shares={name: share / total for name, share in shares.items()})
        return replace(self, formats=formats, synthesis=synthesis)

    def _together(self, members: Sequence["PlateScheme"]) -> "PlateScheme":
        return replace(joined(members), name=self.name)

    @cached_property
    def _expressions(self) -> tuple[tuple[PlateFormat, tuple[str, ...], re.Pattern[str]], ...]:
        def expression(pattern: str) -> str:
            return "(" + "".join(f"[{re.escape(self.signs[sign])}]" for sign in pattern) + ")"

        return tuple(
            (plate_format, patterns, re.compile("".join(map(expression, patterns))))
            for plate_format in self.formats
            for patterns in plate_format.patterns
        )


def joined(schemes: Sequence[PlateScheme]) -> PlateScheme:
    """Schemes -> one that has the formats of all: a text fits where it fits one of them.

    Of one scheme it is that scheme. Formats of several countries may have the same name. Where they have several
    readers its alphabet is that of all, and no reader's: see `PlateScheme.read_with`.
    """
    first, *rest = schemes
    if not rest:
        return first
    formats = tuple(each for scheme in schemes for each in scheme.formats)
    name = ",".join(scheme.name for scheme in schemes)
    lines = max(scheme.lines for scheme in schemes)
    return PlateScheme(
        name,
        "".join(dict.fromkeys(symbol for scheme in schemes for symbol in scheme.alphabet)),
        {},
        formats,
        frozenset(),
        lines,
        SynthesisTexts({}, {}, {}),
        reader=first.reader,
        members=tuple(schemes),
    )
