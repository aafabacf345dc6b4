"""The texts of the page: a TOML file a language, all with the same keys."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "ru")
"""The first is for who asks for none of them."""


@cache
def load_texts(language: str) -> Mapping[str, Any]:
    """A language of `LANGUAGES` -> its texts, by section and name."""
    return tomllib.loads((resources.files(__package__) / f"{language}.toml").read_text(encoding="utf-8"))


def preferred(accepted: str) -> str:
    """What a browser accepts (RFC 9110, Accept-Language) -> the language that it wants most."""
    wanted: list[tuple[float, str]] = []
    for part in accepted.split(",")[:20]:
        name, _, quality = part.partition(";q=")
        try:
            wanted.append((float(quality or 1), name.strip().lower().partition("-")[0]))
        except ValueError:
            continue
    known = [(quality, name) for quality, name in wanted if name in LANGUAGES and quality > 0]
    return max(known, key=lambda each: each[0])[1] if known else LANGUAGES[0]
