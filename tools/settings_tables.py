"""Writes the tables of cameras.yaml in docs/reference/settings.md, from the settings and the text of each."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import OptionInfo

from plate_nets.cameras.cameras_file import WatchPlan
from plate_nets.cameras.settings import CameraSettings
from plate_nets.events.sinks.settings import SinkSettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
_TABLE = re.compile(r"(<!-- (\w+) -->\n).*?(?=\n(?:\n|$))", re.DOTALL)
_REQUIRED = "required"
_BY_DEFAULT = re.compile(r"(?:[;,] by default|\. Default:) (.*)")


def meanings(settings: type) -> dict[str, str]:
    """A dataclass -> the text of each field in one line: the one below it, or the help of its option."""
    hints = get_type_hints(settings, include_extras=True)
    helps = {name: each.help for name, hint in hints.items() for each in get_args(hint) if isinstance(each, OptionInfo)}
    found = {name: _one_line(text) for name, text in helps.items() if text}
    for each in reversed(settings.__mro__[:-1]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(definition, ast.ClassDef)
        for node, following in zip(definition.body, definition.body[1:], strict=False):
            match node, following:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = _one_line(text)
    return found


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().removesuffix(".").replace("``", "`")


def rows(settings: type) -> Iterator[tuple[str, str, str]]:
    """Key, meaning and default of each field of a dataclass, required ones first."""
    said = meanings(settings)
    for field in sorted(fields(settings), key=lambda field: _default(field) != _REQUIRED):
        if field.name not in said:  # the type of a sink
            continue
        meaning, *default = _BY_DEFAULT.split(said[field.name])[:2]
        meaning = meaning[0].lower() + meaning[1:] if not meaning[1].isupper() else meaning
        yield f"`{field.name}`", meaning, default[0] if default else _default(field)


def _default(field: Field[Any]) -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return _REQUIRED
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
    sinks = get_args(SinkSettings)
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
