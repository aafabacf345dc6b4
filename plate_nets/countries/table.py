"""Reads a table of a TOML file strictly. Its errors name the file, the key, what was expected and what was found."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plate_nets.common.errors import SchemeError


class Table:
    """A table of the file. Keys are taken one by one; ``where`` is the table's own key, "" for the whole file."""

    def __init__(self, path: Path, where: str, values: Mapping[str, Any]) -> None:
        self.values = values
        self._path = path
        self._where = where
        self._taken: set[str] = set()

    def error(self, key: str, expected: str, got: str) -> SchemeError:
        """An error about a key of this table."""
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
        """The value of a key, with a type and a condition; ``default``, if not None, if the file has none."""
        self._taken.add(key)
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, expected, "none")
        if type(value) is not kind or not fits(value):  # not isinstance, because true is an int
            raise self.error(key, expected, repr(value))
        return value

    def text(self, key: str) -> str:
        """A text of printable characters."""
        value: str = self.take(key, str, "a text", lambda text: text != "" and text.isprintable())
        return value

    def texts(self, key: str, expected: str, fits: Callable[[str], bool]) -> tuple[str, ...]:
        """A list of texts with a condition; empty if the file has none."""
        values = self.take(key, list, f"a list of {expected}", default=[])
        for value in values:
            if type(value) is not str or not fits(value):
                raise self.error(key, expected, repr(value))
        return tuple(values)

    def number(self, key: str, highest: float, expected: str, default: float | None = None) -> float:
        """A number from 0 on, within a limit; ``default``, if not None, if the file has none."""
        self._taken.add(key)
        value: Any = self.values.get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= highest:
            raise self.error(key, expected, "none" if value is None else repr(value))
        return float(value)

    def share(self, key: str, default: float | None = None) -> float:
        """A number from 0 to 1."""
        return self.number(key, 1, "a share of 0 to 1", default)

    def numbers(self, key: str, count: int, expected: str) -> tuple[float, ...]:
        """A list of ``count`` numbers."""
        values: list[Any] = self.take(
            key,
            list,
            expected,
            lambda given: len(given) == count and {type(number) for number in given} <= {int, float},
        )
        return tuple(map(float, values))

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> "Table":
        """A table of this one."""
        return Table(self._path, f"{self._where}.{key}".lstrip("."), self.take(key, dict, "a table", default=default))

    def tables(self, key: str) -> list["Table"]:
        """A list of tables, numbered from 1."""
        values = self.take(
            key, list, "a list of tables", lambda found: {type(value) for value in found} <= {dict}, default=[]
        )
        return [Table(self._path, f"{key}[{number}]", value) for number, value in enumerate(values, 1)]

    def over(self, base: Mapping[str, Any], dropped: str) -> "Table":
        """This table without the key ``dropped``, and with the keys of ``base`` that it lacks."""
        own = {key: value for key, value in self.values.items() if key != dropped}
        return Table(self._path, self._where, {**base, **own})

    def distinct(self, key: str, values: Sequence[str], expected: str) -> None:
        """Refuse repeated values."""
        seen = set()
        for value in values:
            if value in seen:
                raise self.error(key, expected, f"{value!r} twice")
            seen.add(value)

    def done(self) -> None:
        """Refuse keys that were not taken."""
        for key in self.values.keys() - self._taken:
            raise self.error(key, f"one of {', '.join(sorted(self._taken))}", "an unknown key")
