"""Writes the tables of cameras.yaml in docs/reference/settings.md, from the settings and the text below each."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_args

from plate_nets.cameras.cameras_file import WatchPlan
from plate_nets.cameras.settings import CameraSettings
from plate_nets.events.sinks.settings import SinkSettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
_TABLE = re.compile(r"(<!-- (\w+) -->\n).*?(?=\n(?:\n|$))", re.DOTALL)
_BY_DEFAULT = re.compile(r"[;,] by default (.*)")


def meanings(settings: type) -> dict[str, str]:
    """A dataclass -> the text below each of its fields, in one line."""
    found: dict[str, str] = {}
    for each in reversed(settings.__mro__[:-1]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(definition, ast.ClassDef)
        for node, following in zip(definition.body, definition.body[1:], strict=False):
            match node, following:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = re.sub(r"\s+", " ", text).strip().removesuffix(".").replace("``", "`")
    return found


def rows(settings: type) -> Iterator[tuple[str, str, str]]:
    """Key, meaning and default of each field of a dataclass."""
    said = meanings(settings)
    for field in fields(settings):
        if field.name not in said:  # the type of a sink
            continue
        meaning, *default = _BY_DEFAULT.split(said[field.name])[:2]
        meaning = meaning[0].lower() + meaning[1:] if not meaning[1].isupper() else meaning
        yield f"`{field.name}`", meaning, default[0] if default else _default(field)


def _default(field: Field[Any]) -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return "required"
    value = field.default if field.default_factory is MISSING else field.default_factory()
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:g}"
    return f"`{value}`" if value else "none"


def table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    body = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *body])


def tables() -> dict[str, str]:
    """The tables of the page, by name."""
    head = ("key", "meaning", "default")
    sinks = get_args(get_args(SinkSettings)[0])
    shared = list(rows(sinks[0].__mro__[1]))
    own = [(f"`{sink.type}`", *row) for sink in sinks for row in rows(sink) if row not in shared]
    return {
        "plan": table(head, rows(WatchPlan)),
        "camera": table(head, rows(CameraSettings)),
        "sink": table(("`type`", *head), [*own, *(("each", *row) for row in shared)]),
    }


def filled(page: str) -> str:
    """The page with its tables."""
    found = tables()
    return _TABLE.sub(lambda match: match[1] + found[match[2]], page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
