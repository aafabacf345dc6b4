"""The Latin form of a text: told for every sign that the reader of other scripts knows."""

import pytest

from plate_nets.common.latin import drawn_form, is_latin, latin_beside, latin_form
from plate_nets.countries import load_scheme
from tests.schemes import SHIPPED


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("京A88731", "BJ-A88731"),
        ("粤Z1234港", "GD-Z1234-HK"),
        ("123456使", "123456-SHI"),
        ("12가3456", "12GA3456"),
        ("330あ1234", "330A1234"),
        ("117تونس3989", "117TN3989"),
        ("12345أ6", "12345A6"),
        ("103679نت", "103679RS"),
        ("سطن٧١٢٦", "STTN7126"),
        ("۱۲ب۳۴۵۶۷", "12B34567"),
        ("A123BC77", "A123BC77"),
        ("FÜA1", "FÜA1"),
        ("", ""),
    ],
)
def test_a_text_has_a_latin_form(text: str, latin: str) -> None:
    assert latin_form(text) == latin
    assert latin_beside(text) == ("" if latin == text else latin), "told if it differs"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_sign_of_a_country_can_be_drawn(name: str) -> None:
    scheme = load_scheme(name)
    signs = {scheme.words.get(symbol, symbol) for symbols in scheme.signs.values() for symbol in symbols}
    assert all(drawn_form(sign).isascii() for sign in signs)
    assert drawn_form("MÜĐ1") == "MUD1"


@pytest.mark.parametrize("country", ["china", "egypt", "iran", "japan", "korea", "morocco", "tunisia"])
def test_every_sign_of_a_country_has_its_own_latin_form(country: str) -> None:
    scheme = load_scheme(country)
    signs = {scheme.words.get(symbol, symbol) for symbols in scheme.signs.values() for symbol in symbols}
    forms = [latin_form(sign) for sign in signs if not sign.isdigit()]
    assert all(form.isascii() and form for form in forms) and len({*forms}) == len(forms)


def test_a_text_is_latin_by_the_script_of_its_letters() -> None:
    assert all(map(is_latin, ("A123BC77", "FÜĐ1?", "")))
    assert not any(map(is_latin, ("京A88731", "กข1234", "АБ1234", "٧١٢٦")))
