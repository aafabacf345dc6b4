"""Plates of several schemes: which reader reads, which country the plate is from, what the result says."""

import numpy as np
import pytest

from plate_nets.common.errors import InputError, SchemeError
from plate_nets.countries import PlateScheme, load_scheme, load_schemes, main_scheme
from plate_nets.recognition.schemes import SchemeDecoder, best_of, evidence_of
from plate_nets.types import STEPS, Box, Logits, Plate, Reading
from tests.spelling import decoded, spell

RUSSIA, LATIN, UZBEKISTAN = main_scheme(), load_scheme("latin"), load_scheme("uzbekistan")


def spelt(scheme: PlateScheme, text: str) -> Logits:
    return spell(text, peak=12.0, scheme=scheme)


def silent(scheme: PlateScheme) -> Logits:
    return spelt(scheme, "")


def test_the_most_certain_text_determines_the_scheme() -> None:
    decoder = SchemeDecoder([RUSSIA, UZBEKISTAN])
    uzbek = {"lprnet": silent(RUSSIA), "lprnet_latin": spelt(LATIN, "01A234BC")}
    reading = decoded(decoder, uzbek)
    assert (reading.text, reading.scheme, reading.format) == ("01A234BC", "uzbekistan", "private")
    russian = {"lprnet": spelt(RUSSIA, "A123BC77"), "lprnet_latin": spelt(LATIN, "A123BC77")}
    reading = decoded(decoder, russian)
    assert (reading.text, reading.scheme, reading.schemes) == ("A123BC77", "russia", ("russia",))


def test_a_text_of_two_schemes_belongs_to_the_first_one() -> None:
    logits = {"lprnet": spelt(RUSSIA, "A123BC77"), "lprnet_latin": spelt(LATIN, "A123BC77")}
    for names in ("russia,latin", "latin,russia"):
        reading = decoded(SchemeDecoder(load_schemes(names)), logits)
        assert ",".join(reading.schemes) == names and reading.scheme == names.split(",")[0]


def test_a_plate_that_no_scheme_reads_with_certainty_has_no_text() -> None:
    logits = {"lprnet": spelt(RUSSIA, "A1"), "lprnet_latin": spelt(LATIN, "A1")}
    reading = decoded(SchemeDecoder([RUSSIA, UZBEKISTAN]), logits)
    assert (reading.text, reading.schemes) == ("", ())


def test_a_caller_can_choose_a_group_of_schemes() -> None:
    europe = load_schemes("europe")
    decoder = SchemeDecoder(load_schemes("world"))
    assert decoder.choose("europe") == europe
    assert decoder.choose("turkey, europe") == load_schemes("turkey,europe")
    with pytest.raises(InputError, match=r"expected russia or turkey, got 'armenia', .* starts with --scheme russia,"):
        SchemeDecoder(load_schemes("russia,turkey")).choose("cis")


@pytest.mark.parametrize("name", ["/etc/passwd.toml", "iceland.toml", ""])
def test_a_caller_cannot_name_a_scheme_file(name: str) -> None:
    with pytest.raises(InputError, match=r"expected russia, got"):
        SchemeDecoder([RUSSIA]).choose(f"russia,{name}")


def test_a_caller_can_choose_some_of_the_schemes() -> None:
    decoder = SchemeDecoder([RUSSIA, UZBEKISTAN])
    assert decoder.choose("") == (RUSSIA, UZBEKISTAN)
    assert decoder.choose("uzbekistan, uzbekistan") == (UZBEKISTAN,)
    with pytest.raises(InputError, match=r"got 'atlantis'; a server .* starts with --scheme russia,uzbekistan,at"):
        decoder.choose("russia,atlantis")
    for wrong in ([], [RUSSIA, RUSSIA]):
        with pytest.raises(SchemeError):
            SchemeDecoder(wrong)


def test_equal_readings_belong_to_the_first_scheme() -> None:
    one, other = (Reading("A123BC77", "A123BC77", 0.9, scheme=name) for name in ("russia", "latin"))
    assert best_of([one, other], [RUSSIA, LATIN]).schemes == ("russia", "latin")
    assert best_of([one, other], [LATIN, RUSSIA]).scheme == "latin"
    assert best_of([Reading("", "B", 0.99, scheme="russia"), other], [RUSSIA, LATIN]).scheme == "latin", "a text first"


