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
    words, signs = _forms()
    for word, form in words.items():
        text = text.replace(word, form)
    return "".join(signs.get(sign) or str(unicodedata.digit(sign, sign)) for sign in text).strip("-")


def drawn_form(text: str) -> str:
    """A text -> its Latin form without accents, for a font of ASCII; signs without such a form stay."""
    parts = unicodedata.normalize("NFD", latin_form(text)).replace("Đ", "D")
    return "".join(sign for sign in parts if not unicodedata.combining(sign))


def is_latin(text: str) -> bool:
    """Whether a text has only ASCII signs and letters of the Latin script."""
    return all(sign.isascii() or unicodedata.name(sign, "").startswith("LATIN ") for sign in text)


def latin_beside(text: str) -> str:
    """A text -> the Latin form that outputs tell beside it; empty if the text itself is that form."""
    form = latin_form(text)
    return form if form != text else ""


@cache
def _forms() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Words and signs -> the form of each."""
    forms: dict[str, str] = read_toml(Path(__file__).parent / "latin.toml")
    words = {word: form for word, form in forms.items() if len(word) > 1}
    return words, {sign: form for sign, form in forms.items() if len(sign) == 1}
