"""TOML from users, limited in size, depth and number of values."""

import re
import tomllib
from pathlib import Path
from typing import Any

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.common.intake.files import MAX_DEPTH, MAX_VALUES, read_text

_PART = r"""(?:(?<![\w-])[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_DEPTH}}}")
"""Dotted names: `tomllib` takes quadratic time, ten minutes for a key of 100 kB."""


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file -> its values.

    Raises:
        InputError: it does not open, is not TOML in UTF-8, or exceeds a limit; the message says where.
    """
    text = read_text(path)
    if _LONG_KEY.search(text):
        raise _too_large(path, MAX_DEPTH, "levels")
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: expected TOML in UTF-8, got {error}") from error
    except RecursionError as error:
        raise _too_large(path, MAX_DEPTH, "levels") from error
    _check_size(path, values)
    return values


def _check_size(path: Path, values: Any) -> None:
    """Refuse values that are nested too deeply or too many. It does not recurse."""
    level, count = [values], 1
    for _ in range(MAX_DEPTH):
        level = [
            each
            for value in level
            if isinstance(value, (dict, list))
            for each in (value.values() if isinstance(value, dict) else value)
        ]
        count += len(level)
        if count > MAX_VALUES:
            raise _too_large(path, MAX_VALUES, "values")
        if not level:
            return
    raise _too_large(path, MAX_DEPTH, "levels")


def _too_large(path: Path, limit: int, unit: str) -> InputTooLarge:
    return InputTooLarge(f"{path}: expected TOML of at most {limit} {unit}, got more")
