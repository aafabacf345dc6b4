"""The texts of the page: the same keys in each language, each of them used, and the language that a browser prefers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest

from plate_nets.common.error_codes import OURS, WEB
from plate_nets.countries import main_scheme
from plate_nets.countries.designs import GROUNDS
from plate_nets.recognition.reasons import Spoilt
from plate_nets.types import REASON_UNITS, Reason, Side
from plate_nets.web.texts import LANGUAGES, load_texts, preferred
from tests.paths import ROOT

WEB_FOLDER = ROOT / "plate_nets" / "web"


def keys(texts: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in texts.items():
        if isinstance(value, dict):
            yield from keys(value, f"{before}{name}.")
        else:
            assert value.strip(), name
            yield before + name


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_every_text_with_the_same_placeholders(language: str) -> None:
    first, other = load_texts(LANGUAGES[0]), load_texts(language)
    assert list(keys(other)) == list(keys(first))
    for key in keys(first):
        section, _, name = key.rpartition(".")
        one, two = (texts[section][name] if section else texts[name] for texts in (first, other))
        assert sorted(re.findall(r"{\w+}", one)) == sorted(re.findall(r"{\w+}", two)), key


def test_every_text_of_the_page_is_used() -> None:
    sources = [*WEB_FOLDER.glob("static/*.js"), *WEB_FOLDER.glob("templates/*.html")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    # Composed where they are used
    tables = ("errors.", "formats.", "grounds.", "vehicles.", "sides.", "stages.", "nav.", "reasons.", "advice.")
    events = ("events.towards", "events.away", "events.newest", "events.reconnecting")
    made = (*tables, *events, "cameras.state_", "try.download_", "try.waiting", "health.serving", "health.failing")
    unused = [key for key in keys(load_texts("en")) if not key.startswith(made) and key not in code]
    assert unused == []


def test_every_error_and_format_has_a_text() -> None:
    texts = load_texts("en")
    assert set(texts["reasons"]) == {*get_args(Reason), *REASON_UNITS.values()} - {"%"}
    assert {each.phrase for each in (*OURS, *WEB)} <= texts["errors"].keys()
    assert {each.name for each in main_scheme().formats} <= texts["formats"].keys()
    assert {*get_args(Spoilt), "smeared_to"} == texts["advice"].keys()
    assert set(GROUNDS) == texts["grounds"].keys()
    assert set(get_args(Side)) == texts["sides"].keys()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("", "en"), ("ru-RU,ru;q=0.9,en;q=0.8", "ru"), ("de,en;q=0.5,ru;q=0.7", "ru"), ("fr", "en"), (";q=x,,ru", "ru")],
)
def test_the_page_uses_the_language_that_the_browser_prefers(accepted: str, language: str) -> None:
    assert preferred(accepted) == language
