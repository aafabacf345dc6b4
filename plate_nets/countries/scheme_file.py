"""Reads a scheme from a TOML file. Its errors name the file, the key, what was expected and what was found."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from unicodedata import category

from plate_nets.common.errors import InputError, SchemeError
from plate_nets.common.intake.toml_file import read_toml
from plate_nets.common.spelling import normalize
from plate_nets.countries.automaton import MOST_WORK
from plate_nets.countries.drawing import read_drawings
from plate_nets.countries.scheme import PlateFormat, PlateScheme, joined
from plate_nets.countries.synthesis import Codes, SynthesisTexts
from plate_nets.countries.table import Table
from plate_nets.types import STEPS

DEFAULT_SCHEMES = "world"
"""What is read if nobody names schemes, as for `load_schemes`."""
MAIN_SCHEME = "russia"
"""The scheme that the main reader, `lprnet`, is trained for."""
_SUFFIX = ".toml"
_COUNTRY = re.compile("([a-z]{2})?")
_GROUP = re.compile("[a-z_]+")
_FOLDER = Path(__file__).parent / "schemes"
_MOST_SYMBOLS = 256
_MOST_PATTERNS = 1000
"""Of all formats together; a country has some dozens."""
_MOST_CODES = 100_000
"""Texts of a part whose codes are listed."""


def main_scheme() -> PlateScheme:
    """The scheme that the main reader, `lprnet`, is trained for."""
    return load_scheme(MAIN_SCHEME)


def default_schemes() -> tuple[PlateScheme, ...]:
    """The schemes that are read if nobody names others."""
    return load_schemes(DEFAULT_SCHEMES)


def default_plates() -> PlateScheme:
    """The plates of `default_schemes` as those of one scheme."""
    return joined(default_schemes())


def load_scheme(name: str, folder: Path = Path()) -> PlateScheme:
    """Load a scheme of the package by its name, or a TOML file by its path, relative to ``folder``.

    Raises:
        SchemeError: it does not exist, or the file does not follow the rules in `russia.toml`; the message names the
            file, the key, what was expected and what was found.
    """
    if not name.endswith(_SUFFIX):
        return _of_package(name)
    scheme = _read(folder / name)
    try:
        scheme.successors.explore(MOST_WORK)
    except SchemeError as error:
        expected = "fewer patterns, or signs that share fewer symbols"
        raise SchemeError(f"{folder / name}: formats: expected {expected}, got {error}") from error
    return scheme


@cache
def _of_package(name: str) -> PlateScheme:
    known = shipped()
    if name not in known:
        raise SchemeError(f"scheme: expected {' or '.join(known)}, or a file *{_SUFFIX}, got {name!r}")
    return _read(_FOLDER / f"{name}{_SUFFIX}")


def shipped() -> list[str]:
    """The names of the package's schemes."""
    return sorted(path.stem for path in _FOLDER.glob(f"*{_SUFFIX}"))


@cache
def _groups() -> dict[str, tuple[PlateScheme, ...]]:
    """The package's schemes by the names of their groups; those without a country come last."""
    found: dict[str, list[PlateScheme]] = {}
    for scheme in sorted(map(load_scheme, shipped()), key=lambda scheme: (not scheme.country, scheme.name)):
        for group in scheme.groups:
            found.setdefault(group, []).append(scheme)
    return {name: tuple(members) for name, members in found.items()}


def _read(path: Path) -> PlateScheme:
    try:
        values = read_toml(path)
    except InputError as error:
        raise SchemeError(str(error)) from error
    return _scheme(Table(path, "", values))


def load_schemes(names: str, folder: Path = Path()) -> tuple[PlateScheme, ...]:
    """Comma-separated names or files of schemes, and names of groups -> the schemes, each once, in order.

    Raises:
        SchemeError: as `load_scheme`.
    """
    found: dict[PlateScheme, None] = {}
    for name in map(str.strip, names.split(",")):
        # Groups need all files of the package to be read, so only other names are looked up there
        one = name.endswith(_SUFFIX) or (_FOLDER / f"{name}{_SUFFIX}").is_file()
        members = (load_scheme(name, folder),) if one else group(name)
        if not members:
            expected = f"{', '.join(shipped())}, a group ({', '.join(sorted(_groups()))}) or a file *{_SUFFIX}"
            raise SchemeError(f"scheme: expected {expected}, got {name!r}")
        found |= dict.fromkeys(members)
    return tuple(found)


