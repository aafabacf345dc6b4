"""What the plates of each shipped country tell and what they do not; the groups of countries."""

import pytest

from plate_nets.common.errors import SchemeError
from plate_nets.countries import joined, load_scheme, load_schemes
from tests.schemes import SHIPPED

EXAMPLES = {
    "argentina": ("AB123CD ABC123 A123BCD 123ABC", "A1B2C3 ABCD123"),
    "armenia": ("34AB567 123AB45", "AB34567 3AB567"),
    "azerbaijan": ("10JA234 99ZZ999", "JA10234 10J234"),
    "belarus": ("1234AB7 AB12345 A1234B5 7TAX1234 E001AA7", "1234AB9 1234AD7 1234ABC7"),
    "belgium": ("1ABC234 ABC123 123ABC", "ABC1234 12ABC34"),
    "brazil": ("ABC1D23 ABC1234", "ABC12D3 AB1234"),
    "czechia": ("5B40001 1AA1234 EL123AB", "5W40001 5B4000"),
    "estonia": ("123ABC 123AB 12AB", "ABC123 1234AB"),
    "finland": ("ABC123 AB12 ABC1", "ABC012 123ABC"),
    "france": ("AB123CD 1234AB75 12ABC34", "AB123CO AI123CD 0123AB75"),
    "georgia": ("AB123CD ABC123", "123ABC AB12CD"),
    "germany": ("MGX1234 BA1 WANNE685 MXE123E BAB12H", "WANNE6851 M1234 MGX0123 MGX1234X"),
    "india": ("MH12AB1234 DL01C1234 22BH1234AB", "MH12AB123 12MHAB1234"),
    "indonesia": ("B1234ABC B1A AB12CD B1234 L9354CA", "B0123ABC 1234AB BAD123AB"),
    "italy": ("AB123CD AB12345", "AB123CO AQ123CD AB1234"),
    "kazakhstan": ("123ABC02 123AB02 A123BCD", "ABC12302 123ABC2"),
    "kyrgyzstan": ("01123ABC 01123AB B1234AB", "ABC12301 0112ABC"),
    "latvia": ("AB1234 AB1 A123", "ABC123 AB0123"),
    "lithuania": ("ABC123 EA1234 AB123", "123ABC AB1234"),
    "moldova": ("ABC123 CAB123 ABCD123", "123ABC ABC12"),
    "netherlands": ("S368NT DB754Z 6BNJ96 93NGR7 92HDZX HSGF00 VM59TG CR3006 8071IT", "123ABC A1B2C3"),
    "poland": ("LG0HW41 SUN69H9 WA12345 KRA99913 PO1A234", "L12345 LGB0B12 1234567"),
    "portugal": ("AB12CD 12AB34 1234AB AB1234", "ABC123 A12345"),
    "romania": ("CJ12ABC B12ABC B123ABC IF012345", "C12ABC CJ123ABC B012ABC"),
    "russia": ("A123BC77 A123BC777", "D123BC77 A000BC77"),
    "spain": ("1234BCD M1234AB B1234CD E1234BCD", "1234ABC 123BCD"),
    "sweden": ("ABC123 ABC12D", "ABC1234 AIC123 ABC12I3"),
    "turkey": ("34ABC123 06AB123 34A1234 01TIM01 34AB1234", "94ABC123 34QAB12 34ABCD1"),
    "ukraine": ("AA1234BC KA0001XP AA1234BZ", "AA1234DC 1234AABC AD1234BC"),
    "united_kingdom": ("AB12CDE A123BCD ABC123D AIZ1234", "AB123CDE 1234ABCDE"),
    "united_states": ("ABC1234 7ABC123 123ABC SWEET", "ABCD12345 1234567890"),
    "uzbekistan": ("01A123BC 01123ABC 011234AB 01H123456", "A12301BC 01A123B"),
    "vietnam": ("51F31118 52Y6490 29LD12345 59X112345", "51J31118 F5131118"),
    "latin": ("ABCD 123456789", "ABC"),
}
"""By country: texts that are plates, and texts that are none."""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_scheme_accepts_its_plates_and_no_other_texts(name: str) -> None:
    scheme = load_scheme(name)
    plates, others = (each.split() for each in EXAMPLES[name])
    for text in plates:
        assert scheme.is_plate(text), text
    for text in others:
        assert not scheme.is_plate(text), f"{text} fits {scheme.format_names(text)}"


@pytest.mark.parametrize("name", SHIPPED)
def test_a_country_has_its_iso_code_and_is_in_the_group_world(name: str) -> None:
    scheme = load_scheme(name)
    assert scheme.name == name and "world" in scheme.groups
    assert bool(scheme.country) == (name != "latin")


def test_countries_have_different_codes() -> None:
    codes = [load_scheme(name).country for name in SHIPPED]
    assert len(set(codes)) == len(codes)


def test_a_group_expands_to_its_countries() -> None:
    world, europe, cis = (load_schemes(name) for name in ("world", "europe", "cis"))
    assert {scheme.name for scheme in world} == set(SHIPPED) and world[-1].name == "latin", "any text comes last"
    assert {"germany", "poland", "russia"} <= {scheme.name for scheme in europe} < {scheme.name for scheme in world}
    assert {"kazakhstan", "uzbekistan", "russia"} <= {scheme.name for scheme in cis}
    assert load_schemes("turkey,cis,turkey")[0].name == "turkey" and len(load_schemes("turkey,cis")) == len(cis) + 1
    with pytest.raises(SchemeError, match=r"expected argentina, .* a group \(.*cis, europe, world\) or .* got 'mars'"):
        load_schemes("europe,mars")


def test_joined_countries_accept_the_texts_of_each() -> None:
    both = joined(load_schemes("turkey,spain"))
    assert both.is_plate("34ABC123") and both.is_plate("1234BCD") and not both.is_plate("ABC1D23")
    assert [scheme.name for scheme in both.owners("1234BCD")] == ["spain"]
    assert both.by_lines[2].is_plate("1234BCD") and both.format_names("1234BCD") == "private or motorcycle"
    assert both.read_with("turkey") is both and both.owner("1234BCD", "turkey").name == "spain"
    three = joined(load_schemes("russia,kazakhstan,romania"))
    assert three.read_with("russia").alphabet == load_scheme("russia").alphabet != three.alphabet
    assert [each.name for each in three.read_with("romania").members] == ["kazakhstan", "romania"]
    owners = [three.owner("B123ABC", name).name for name in ("romania", "kazakhstan", "russia", "")]
    assert owners == ["romania", "kazakhstan", "kazakhstan", "kazakhstan"] and three.owner("nothing") is three
    assert joined([load_scheme("turkey")]) is load_scheme("turkey")
    assert joined(load_schemes("russia,turkey")[:1]).region_of("A123BC77") == "77"
