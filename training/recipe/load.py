"""A recipe from its TOML file and the settings of the command line."""

import difflib
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import excerpt
from plate_nets.common.intake.toml_file import read_toml
from plate_nets.countries import shipped
from training.recipe.recipe import KINDS, AnyRecipe, ReaderRecipe

BUILT_IN = Path(__file__).resolve().parents[1] / "recipes"
"""The recipes of the shipped weights."""


def load_recipe(name: str, settings: Sequence[str] = ()) -> AnyRecipe:
    """The name of a built-in recipe, or a TOML file, and settings such as "schedule.minutes=20" -> the recipe.

    Raises:
        InputError: there is no such recipe, or a key or a value is wrong; the message names it.
    """
    built_in = {path.stem: path for path in sorted(BUILT_IN.glob("*.toml"))}
    path = built_in.get(name, Path(name))
    if not path.is_file():
        raise InputError(f"{name}: no such recipe; expected {', '.join(built_in)}, or a TOML file")
    values = read_toml(path)
    for setting in settings:
        values = _merged(values, _parsed(setting))
    recipe = KINDS.get(str(values.get("network")), ReaderRecipe)
    try:
        return recipe.model_validate(values)
    except ValidationError as error:
        faults = (_fault(recipe, each["loc"], each) for each in error.errors())
        raise InputError(f"{name}: " + "; ".join(faults)) from error


def _parsed(setting: str) -> dict[str, Any]:
    """ "schedule.minutes=20" -> {"schedule": {"minutes": 20}}; a value that is not TOML is a text."""
    key, sign, value = setting.partition("=")
    for written in (value, f'"{value}"') if sign else ():
        try:
            return tomllib.loads(f"{key} = {written}")
        except tomllib.TOMLDecodeError:
            continue
    raise InputError(f"--set: expected KEY=VALUE, such as schedule.minutes=20, got {excerpt(setting)!r}")


def _merged(values: Any, changes: Any) -> Any:
    if not isinstance(values, dict) or not isinstance(changes, dict) or not changes:
        return changes
    return values | {key: _merged(values.get(key), each) for key, each in changes.items()}


def _fault(recipe: type[AnyRecipe], place: tuple[str | int, ...], error: Any) -> str:
    """What is wrong with a key, in a few words."""
    country = place[-1:] == ("[key]",)  # the only keys that are validated
    name = ".".join(map(str, place[:-1] if country else place))
    if error["type"] == "extra_forbidden" or (country and not name.endswith(".toml")):
        keys = ((place[0], each) for each in shipped()) if country else _keys(recipe, tuple(map(str, place)))
        known = [".".join(map(str, key)) for key in keys]
        nearest = difflib.get_close_matches(name, known, 1, 0.5)
        return f"{excerpt(name)}: unknown key" + (f"; did you mean {nearest[0]}?" if nearest else "")
    if error["type"] == "missing":
        return f"{name}: missing"
    if error["type"] == "value_error":  # ours
        return f"{name}: {error['ctx']['error']}" if name else str(error["ctx"]["error"])
    return f"{name}: {error['msg']}, got {excerpt(repr(error['input']))}"


def _keys(part: type[BaseModel], place: tuple[str, ...], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All keys; those below free names, such as data sets, with the names of ``place``."""
    for name, field in part.model_fields.items():
        key = (*before, name)
        yield key
        types = (field.annotation, *get_args(field.annotation))
        if inner := next((each for each in types if isinstance(each, type) and issubclass(each, BaseModel)), None):
            free = get_origin(field.annotation) in (dict, tuple)
            yield from _keys(inner, place, (*key, *place[len(key) : len(key) + 1]) if free else key)