def group(name: str) -> tuple[PlateScheme, ...]:
    """The package's schemes in a group, such as "europe"; none if there is no such group."""
    return _groups().get(name, ())


def own_reader(schemes: Iterable[PlateScheme]) -> PlateScheme:
    """The first of the schemes with its own reader, whose STN serves all; Russia's if there is none."""
    return next((scheme for scheme in schemes if not scheme.reader), main_scheme())


def _scheme(table: Table) -> PlateScheme:
    name = table.text("name")
    lines: int = table.take("lines", int, "1 or 2", lambda value: value in (1, 2))
    any_shape: bool = table.take("any_shape", bool, "true or false", default=lines == 1)
    reader: str = table.take(
        "reader", str, "the name of a scheme of the package", lambda text: not text.endswith(_SUFFIX), default=""
    )
    alphabet = _alphabet(table, name, reader)
    country = table.take(
        "country",
        str,
        "two lower-case letters, ISO 3166 alpha-2",
        lambda text: bool(_COUNTRY.fullmatch(text)),
        default="",
    )
    region_is_last = table.take("region_is_last", bool, "true or false", default=False)
    digits = "".join(filter(str.isdigit, alphabet))
    not_issued = table.texts(
        "not_issued", f"digits of {digits}", lambda text: text != "" and not set(text) - set(digits)
    )
    words = _texts_of_symbols(table.table("words", {}), alphabet)
    signs = _signs(table.table("signs"), alphabet, words)
    formats = _formats(table, signs, lines)
    groups = table.texts("groups", "names of groups", lambda group: bool(_GROUP.fullmatch(group)))
    letters_from_right = table.take("letters_from_right", bool, "true or false", default=False)
    synthesis = table.table("synthesis", {})
    table.done()
    texts, codes = _texts(synthesis, formats, alphabet)
    scheme = PlateScheme(
        name,
        alphabet,
        signs,
        formats,
        frozenset(not_issued),
        lines,
        texts,
        country,
        region_is_last,
        reader,
        groups,
        any_shape,
        words,
        letters_from_right,
    )
    return replace(scheme, synthesis=replace(texts, codes=_codes(codes, scheme)))


def _formats(table: Table, signs: Mapping[str, str], lines: int) -> tuple[PlateFormat, ...]:
    formats = tuple(_format(entry, signs, lines) for entry in table.tables("formats"))
    if not formats:
        raise table.error("formats", "at least one format", "none")
    table.distinct("formats", [plate_format.name for plate_format in formats], "every name once")
    patterns = sum(math.prod(map(len, plate_format.parts)) for plate_format in formats)
    if patterns > _MOST_PATTERNS:
        expected = f"at most {_MOST_PATTERNS} patterns, counting all combinations of parts"
        raise table.error("formats", expected, str(patterns))
    return formats


def _texts(table: Table, formats: Sequence[PlateFormat], alphabet: str) -> tuple[SynthesisTexts, Table]:
    """How texts of these formats are made, and the table of their codes, which only a whole scheme can check."""
    shares, ways, codes, drawings = (table.table(key, {}) for key in ("shares", "ways", "codes", "drawings"))
    twins = _texts_of_symbols(table.table("twins", {}), alphabet)
    table.done()
    drawn = {
        plate_format.name: read_drawings(drawings, plate_format.name, plate_format.parts_of_lines)
        for plate_format in formats
        if plate_format.name in drawings.values
    }
    drawings.done()
    return SynthesisTexts(_shares(shares, formats), _ways(ways, formats), {}, drawn, twins), codes


def _alphabet(table: Table, name: str, reader: str) -> str:
    """The alphabet in the file, or that of the scheme whose reader it uses; the two may not differ."""
    if not reader or reader == name:
        alphabet = table.text("alphabet")
        table.distinct("alphabet", alphabet, "every symbol once")
        if mark := next(filter(_joins, alphabet), ""):
            raise table.error("alphabet", "signs that stand alone", f"{mark!a}, which joins the one before")
        if len(alphabet) > _MOST_SYMBOLS:
            raise table.error("alphabet", f"at most {_MOST_SYMBOLS} symbols", str(len(alphabet)))
        return alphabet
    known = load_scheme(reader).alphabet
    return str(
        table.take("alphabet", str, f"{known}, as for the reader {reader}", lambda own: own == known, default=known)
    )


