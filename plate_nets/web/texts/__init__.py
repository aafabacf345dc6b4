"""The texts of the page: one TOML file per language, all with the same keys."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "ru")
"""The first one is the default."""


@cache
def load_texts(language: str) -> Mapping[str, Any]:
    """Load the texts of one of `LANGUAGES`, by section and name."""
    return tomllib.loads((resources.files(__package__) / f"{language}.toml").read_text(encoding="utf-8"))


def preferred(accepted: str) -> str:
    """The language in `LANGUAGES` that a browser prefers, from its Accept-Language header (RFC 9110)."""
    preferences: list[tuple[float, str]] = []
    for part in accepted.split(",")[:20]:
        name, _, quality = part.partition(";q=")
        try:
            preferences.append((float(quality or 1), name.strip().lower().partition("-")[0]))
        except ValueError:
            continue
    known = [(quality, name) for quality, name in preferences if name in LANGUAGES and quality > 0]
    return max(known, key=lambda each: each[0])[1] if known else LANGUAGES[0]
