"""The plates of a country as one value: alphabet, formats, lines. `russia.toml` is the first.

Everything that depends on the country takes a scheme: decoder, network, contract, synthesis, training, evaluation.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from typing import TypeVar

from plate_nets.common.errors import SchemeError
from plate_nets.countries.automaton import Successors
from plate_nets.countries.synthesis import SynthesisTexts

_REMEMBERED = 1024
"""For how many texts a scheme remembers the formats that they fit."""

T = TypeVar("T")

UNKNOWN = "?"
"""A class of a reader that stands for one or more signs in a row that it does not know or cannot see. No pattern may
contain it, so a text with it is never sure."""


@dataclass(frozen=True)
class PlateFormat:
    """One type of plate.

    ``parts``: its parts in order, each with its possible patterns: (("A000AA",), ("00", "100")). ``first_line``: how
    many of them are on the first of two lines; None: there is only one line. ``design``: a name that distinguishes
    formats of a country which look different, see `countries.designs`. ``region``: the code of the only region that
    issues this format, or empty.
    """

    name: str
    parts: tuple[tuple[str, ...], ...]
    first_line: int | None = None
    design: str = ""
    region: str = ""

    @property
    def lines(self) -> int:
        """1 or 2."""
        return 1 if self.first_line is None else 2

    @property
    def parts_of_lines(self) -> tuple[int, ...]:
        """The number of parts of each line."""
        first = len(self.parts) if self.first_line is None else self.first_line
        return (first, len(self.parts) - first)[: self.lines]

    @property
    def patterns(self) -> tuple[tuple[str, ...], ...]:
        """All combinations of the parts' patterns: (("A000AA", "00"), ("A000AA", "100"))."""
        return tuple(product(*self.parts))


@dataclass(frozen=True)
class Fit:
    """How a text fits a format of a scheme: its parts and their patterns, ("B911TO", "150") and ("A000AA", "100")."""

    scheme: "PlateScheme"
    format: PlateFormat
    patterns: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True)