def test_countries_with_the_same_reader_share_one_search() -> None:
    """If two countries would read different texts, neither is sure; if they read the same, both are named."""
    spain, sweden = load_scheme("spain"), load_scheme("sweden")
    logits = {"lprnet_latin": spelt(LATIN, "1234BCD")}
    reading = decoded(SchemeDecoder([sweden, spain]), logits)
    assert (reading.text, reading.scheme, reading.format) == ("1234BCD", "spain", "private")
    logits = {"lprnet_latin": spelt(LATIN, "ABC123")}
    for names in ("sweden,lithuania", "lithuania,sweden"):
        reading = decoded(SchemeDecoder(load_schemes(names)), logits)
        assert ",".join(reading.schemes) == names and reading.scheme == names.split(",")[0]
    between = spelt(LATIN, "0BC123") + spelt(LATIN, "OBC123")  # a 0 or an O
    kazakh, united = load_schemes("kazakhstan,lithuania")
    assert decoded(SchemeDecoder([united]), {"lprnet_latin": between}).text == "OBC123"
    assert decoded(SchemeDecoder([united, load_scheme("united_states")]), {"lprnet_latin": between}).text == ""
    assert decoded(SchemeDecoder([kazakh, united]), {"lprnet_latin": between}).text == "OBC123"


def test_the_group_world_uses_both_readers() -> None:
    decoder = SchemeDecoder(load_schemes("world"))
    reading = decoded(decoder, {"lprnet": spelt(RUSSIA, "A123BC77"), "lprnet_latin": silent(LATIN)})
    assert (reading.text, reading.scheme) == ("A123BC77", "russia")
    reading = decoded(decoder, {"lprnet": silent(RUSSIA), "lprnet_latin": spelt(LATIN, "34ABC123")})
    assert (reading.text, reading.schemes) == ("34ABC123", ("turkey", "latin"))
    reading = decoded(decoder, {"lprnet": silent(RUSSIA), "lprnet_latin": spelt(LATIN, "12A34B56C")})
    assert (reading.text, reading.schemes) == ("12A34B56C", ("latin",)), "of a country that is not known"


def test_evidence_is_from_the_reader_padded_to_the_largest_number_of_classes() -> None:
    logits = {"lprnet": spelt(RUSSIA, "A123BC77"), "lprnet_latin": spelt(LATIN, "01A234BC")}
    logits = {name: np.repeat(each, 2, axis=0) for name, each in logits.items()}
    readings = [Reading("", "", 0, scheme="uzbekistan"), Reading("", "", 0, scheme="russia")]
    found = evidence_of(readings, logits, [RUSSIA, UZBEKISTAN])
    assert found.shape == (2, LATIN.classes, STEPS)
    np.testing.assert_array_equal(found[0], logits["lprnet_latin"][0])
    np.testing.assert_array_equal(found[1, : RUSSIA.classes], logits["lprnet"][1])
    assert (found[1, RUSSIA.classes :] == logits["lprnet"].min()).all()


@pytest.mark.parametrize(
    ("country", "symbols", "text", "latin"),
    [
        ("china", "京A88731", "京A88731", "BJ-A88731"),
        ("korea", "123가4567", "123가4567", "123GA4567"),
        ("tunisia", "117ﺗ3989", "117تونس3989", "117TN3989"),
        ("egypt", "٧١٢٦نطس", "سطن٧١٢٦", "STTN7126"),
        ("iran", "۱۲ب۳۴۵۶۷", "۱۲ب۳۴۵۶۷", "12B34567"),
        ("japan", "330あ1234", "330あ1234", "330A1234"),
        ("morocco", "12345أ6", "12345أ6", "12345A6"),
        ("saudi_arabia", "7356TNJ", "7356TNJ", "7356TNJ"),
    ],
)
def test_a_text_is_in_the_order_and_the_words_of_its_country(country: str, symbols: str, text: str, latin: str) -> None:
    scripts = load_scheme("scripts")
    logits = {"lprnet": silent(RUSSIA), "lprnet_latin": silent(LATIN), "lprnet_scripts": spelt(scripts, symbols)}
    lines = load_scheme(country).fewest_lines
    reading = decoded(SchemeDecoder(load_schemes("world")), logits, lines)
    assert (reading.text, reading.best, reading.scheme) == (text, text, country)
    assert len(reading.characters) == len(text)
    assert Plate(Box(0, 0, 9, 9), 1.0, reading).to_dict().get("latin", text) == latin


def test_the_rest_of_a_plate_in_another_script_is_no_text() -> None:
    scripts = load_scheme("scripts")
    logits = {
        "lprnet": silent(RUSSIA),
        "lprnet_latin": spelt(LATIN, "?A88731"),
        "lprnet_scripts": spelt(scripts, "A88731"),
    }
    reading = decoded(SchemeDecoder(load_schemes("world")), logits)
    assert reading.text == ""


def test_the_best_reading_is_that_of_the_reader_that_knows_the_sign() -> None:
    unsure = Reading("", "京A88731", 0.4, scheme="china")
    assert best_of([Reading("", "?A88731", 0.9, scheme="latin"), unsure], load_schemes("latin,china")) == unsure
    assert best_of([Reading("", "A88731", 0.9, scheme="latin"), unsure], load_schemes("latin,china")).best == "A88731"
