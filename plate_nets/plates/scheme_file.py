"""A TOML file -> a scheme. The reading is strict: what is not understood is refused, by file, key, expected and got."""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from plate_nets.errors import SchemeError
from plate_nets.plates.scheme import Codes, PlateFormat, PlateScheme, SynthesisTexts
from plate_nets.types import STEPS

DEFAULT_SCHEME = "russia"
_SUFFIX = ".toml"
_COUNTRY = re.compile("([a-z]{2})?")
_FOLDER = Path(__file__).parent


@cache
def default_scheme() -> PlateScheme:
    """The scheme that is read where none is named."""
    return load_scheme(DEFAULT_SCHEME)


def load_scheme(name: str, folder: Path = Path()) -> PlateScheme:
    """The name of a scheme that the package has, or the path of a TOML file, from ``folder`` on -> the scheme.

    Raises:
        SchemeError: there is none, or the file is not as `russia.toml` explains; it names file, key, expected and got.
    """
    if not name.endswith(_SUFFIX):
        known = sorted(path.stem for path in _FOLDER.glob(f"*{_SUFFIX}"))
        if name not in known:
            raise SchemeError(f"scheme: expected {' or '.join(known)}, or a file *{_SUFFIX}, got {name!r}")
        path = _FOLDER / f"{name}{_SUFFIX}"
    else:
        path = folder / name
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SchemeError(f"{path}: expected a file of a scheme, got {error.strerror}") from error
    except ValueError as error:
        raise SchemeError(f"{path}: expected TOML in UTF-8, got {error}") from error
    return _scheme(_Table(path, "", values))


def _scheme(table: "_Table") -> PlateScheme:
    name = table.text("name")
    lines: int = table.take("lines", int, "1 (plates of more lines are not read yet)", lambda value: value == 1)
    alphabet = table.text("alphabet")
    table.distinct("alphabet", alphabet, "every symbol once")
    country = table.take(
        "country", str, "two small letters, ISO 3166 alpha-2", lambda text: bool(_COUNTRY.fullmatch(text)), default=""
    )
    region_is_last = table.take("region_is_last", bool, "true or false", default=False)
    digits = "".join(filter(str.isdigit, alphabet))
    not_issued = table.texts(
        "not_issued", f"digits of {digits}", lambda text: text != "" and not set(text) - set(digits)
    )
    signs = _signs(table.table("signs"), alphabet)
    formats = tuple(_format(each, signs) for each in table.tables("formats"))
    if not formats:
        raise table.error("formats", "one format at least", "none")
    table.distinct("formats", [each.name for each in formats], "every name once")
    synthesis = table.table("synthesis", {})
    shares, ways, codes = (synthesis.table(key, {}) for key in ("shares", "ways", "codes"))
    synthesis.done()
    table.done()
    evenly = SynthesisTexts(_shares(shares, formats), _ways(ways, formats), {})
    scheme = PlateScheme(name, alphabet, signs, formats, frozenset(not_issued), lines, evenly, country, region_is_last)
    return replace(scheme, synthesis=replace(evenly, codes=_codes(codes, scheme)))


def _signs(table: "_Table", alphabet: str) -> dict[str, str]:
    signs = {}
    for sign in list(table.values):
        if len(sign) != 1 or sign in " |":
            raise table.error(sign, "one character that is no space and no |", repr(sign))
        signs[sign] = table.text(sign)
        table.distinct(sign, signs[sign], "every symbol once")
        if unknown := sorted(set(signs[sign]) - set(alphabet)):
            raise table.error(sign, f"symbols of the alphabet {alphabet}", repr("".join(unknown)))
    return signs


def _format(table: "_Table", signs: Mapping[str, str]) -> PlateFormat:
    name, pattern = table.text("name"), table.text("pattern")
    table.done()
    parts = tuple(tuple(part.split("|")) for part in pattern.split(" "))
    if not all(each for part in parts for each in part):
        raise table.error("pattern", "parts with one space between them and patterns with one |", repr(pattern))
    if unknown := sorted(set(pattern) - set(signs) - set(" |")):
        raise table.error("pattern", f"signs of {' '.join(signs)}", f"{''.join(unknown)!r} in {pattern!r}")
    if (longest := sum(max(map(len, part)) for part in parts)) > STEPS:
        raise table.error("pattern", f"at most {STEPS} symbols, the steps of LPRNet", f"{longest} in {pattern!r}")
    return PlateFormat(name, parts)