def _joins(sign: str) -> bool:
    """Whether a sign becomes part of the one before: a mark, or a vowel or a final consonant of Hangul."""
    return category(sign).startswith("M") or "\u1160" <= sign <= "\u11ff"


def _texts_of_symbols(table: Table, alphabet: str) -> dict[str, str]:
    texts = {symbol: table.text(symbol) for symbol in table.values}
    if unknown := sorted(texts.keys() - set(alphabet)):
        raise table.error(unknown[0], f"symbols of the alphabet {alphabet}", repr(unknown[0]))
    return texts


def _signs(table: Table, alphabet: str, words: Mapping[str, str]) -> dict[str, str]:
    signs = {}
    for sign in list(table.values):
        if len(sign) != 1 or sign in " |/":
            raise table.error(sign, "one character, except a space, | and /", repr(sign))
        signs[sign] = table.text(sign)
        table.distinct(sign, signs[sign], "every symbol once")
        if unknown := sorted(set(signs[sign]) - set(alphabet)):
            raise table.error(sign, f"symbols of the alphabet {alphabet}", repr("".join(unknown)))
        for text in (words.get(symbol, symbol) for symbol in signs[sign]):
            if (found := normalize(text)) != text:  # then no list and no search would find such a plate
                raise table.error(sign, "signs that lists and searches keep", f"{text!a}, which becomes {found!a}")
    return signs


def _format(table: Table, signs: Mapping[str, str], lines: int) -> PlateFormat:
    name, pattern = table.text("name"), table.text("pattern")
    design: str = table.take("design", str, "a name", default="")
    region: str = table.take("region", str, "the code of a region", default="")
    table.done()
    written = [line.split(" ") for line in pattern.split(" / ")]
    if len(written) > lines:
        raise table.error("pattern", f"at most {lines} line{'s' * (lines > 1)}, as in the key lines", repr(pattern))
    parts = tuple(tuple(part.split("|")) for line in written for part in line)
    if not all(alternative for part in parts for alternative in part):
        raise table.error("pattern", "parts separated by one space, and patterns by one |", repr(pattern))
    if unknown := sorted({sign for part in parts for alternative in part for sign in alternative} - set(signs)):
        raise table.error("pattern", f"signs of {' '.join(signs)}", f"{''.join(unknown)!r} in {pattern!r}")
    if (longest := sum(max(map(len, part)) for part in parts)) > STEPS:
        raise table.error(
            "pattern", f"at most {STEPS} symbols, the number of LPRNet's steps", f"{longest} in {pattern!r}"
        )
    return PlateFormat(name, parts, len(written[0]) if len(written) > 1 else None, design, region)


def _shares(table: Table, formats: Collection[PlateFormat]) -> dict[str, float]:
    names = [plate_format.name for plate_format in formats]
    if not table.values:
        return dict.fromkeys(names, 1 / len(names))
    shares = {name: table.share(name) for name in names}
    table.done()
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise table.error("", "shares that add up to 1", f"{sum(shares.values()):g}")
    return shares


def _ways(table: Table, formats: Collection[PlateFormat]) -> dict[str, dict[str, float]]:
    ways = {}
    for plate_format in formats:
        rest = {pattern: 1 / len(part) for part in plate_format.parts for pattern in part[1:]}
        given = table.table(plate_format.name, {})
        ways[plate_format.name] = {pattern: given.share(pattern) for pattern in rest} if given.values else rest
        given.done()
        for part in plate_format.parts:
            if (total := sum(ways[plate_format.name][pattern] for pattern in part[1:])) > 1:
                raise table.error(plate_format.name, "shares that add up to at most 1", f"{total:g}")
    table.done()
    return ways


def _codes(table: Table, scheme: PlateScheme) -> dict[str, Codes]:
    known = {pattern for plate_format in scheme.formats for part in plate_format.parts for pattern in part}
    codes = {}
    for pattern in sorted(known & table.values.keys()):
        if (count := math.prod(len(scheme.signs[sign]) for sign in pattern)) > _MOST_CODES:
            raise table.error(pattern, f"a pattern of at most {_MOST_CODES} texts", str(count))
        lists, texts = table.table(pattern), frozenset(scheme.texts_of(pattern))
        repeated, issued = (
            lists.texts(key, f"texts of the pattern {pattern}", texts.__contains__) for key in ("repeated", "issued")
        )
        lists.done()
        codes[pattern] = Codes(repeated, issued)
    table.done()
    return codes