class PlateScheme:
    """The plates of a country, or of several.

    ``alphabet``: the symbols in the order of LPRNet's classes. ``signs``: a sign of patterns -> its symbols.
    ``not_issued``: digits that no part consists of. ``lines``: the maximum number of lines of a plate, 1 or 2. The
    first format is the usual one. ``country``: ISO 3166 alpha-2 in lower case, or empty. ``region_is_last``: whether a
    plate's last part is the code of its region. ``reader``: the scheme whose reader also reads these plates; empty: its
    own. ``groups``: the names of groups of schemes that it belongs to. ``any_shape``: whether its plates of one line
    may be as short as those of two, see `quads.ONE_LINE_ASPECT`. ``words``: symbols that stand for a word of the text.
    ``letters_from_right``: whether a text has first the letters, from right to left as they stand on the plate, then
    the digits. ``members``: the schemes of several countries, see `joined`.
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
    words: Mapping[str, str] = field(default_factory=dict, hash=False)
    letters_from_right: bool = False
    members: tuple["PlateScheme", ...] = ()

    @property
    def trained_as(self) -> str:
        """The name of the scheme that its reader is trained for."""
        return self.reader or self.name

    @property
    def blank(self) -> int:
        """The class of the CTC blank: the last one."""
        return len(self.alphabet)

    @property
    def classes(self) -> int:
        """Classes of LPRNet: the symbols and the blank."""
        return len(self.alphabet) + 1

    @cached_property
    def index(self) -> Mapping[str, int]:
        """A symbol -> its class."""
        return {symbol: index for index, symbol in enumerate(self.alphabet)}

    def arranged(self, symbols: str, values: Sequence[T]) -> list[tuple[str, T]]:
        """The symbols of a plate from left to right, with a value each -> the characters of its text.

        See ``words`` and ``letters_from_right``.
        """
        if self.members:
            owner = next(iter(self.owners(symbols)), self.members[0])
            return owner.arranged(symbols, values)
        pairs = list(zip(symbols, values, strict=True))
        if self.letters_from_right:
            letters = [pair for pair in pairs if not pair[0].isdigit()]
            pairs = [*reversed(letters), *(pair for pair in pairs if pair[0].isdigit())]
        return [(character, value) for symbol, value in pairs for character in self.words.get(symbol, symbol)]

    def text_of(self, symbols: str) -> str:
        """The symbols of a plate from left to right -> its text."""
        return "".join(character for character, _ in self.arranged(symbols, symbols))

    def symbols_of(self, text: str) -> str:
        """A text -> the symbols of its plate from left to right; symbols in this order stay as they are."""
        if self.members:
            owner = next(iter(self.owners(text)), None)
            return owner.symbols_of(text) if owner else text
        for symbol, word in self.words.items():
            text = text.replace(word, symbol)
        if not self.letters_from_right or text[:1].isdigit():
            return text
        return "".join(filter(str.isdigit, text)) + "".join(each for each in reversed(text) if not each.isdigit())

    def spelled(self, text: str) -> str:
        """A text in any script -> as its reader spells it: signs that it does not know are one `UNKNOWN` per run.

        Raises:
            SchemeError: the reader has no class for unknown signs.
        """
        known = set(self.alphabet)
        if UNKNOWN not in known and not known.issuperset(text):
            raise SchemeError(f"text: expected symbols of {self.alphabet}, got {text!r}")
        runs = groupby(symbol if symbol in known else UNKNOWN for symbol in text)
        return "".join(UNKNOWN if symbol == UNKNOWN else symbol * len(list(run)) for symbol, run in runs)

    @cached_property
    def by_lines(self) -> Mapping[int, "PlateScheme"]:
        """The number of lines of a plate -> the scheme with only the formats of that many lines, possibly none.

        The same text may stand on one line and on two; the plate's shape distinguishes the formats.
        """
        return {lines: self._only(lines) for lines in (1, 2)}

    @property
    def fewest_lines(self) -> int:
        """1, or 2 if none of its plates has one line."""
        return min(plate_format.lines for plate_format in self.formats)

    @cached_property
    def by_shape(self) -> Mapping[int, "PlateScheme"]:
        """The number of lines by a plate's shape -> the scheme with the formats that such a plate may have."""
        if self.members:
            return {lines: self._together([member.by_shape[lines] for member in self.members]) for lines in (1, 2)}
        return self.by_lines if not self.any_shape else {1: self.by_lines[1], 2: self}

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the alphabet in hexadecimal, which ties weights to a scheme.

        Weights give a probability for each class, and only the alphabet defines the classes. Formats are not included:
        they choose between readings, and weights still suit a scheme with a new format.
        """
        return hashlib.sha256(self.alphabet.encode()).hexdigest()

    @cached_property
    def successors(self) -> Successors:
        """The prefixes of all formats as an automaton, for a search that only follows formats."""
        patterns = (
            tuple(frozenset(member.signs[sign]) for sign in "".join(pattern))
            for member in self.members or (self,)
            for plate_format in member.formats
            for pattern in plate_format.patterns
        )
        return Successors(frozenset(patterns), self.alphabet)

    def owners(self, text: str) -> tuple["PlateScheme", ...]:
        """The schemes that a plate with this text may belong to: of joined ones, those whose formats it fits."""
        return tuple({fit.scheme.name: fit.scheme for fit in self.fits(text)}.values())

    def owner(self, text: str, preferred: str = "") -> "PlateScheme":
        """The scheme of a plate with this text: of joined ones, ``preferred`` if it fits, or the first that fits."""
        owners = self.owners(text) if self.members else (self,)
        return next((owner for owner in owners if owner.name == preferred), next(iter(owners), self))

    def read_with(self, name: str) -> "PlateScheme":
        """Of joined schemes, those with the same reader as ``name``; all if they share one reader."""
        return self._read_with.get(name, self)

    @cached_property
    def _read_with(self) -> Mapping[str, "PlateScheme"]:
        readers: dict[str, list[PlateScheme]] = {}
        for member in self.members:
            readers.setdefault(member.trained_as, []).append(member)
        if len(readers) <= 1:
            return {}
        return {member.name: self._together(readers[member.trained_as]) for member in self.members}

    def fits(self, text: str) -> tuple[Fit, ...]:
        """How a text, or the symbols of its plate, fits the formats, usually in no or one way."""
        found = self._known_fits.get(text)
        if found is None:
            if len(self._known_fits) >= _REMEMBERED:
                self._known_fits.clear()
            found = self._known_fits[text] = tuple(self._find_fits(text))
        return found

    @cached_property
    def _known_fits(self) -> dict[str, tuple[Fit, ...]]:
        """Recent answers: decoders ask several times for each text that they consider."""
        return {}

    def _find_fits(self, text: str) -> Iterator[Fit]:
        if self.members:
            for member in self.members:
                yield from member._find_fits(text)
            return
        text = self.symbols_of(text)
        for plate_format, patterns, expression in self._expressions.get(len(text), ()):
            match = expression.fullmatch(text)
            if match and all(map(self.is_issued, match.groups())):
                yield Fit(self, plate_format, patterns, match.groups())

    def formats_of(self, text: str) -> tuple[PlateFormat, ...]:
        """The formats that a text fits."""
        return tuple(dict.fromkeys(fit.format for fit in self.fits(text)))

    def region_of(self, text: str) -> str | None:
        """The code of the region in a text, or of the only region that issues texts of its first format."""
        if self.members:
            return next((owner.region_of(text) for owner in self.owners(text)), None)
        fits = self.fits(text)
        if not fits:
            return None
        return fits[0].parts[-1] if self.region_is_last else fits[0].format.region or None

    def format_names(self, text: str) -> str:
        """The names of the formats that a text fits: "private", "taxi or trailer", or empty."""
        return " or ".join(plate_format.name for plate_format in self.formats_of(text))

    def is_plate(self, text: str) -> bool:
        """Whether a text fits a format."""
        return bool(self.fits(text))

    def is_telling(self, text: str) -> bool:
        """Whether a format that a text fits has a place for letters alone, or for digits alone."""
        return any(
            sign in fit.scheme.single_kinds for fit in self.fits(text) for pattern in fit.patterns for sign in pattern
        )

    @cached_property
    def single_kinds(self) -> frozenset[str]:
        """The signs of patterns that stand for letters alone, or for digits alone."""
        return frozenset(sign for sign, symbols in self.signs.items() if len({each.isdigit() for each in symbols}) == 1)

    def is_issued(self, part: str) -> bool:
        """Whether a part may have its digits, see `not_issued`."""
        return "".join(filter(str.isdigit, part)) not in self.not_issued

    def texts_of(self, pattern: str) -> tuple[str, ...]:
        """All texts of a part with this pattern."""
        return tuple(filter(self.is_issued, map("".join, product(*(self.signs[sign] for sign in pattern)))))

    def _only(self, lines: int) -> "PlateScheme":
        if self.members:
            return self._together([member.by_lines[lines] for member in self.members])
        formats = tuple(plate_format for plate_format in self.formats if plate_format.lines == lines)
        shares = {plate_format.name: self.synthesis.shares[plate_format.name] for plate_format in formats}
        total = sum(shares.values()) or 1.0
        synthesis = replace(self.synthesis, shares={name: share / total for name, share in shares.items()})
        return replace(self, formats=formats, synthesis=synthesis)

    def _together(self, members: Sequence["PlateScheme"]) -> "PlateScheme":
        return replace(joined(members), name=self.name)

    @cached_property
    def _expressions(self) -> Mapping[int, Sequence[tuple[PlateFormat, tuple[str, ...], re.Pattern[str]]]]:
        """The length of a text -> the formats and patterns of this length, each with an expression for its parts."""

        def expression(pattern: str) -> str:
            return "(" + "".join(f"[{re.escape(self.signs[sign])}]" for sign in pattern) + ")"

        found = defaultdict(list)
        for plate_format in self.formats:
            for patterns in plate_format.patterns:
                compiled = re.compile("".join(map(expression, patterns)))
                found[sum(map(len, patterns))].append((plate_format, patterns, compiled))
        return dict(found)


def joined(schemes: Sequence[PlateScheme]) -> PlateScheme:
    """Several schemes -> one with all their formats: a text fits if it fits one of them.

    A single scheme is returned unchanged. Formats of several countries may have the same name. If the schemes have
    several readers, the alphabet is that of all and of no single reader, see `PlateScheme.read_with`.
    """
    first, *rest = schemes
    if not rest:
        return first
    formats = tuple(plate_format for scheme in schemes for plate_format in scheme.formats)
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
