"""What people write for a plate becomes the text that is read, and plates stay different."""

import unicodedata

import pytest

from plate_nets.common.spelling import folded, normalize
from plate_nets.countries import load_scheme
from tests.schemes import SHIPPED


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("а 123 вс-77", "A123BC77"),
        ("аа 1234 ві", "AA1234BI"),
        ("М58-Ј-123", "M58J123"),
        ("ΙΚΥ–1234", "IKY1234"),
        ("京A·88731", "京A88731"),
        ("京Ａ•８８７３１", "京A88731"),
        ("330 あ ・・12", "330あ12"),
        ("B.911 | to", "B911TO"),
        (unicodedata.normalize("NFD", "12가3456"), "12가3456"),
        (unicodedata.normalize("NFD", "fü-a1"), "FÜA1"),
        ("سطه ٧١٢٦", "سطه٧١٢٦"),
        ("\u2067117 تونس 3989\u2069\u200e", "117تونس3989"),
        ("A1？*", "A1?*"),
        ("", ""),
    ],
)
def test_a_plate_is_normalized(written: str, text: str) -> None:
    assert normalize(written) == text


@pytest.mark.parametrize("name", SHIPPED)
def test_no_country_tells_plates_apart_by_the_keyboard(name: str) -> None:
    signs = {*"".join(load_scheme(name).signs.values())}
    assert len({*map(folded, signs)}) == len(signs)
