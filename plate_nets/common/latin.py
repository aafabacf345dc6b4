"""Texts of plates in Latin letters."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from plate_nets.common.intake.toml_file import read_toml


def latin_form(text: str) -> str:
    """A text in any script -> the same in Latin letters and ASCII digits; signs without such a form stay."""
    if text.isascii():
        return text
    forms = _forms()
    for word in filter(lambda each: len(each) > 1, forms):
        text = text.replace(word, forms[word])
    return "".join(forms.get(sign) or str(unicodedata.digit(sign, sign)) for sign in text).strip("-")


def is_latin(text: str) -> bool:
    """Whether a text has only ASCII signs and letters of the Latin script."""
    return all(sign.isascii() or unicodedata.name(sign, "").startswith("LATIN ") for sign in text)


@cache
def _forms() -> Mapping[str, str]:
    """A word or a sign -> its form, words first."""
    return read_toml(Path(__file__).parent / "latin.toml")
