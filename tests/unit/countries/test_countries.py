"""What the plates of each shipped country tell and what they do not; the groups of countries."""

import pytest

from plate_nets.common.errors import SchemeError
from plate_nets.countries import PlateScheme, joined, load_scheme, load_schemes
from plate_nets.countries.automaton import MOST_WORK
from tests.schemes import SHIPPED

ANY = {"latin", "scripts"}
"""The schemes of a reader without a country."""
NAMED = {"emirates", "scripts"}
"""The schemes that have to be named, and are not in `world`."""
EXAMPLES = {
    "algeria": ("0026919916 15120011206", "0026909916 0026919976 0026914516 002691991"),
    "argentina": ("AB123CD ABC123 A123BCD 123ABC", "A1B2C3 ABCD123"),
    "armenia": ("34AB567 123AB45", "AB34567 3AB567"),
    "australia": ("ABC12D AB12CD ABC123 1AB2CD 123AB4 1ABC234 S123ABC A12BC", "2AB3CD 2ABC345 AB1234 ABCD12"),
    "austria": ("W12345A GU123AB W1234AB L12ABC KUMOPS1 WIEN77 BP12345", "W01234A GU012AB X12345A W123456"),
    "azerbaijan": ("10JA234 99ZZ999", "JA10234 10J234"),
    "belarus": ("1234AB7 AB12345 A1234B5 7TAX1234 E001AA7", "1234AB9 1234AD7 1234ABC7"),
    "belgium": ("1ABC234 ABC123 123ABC", "ABC1234 12ABC34"),
    "bosnia_and_herzegovina": ("A12E345 TA123456", "B12E345 A12B345 TB123456"),
    "brazil": ("ABC1D23 ABC1234", "ABC12D3 AB1234"),
    "bulgaria": ("CB1234AB A1234BB TX0754TX", "CB1234AD AB1234A CB123AB"),
    "canada": ("ABCD123 ABC1234 A12BCD AB123C AB12345 123ABC", "ABCDE12 A123BC 1ABC23"),
    "chile": ("BCDF12 AB1234 BCD12 BCD012", "BCDM12 ABCD12 ABC123"),
    "china": (
        "京A12345 粤B1F234 沪AD12345 苏E12345D 川A1234学 粤Z1234港 123456使 鲁B1234挂",
        "A12345 京12345 京I12345 京A1234 京",
    ),
    "colombia": ("ABC123 ABC12D", "AB1234 ABC1234"),
    "croatia": ("ZG1234AB ČK123A ŽU123AB ŠI1234A", "QG1234AB ĆK123A ZG12AB ZG123QA"),
    "czechia": ("5B40001 1AA1234 EL123AB 1T6504", "5W40001 5W4000 5B400"),
    "denmark": ("AB12345 AB1234", "AI12345 AB01234 AB123456"),
    "ecuador": ("ABC1234 PBA123 AB123C", "DBC1234 AB1234"),
    "egypt": ("سطن٧١٢٦ وطن١ قى١٢ ٧١٢٦نطس", "٧١٢٦ سطن سطن٠ سطن71"),
    "emirates": ("A12345 AA123 512345 5012345 O99", "12345 501234 12345678 A01234 AAA123 A123456"),
    "estonia": ("123ABC 123AB 12AB", "ABC123 1234AB"),
    "finland": ("ABC123 AB12 ABC1 ÅLA12 AÖ1", "ABC012 123ABC ÜAB12 ABCÅ12"),
    "france": ("AB123CD 1234AB75 12ABC34", "AB123CO AI123CD 0123AB75"),
    "georgia": ("AB123CD ABC123", "123ABC AB12CD"),
    "germany": (
        "MGX1234 BA1 WANNE685 MXE123E FÜA1 TÖLAB123 ÜBA12 M06123 WÜ341A Y123456",
        "WANNE6851 M1234 MGX0123 XÜA1 TÖLAB1234",
    ),
    "greece": ("YZH1234 ABE123", "YZH0123 ABC1234 YZ1234"),
    "hong_kong": ("AB1234 AB1", "AI1234 AB0123 A1234"),
    "hungary": ("ABC123 AABC123 P12345", "AB1234 ABC1234 A12345"),
    "india": ("MH12AB1234 DL01C1234 22BH1234AB DL3CBD5092 ML069642", "MH12AB123 12MHAB1234"),
    "indonesia": ("B1234ABC B1A AB12CD B1234 L9354CA", "B0123ABC 1234AB BAD123AB"),
    "iran": ("۱۲ب۳۴۵۶۷ ۹۹ی۱۱۱۱۰", "۱۲ب۳۴۵ ۱۲۳۴۵۶۷ 12ب34567"),
    "ireland": ("131D12345 08KY1234 12D1 95G123456", "133D1 331D123 13D12345 08KY0123"),
    "israel": ("1234567 12345678", "0234567 123456 123456789"),
    "italy": ("AB123CD AB12345", "AB123CO AQ123CD AB1234"),
    "japan": ("330あ1234 50を12 500さ1 330は123", "330ん1234 330あ0123 330お12 3あ1234 330A1234"),
    "kazakhstan": ("123ABC02 123AB02 A123BCD", "ABC12302 123ABC2"),
    "kenya": ("KAA123B KMAA123B KAB123", "KIA123B LAA123B"),
    "korea": ("12가3456 123가4567 서울1가2345 부산12바3456", "가3456 12345 12아345 12가345"),
    "kyrgyzstan": ("01123ABC 01123AB B1234AB", "ABC12301 0112ABC"),
    "latvia": ("AB1234 AB1 A123", "ABC123 AB0123"),
    "lithuania": ("ABC123 EA1234 AB123", "123ABC AB1234"),
    "macau": ("MA1234 AB1234 M1234", "BA1234 MA123"),
    "malaysia": ("WA1234B ABC1234 V1 SAB1234C JHR123", "AIB123 ABC0123 ABC1234D UAB123"),
    "mexico": ("ABC123D ABC1234 A12BCD AB12345 AB1234C", "ABO123D ABCD123 A1B2C3"),
    "moldova": ("ABC123 CAB123 ABCD123", "123ABC ABC12"),
    "morocco": ("12345أ6 1ط89 123ب10", "12345A6 012أ6 12345أ90 12345أ 12345ت6"),
    "netherlands": ("S368NT DB754Z 6BNJ96 93NGR7 92HDZX HSGF00 VM59TG CR3006 8071IT AM27QL", "123ABC A1B2C3"),
    "new_zealand": ("ABC123 AB1234 A123B 12ABC", "AVC123 ABC012 ABCD12"),
    "nigeria": ("ABC123DE AB123ABC", "ABC1234 ABC12DE"),
    "norway": ("AB12345 AB1234 EL54321", "AM12345 AB01234 A12345"),
    "peru": ("A1B234 ABC234 12345A", "1AB234 ABCD12"),
    "philippines": ("ABC1234 ABC123 123ABC AB12345", "ABCD123 1ABC234 AB123"),
    "poland": ("LG0HW41 SUN69H9 WA12345 KRA99913 PO1A234", "L12345 LGB0B12 1234567"),
    "portugal": ("AB12CD 12AB34 1234AB AB1234", "ABC123 A12345"),
    "romania": ("CJ12ABC B12ABC B123ABC IF012345", "C12ABC CJ123ABC B012ABC"),
    "russia": ("A123BC77 A123BC777", "D123BC77 A000BC77"),
    "scripts": ("京A12345 沪AD12345", "A12345 京京12345 서울12가3456"),
    "saudi_arabia": ("7356TNJ 0099ABJ 7ZZZ", "TNJ7356 7356TNC 12345TNJ 7356TN ٧٣٥٦TNJ"),
    "serbia": ("BG123AB ŠA1234AB BG12345AB BČ123XY", "HG123AB BG12AB BG123A"),
    "singapore": ("SBA1234A GB123X FBA12Z", "SBA1234I SIA1234A SBA0123A ABA1234A"),
    "slovakia": ("BA123AB", "BA1234A BAA123 QA123AB"),
    "slovenia": ("LJAB123 MBR366N KR9316K NME4794", "LJABC12 AJAB123 LJ123456"),
    "south_africa": ("BC12DFGP BCD123MP CA123456 ND12345 BCD123L", "AB12DFGP BCD123GP BC123456 BCD123"),
    "spain": ("1234BCD M1234AB B1234CD E1234BCD", "1234ABC 123BCD"),
    "sweden": ("ABC123 ABC12D BÅT VÄGEN", "ABC1234 AIC123 ABC12I3 ABC BÜT"),
    "switzerland": ("ZH123456 FL12345 VD2774V", "ZH1234567 ZH012345 XH1234 ZH1234A"),
    "taiwan": ("ABC1234 ABC123 123ABC 1234AB 1234A1 A12345 2A3456", "ABI1234 ABCD123 12345AB"),
    "tunisia": ("117تونس3989 1تونس1 103679نت 117ﺗ3989", "1173989 تونس3989 0تونس1 1036نت"),
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
    assert scheme.name == name and bool(scheme.country) == (name not in ANY)
    assert ("world" in scheme.groups) == (name not in NAMED)


def test_countries_have_different_codes() -> None:
    codes = [load_scheme(name).country for name in {*SHIPPED} - ANY]
    assert len(set(codes)) == len(codes)


def test_a_group_expands_to_its_countries() -> None:
    world, europe, cis = (load_schemes(name) for name in ("world", "europe", "cis"))
    assert {scheme.name for scheme in world} == {*SHIPPED} - NAMED and world[-1].name == "latin", "any text comes last"
    assert {"germany", "poland", "russia"} <= {scheme.name for scheme in europe} < {scheme.name for scheme in world}
    assert {"kazakhstan", "uzbekistan", "russia"} <= {scheme.name for scheme in cis}
    assert load_schemes("turkey,cis,turkey")[0].name == "turkey" and len(load_schemes("turkey,cis")) == len(cis) + 1
    with pytest.raises(SchemeError, match=r"expected algeria, .* a group \(africa, .*world\) or .* got 'mars'"):
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


def spelled(scheme: PlateScheme, text: str) -> bool:
    """Whether the scheme's automaton reaches the end of a format with this text."""
    state = scheme.successors.start
    for symbol in text:
        state = scheme.successors[state].get(scheme.index[symbol], frozenset())
    return () in state


@pytest.mark.parametrize("group", ["africa", "america", "asia", "cis", "europe", "middle_east", "oceania", "world"])
def test_the_automaton_of_a_group_has_exactly_the_texts_of_its_countries(group: str) -> None:
    for reader in ("latin", "scripts"):
        if schemes := [scheme for scheme in load_schemes(group) if scheme.country and scheme.reader == reader]:
            together = joined(schemes)
            together.successors.explore(MOST_WORK)
            for text in " ".join(" ".join(each) for each in EXAMPLES.values()).split():
                symbols = together.symbols_of(text)
                known = {*symbols} <= {*together.alphabet}
                assert (known and spelled(together, symbols)) == together.is_plate(text), text


def test_a_format_that_only_one_state_issues_tells_the_state() -> None:
    states = load_scheme("united_states")
    texts = "7ABC123 1A23456 AB1C234 AB1C2D 1A2345B A12BCD ABC1234 9A123B"
    assert [states.region_of(text) for text in texts.split()] == ["ca", "ca", "tx", "mo", "al", "nj", None, None]
    assert joined(load_schemes("canada,united_states")).region_of("7ABC123") == "ca"
    assert states.region_of("ABC12345") is None
