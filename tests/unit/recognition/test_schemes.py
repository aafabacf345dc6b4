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


@pytest.mark.parametrize(
    ("names", "russian", "latin", "text", "schemes"),
    [
        ("russia,uzbekistan", "", "01A234BC", "01A234BC", "uzbekistan"),
        ("russia,uzbekistan", "A123BC77", "A123BC77", "A123BC77", "russia"),
        ("russia,latin", "A123BC77", "A123BC77", "A123BC77", "russia,latin"),
        ("latin,russia", "A123BC77", "A123BC77", "A123BC77", "latin,russia"),
        ("world", "A123BC77", "", "A123BC77", "russia"),
        ("world", "", "34ABC123", "34ABC123", "turkey,latin"),
        ("world", "", "12A34B56C", "12A34B56C", "latin"),
        ("sweden,lithuania", "", "ABC123", "ABC123", "sweden,lithuania"),
        ("lithuania,sweden", "", "ABC123", "ABC123", "lithuania,sweden"),
        ("sweden,spain", "", "1234BCD", "1234BCD", "spain"),
    ],
)
def test_the_most_certain_text_determines_the_schemes_in_the_order_of_the_caller(
    names: str, russian: str, latin: str, text: str, schemes: str
) -> None:
    """What the two readers read -> the text, and the schemes that it fits."""
    logits = {"lprnet": spelt(RUSSIA, russian), "lprnet_latin": spelt(LATIN, latin)}
    decoder = SchemeDecoder(load_schemes(names))
    asked = decoder.readers(decoder.schemes)
    reading = decoded(decoder, {name: each for name, each in logits.items() if name in asked})
    assert (reading.text, ",".join(reading.schemes)) == (text, schemes)
    owner = load_scheme(schemes.split(",")[0]).by_lines[1]
    assert (reading.scheme, reading.format) == (owner.name, owner.format_names(text))


def test_a_plate_that_no_scheme_reads_with_certainty_has_no_text() -> None:
    logits = {"lprnet": spelt(RUSSIA, "A1"), "lprnet_latin": spelt(LATIN, "A1")}
    reading = decoded(SchemeDecoder([RUSSIA, UZBEKISTAN]), logits)
    assert (reading.text, reading.schemes) == ("", ())


@pytest.mark.parametrize(
    ("known", "names", "chosen"),
    [
        ("world", "europe", "europe"),
        ("world", "turkey, europe", "turkey,europe"),
        ("russia,uzbekistan", "", "russia,uzbekistan"),
        ("russia,uzbekistan", "uzbekistan, uzbekistan", "uzbekistan"),
    ],
)
def test_a_caller_can_choose_some_of_the_schemes(known: str, names: str, chosen: str) -> None:
    assert SchemeDecoder(load_schemes(known)).choose(names) == load_schemes(chosen)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("cis", r"russia or turkey, got 'armenia', .* starts with --scheme russia,"),
        ("russia,atlantis", r"russia or turkey, got 'atlantis'; a server .* starts with --scheme russia,turkey,at"),
        *((f"russia,{file}", "russia or turkey, got") for file in ("/etc/passwd.toml", "iceland.toml", "")),
    ],
)
def test_a_caller_can_choose_neither_other_schemes_nor_files(names: str, says: str) -> None:
    with pytest.raises(InputError, match=f"expected {says}"):
        SchemeDecoder(load_schemes("russia,turkey")).choose(names)


@pytest.mark.parametrize("wrong", [[], [RUSSIA, RUSSIA]], ids=["none", "one twice"])
def test_schemes_have_names_of_their_own(wrong: list[PlateScheme]) -> None:
    with pytest.raises(SchemeError):
        SchemeDecoder(wrong)


@pytest.mark.parametrize(
    ("names", "text"),
    [("lithuania", "OBC123"), ("lithuania,united_states", ""), ("kazakhstan,lithuania", "OBC123")],
)
def test_if_two_countries_of_a_reader_would_read_different_texts_neither_is_sure(names: str, text: str) -> None:
    between = spelt(LATIN, "0BC123") + spelt(LATIN, "OBC123")  # a 0 or an O
    assert decoded(SchemeDecoder(load_schemes(names)), {"lprnet_latin": between}).text == text


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
    logits = {"lprnet": spelt(RUSSIA, ""), "lprnet_latin": spelt(LATIN, ""), "lprnet_scripts": spelt(scripts, symbols)}
    lines = load_scheme(country).fewest_lines
    reading = decoded(SchemeDecoder(load_schemes("world")), logits, lines)
    assert (reading.text, reading.best, reading.scheme) == (text, text, country)
    assert len(reading.characters) == len(text)
    assert Plate(Box(0, 0, 9, 9), 1.0, reading).to_dict().get("latin", text) == latin


def test_the_rest_of_a_plate_in_another_script_is_no_text() -> None:
    rest = {"lprnet": spelt(RUSSIA, ""), "lprnet_latin": spelt(LATIN, "?A88731")}
    logits = rest | {"lprnet_scripts": spelt(load_scheme("scripts"), "A88731")}
    assert decoded(SchemeDecoder(load_schemes("world")), logits).text == ""


@pytest.mark.parametrize(
    ("text", "best", "scheme"), [("", "?A88731", "china"), ("", "A88731", "latin"), ("京A88731", "A88731", "china")]
)
def test_the_best_reading_has_a_text_or_is_that_of_the_reader_that_knows_the_sign(
    text: str, best: str, scheme: str
) -> None:
    latin, chinese = Reading("", best, 0.9, scheme="latin"), Reading(text, "京A88731", 0.4, scheme="china")
    assert best_of([latin, chinese], load_schemes("latin,china")).scheme == scheme