def _shares(table: "_Table", formats: Collection[PlateFormat]) -> dict[str, float]:
    names = [each.name for each in formats]
    if not table.values:
        return dict.fromkeys(names, 1 / len(names))
    shares = {name: table.share(name) for name in names}
    table.done()
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise table.error("", "shares that add up to 1", f"{sum(shares.values()):g}")
    return shares


def _ways(table: "_Table", formats: Collection[PlateFormat]) -> dict[str, dict[str, float]]:
    ways = {}
    for each in formats:
        rest = {pattern: 1 / len(part) for part in each.parts for pattern in part[1:]}
        given = table.table(each.name, {})
        ways[each.name] = {pattern: given.share(pattern) for pattern in rest} if given.values else rest
        given.done()
        for part in each.parts:
            if (total := sum(ways[each.name][pattern] for pattern in part[1:])) > 1:
                raise table.error(each.name, "shares of at most 1 together", f"{total:g}")
    table.done()
    return ways


def _codes(table: "_Table", scheme: PlateScheme) -> dict[str, Codes]:
    known = {pattern for each in scheme.formats for part in each.parts for pattern in part}
    codes = {}
    for pattern in sorted(known & table.values.keys()):
        lists, texts = table.table(pattern), scheme.texts_of(pattern)
        repeated, issued = (
            lists.texts(key, f"texts of the pattern {pattern}", frozenset(texts).__contains__)
            for key in ("repeated", "issued")
        )
        lists.done()
        codes[pattern] = Codes(repeated, issued)
    table.done()
    return codes


class _Table:
    """A table of the file, from which keys are taken one by one; ``where`` is its own key, "" for the whole file."""

    def __init__(self, path: Path, where: str, values: Mapping[str, Any]) -> None:
        self.values = values
        self._path = path
        self._where = where
        self._taken: set[str] = set()

    def error(self, key: str, expected: str, got: str) -> SchemeError:
        """The error of a key of this table."""
        where = ".".join(filter(None, (self._where, key)))
        return SchemeError(f"{self._path}: {where}: expected {expected}, got {got}")

    def take(
        self,
        key: str,
        kind: type,
        expected: str,
        fits: Callable[[Any], bool] = lambda _: True,
        default: Any = None,
    ) -> Any:
        """The value of a key, of a type and fitting; ``default`` where the file has none, if there is a default."""
        self._taken.add(key)
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, expected, "none")
        if type(value) is not kind or not fits(value):  # not isinstance: true is an int
            raise self.error(key, expected, repr(value))
        return value

    def text(self, key: str) -> str:
        """A text of visible symbols and single spaces."""
        value: str = self.take(key, str, "a text", lambda text: text != "" and text.isprintable())
        return value

    def texts(self, key: str, expected: str, fits: Callable[[str], bool]) -> tuple[str, ...]:
        """A list of texts that fit; empty where the file has none."""
        values = self.take(key, list, f"a list of {expected}", default=[])
        for value in values:
            if type(value) is not str or not fits(value):
                raise self.error(key, expected, repr(value))
        return tuple(values)

    def share(self, key: str) -> float:
        """A number of 0 to 1."""
        self._taken.add(key)
        value: Any = self.values.get(key)
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise self.error(key, "a share of 0 to 1", "none" if value is None else repr(value))
        return float(value)

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> "_Table":
        """A table of this one."""
        return _Table(self._path, f"{self._where}.{key}".lstrip("."), self.take(key, dict, "a table", default=default))

    def tables(self, key: str) -> list["_Table"]:
        """A list of tables, numbered from 1."""
        values = self.take(
            key, list, "a list of tables", lambda found: {type(each) for each in found} <= {dict}, default=[]
        )
        return [_Table(self._path, f"{key}[{number}]", value) for number, value in enumerate(values, 1)]

    def distinct(self, key: str, values: Sequence[str], expected: str) -> None:
        """Refuses a value that comes twice."""
        for number, value in enumerate(values):
            if value in values[:number]:
                raise self.error(key, expected, f"{value!r} twice")

    def done(self) -> None:
        """Refuses keys that nobody took."""
        for key in self.values.keys() - self._taken:
            raise self.error(key, f"one of {', '.join(sorted(self._taken))}", "an unknown key")
