"""Formats and look decide together: the country and the colour of a plate, and the meaning of an ambiguous text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plate_nets.contract import COUNTRY
from plate_nets.countries import joined, load_scheme, load_schemes
from plate_nets.countries.designs import CLASSES, DESIGNS, GROUNDS, UNKNOWN
from plate_nets.recognition.appearance import LEAST_FAVOUR, Appearance, appearances
from plate_nets.recognition.decoding import most_probable
from plate_nets.recognition.schemes import SchemeDecoder, best_of
from plate_nets.types import Logits, Reading
from tests.schemes import TESTLAND, make_testland, write_testland
from tests.spelling import decoded, spell

LATIN = load_scheme("latin")


def looking(ground: str = "white", **designs: float) -> Appearance:
    """A plate that looks like designs with these probabilities (`br_old` is "br old"); the rest is equally probable."""
    named = {name.replace("_", " "): probability for name, probability in designs.items()}
    rest = (1 - sum(named.values())) / (len(DESIGNS) - len(named))
    found = np.full(len(DESIGNS), rest)
    for name, probability in named.items():
        found[CLASSES[name]] = probability
    grounds = np.full(len(GROUNDS), 0.02)
    grounds[GROUNDS.index(ground)] = 0.9
    return Appearance(found, grounds)


def spelt(*texts: str) -> Logits:
    """Logits (1, 47, 18) of the Latin reader for several equally probable texts of the same length."""
    return np.asarray(np.max([spell(text, peak=12.0, scheme=LATIN) for text in texts], axis=0))


def told(decoder: SchemeDecoder, reading: Reading, look: Appearance) -> Reading:
    """The reading of a plate of one line with the country and the colour that its look tells."""
    return look.describe(reading, [scheme.by_lines[1] for scheme in decoder.schemes])


def test_a_row_of_logits_becomes_the_appearance_of_a_plate() -> None:
    logits = np.zeros((2, *COUNTRY.outputs[0].dims), np.float32)
    logits[1, CLASSES["ro"]], logits[1, len(DESIGNS) + GROUNDS.index("red")] = 9, 9
    even, sure = appearances(logits)
    np.testing.assert_allclose(even.designs, 1 / len(DESIGNS))
    np.testing.assert_allclose(even.grounds, 1 / len(GROUNDS))
    assert sure.designs.argmax() == CLASSES["ro"] and sure.designs.sum() == pytest.approx(1)
    assert sure.grounds[GROUNDS.index("red")] > 0.99


@pytest.mark.parametrize(
    ("look", "country", "scheme"),
    [
        (looking(ro=0.9), "ro", "romania"),
        (looking(kz=0.9), "kz", "kazakhstan"),
        (looking(ro=0.4, kz=0.4), UNKNOWN, "kazakhstan"),
        (looking(), UNKNOWN, "kazakhstan"),
        (looking(unknown=0.95), UNKNOWN, "kazakhstan"),
    ],
    ids=["Romanian", "Kazakh", "like both", "like any", "like none"],
)
def test_a_text_of_two_countries_gets_the_one_that_the_plate_looks_like(
    look: Appearance, country: str, scheme: str
) -> None:
    decoder = SchemeDecoder(load_schemes("kazakhstan,romania,latin"))
    logits = {"lprnet_latin": spelt("B123ABC")}
    alone = decoded(decoder, logits)
    reading = told(decoder, decoded(decoder, logits, look=look), look)
    assert (reading.text, reading.scheme, reading.country) == ("B123ABC", scheme, country)
    assert reading.schemes[-1] == "latin" and set(reading.schemes) == {"kazakhstan", "romania", "latin"}
    assert (reading.country_confidence >= 0.5) == (country != UNKNOWN)
    assert reading.confidence == alone.confidence, "a text is not made surer"
    assert (reading.ground, reading.ground_confidence) == ("white", 0.9)


@pytest.mark.parametrize(
    ("text", "names", "look", "country", "confidence"),
    [
        ("34ABC123", "turkey,latin", looking(tr=0.3), "tr", 0.3 / (0.3 + 0.1 * 0.7)),
        ("34ABC123", "turkey,latin", looking(tr=0.01, ua=0.9), UNKNOWN, 0.01 / (0.01 + 0.1 * 0.99)),
        ("京A12345", "china", looking(us=0.6), "cn", 1),
        ("12A34B56C", "latin", looking(ro=0.9), UNKNOWN, 0),
        ("", "romania", looking(ro=0.99), UNKNOWN, 0),
        ("", "romania", looking(unknown=0.99), UNKNOWN, 0),
    ],
    ids=["fits one country", "looks unlike it", "another script", "fits no country", "no text", "no text, like none"],
)
def test_a_text_makes_its_country_more_probable(
    text: str, names: str, look: Appearance, country: str, confidence: float
) -> None:
    schemes = tuple(names.split(","))
    reading = Reading(text, text or "B1", 0.9, scheme=schemes[0], schemes=schemes)
    found = told(SchemeDecoder(load_schemes("world")), reading, look)
    assert (found.country, found.scheme, found.ground) == (country, schemes[0], "white")
    assert found.country_confidence == pytest.approx(confidence)


def test_the_designs_of_brazil_distinguish_its_texts() -> None:
    """The fifth symbol is an O of Mercosur or an older 0. The reader cannot tell them apart, but the design can."""
    decoder = SchemeDecoder([load_scheme("brazil")])
    logits = {"lprnet_latin": spelt("ABC1O23", "ABC1023")}
    for look, text, name in ((looking(br=0.9), "ABC1O23", "Mercosur"), (looking(br_old=0.9), "ABC1023", "old")):
        reading = decoded(decoder, logits, look=look)
        assert reading.best == text and reading.text == "", "and none is sure"
        assert reading.confidence == pytest.approx(0.5, abs=0.01)
        looks = np.repeat(logits["lprnet_latin"], 3, axis=0)
        several = decoder.decode_looks("lprnet_latin", looks, 1, decoder.schemes, look)
        assert several.best == text
        described = told(decoder, Reading(text, text, 0.9, scheme="brazil", format=name), look)
        assert (described.country, described.format, described.schemes) == ("br", name, ())


def test_the_appearance_cannot_outweigh_a_much_more_probable_text() -> None:
    look = looking(br=0.99)
    brazil = load_scheme("brazil")
    texts = {"ABC1O23": 0.05, "ABC1023": 0.9}
    chosen = most_probable(texts, favour=lambda text: look.favour(brazil, text))
    assert chosen is not None and chosen.text == "ABC1023"
    assert LEAST_FAVOUR <= look.favour(brazil, "ABC1023") < look.favour(brazil, "ABC1O23") <= 1
    assert look.favour(joined([brazil, LATIN]), "12") >= LEAST_FAVOUR


def test_a_country_unknown_to_the_network_keeps_the_text_of_its_formats(tmp_path: Path) -> None:
    testland = make_testland(tmp_path)
    assert looking(ru=0.99).likeness(testland, "DG1234") == pytest.approx(1 / len(DESIGNS))
    assert looking(unknown=0.8).likeness(testland, "DG1234") == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("text", "names", "look", "told"),
    [
        ("7356TNJ", "saudi_arabia,latin", looking(sa=0.6), True),
        ("7356TNJ", "saudi_arabia,latin", looking(cn=0.6), False),
        ("7356TNJ", "saudi_arabia,latin", looking(jp=0.6), False),
        ("KA85426", "canada,latin", looking(cn=0.6), False),
        ("KA85426", "canada,latin", looking(cn=0.35), True),
        ("KA85426", "canada,latin", looking(ca=0.6), True),
    ],
)
def test_a_latin_text_on_a_plate_of_another_script_is_one_of_that_country(
    text: str, names: str, look: Appearance, told: bool
) -> None:
    """Such as the text of Saudi Arabia's lower row, and not what is left of a plate whose sign is not read."""
    schemes, decoder = tuple(names.split(",")), SchemeDecoder(load_schemes("world"))
    reading, lines = Reading(text, text, 0.99, scheme=schemes[0], schemes=schemes), load_scheme(schemes[0]).fewest_lines
    found = decoder.best_of([reading], lines, decoder.schemes, look)
    assert (found.text, found.best) == (text if told else "", text)


@pytest.mark.parametrize(
    ("look", "scheme", "text"),
    [
        (looking(ru=0.96), "kazakhstan", ""),
        (looking(ru=0.96), "latin", ""),
        (looking(ru=0.9), "kazakhstan", "797OP35"),
        (looking(kz=0.96), "kazakhstan", "797OP35"),
        (looking(unknown=0.96), "kazakhstan", "797OP35"),
        (looking(ru=0.96), "testland", "797OP35"),
    ],
)
def test_a_plate_that_certainly_looks_like_one_of_another_country_gets_no_text(
    look: Appearance, scheme: str, text: str, tmp_path: Path
) -> None:
    """Such as 797OP35 of X797OP35, which fits formats of other countries. The look of a new country is not known."""
    asked = [*load_schemes("russia,kazakhstan,latin"), replace(make_testland(tmp_path), country="xt")]
    told = Reading("797OP35", "797OP35", 0.99, scheme=scheme, schemes=(scheme,))
    partly = Reading("", "797OP35", 0.76, scheme="russia")
    found = best_of([partly, told], asked, look)
    assert (found.text, found.scheme) == (text, scheme if text else "russia")


@pytest.mark.parametrize(
    ("text", "names", "look", "told"),
    [
        ("SPRINTER", "latin", looking(unknown=0.9), False),
        ("SALE", "united_states,latin", looking(unknown=0.9), False),
        ("SALE", "united_states,latin", looking(us=0.9), True),
        ("5551234", "elsewhere,united_states,latin", looking("white", unknown=0.9), False),
        ("5551234", "elsewhere,united_states,latin", looking("yellow", unknown=0.9), True),
        ("5551234", "israel,united_states,latin", looking("yellow", unknown=0.9), False),
        ("5551234", "israel,united_states,latin", looking("yellow", il=0.9), True),
        ("5551234", "united_states,latin", looking(us=0.9), True),
        ("5551234", "mine", looking("white", unknown=0.9), True),
        ("CAR4U", "latin", looking(unknown=0.9), True),
    ],
)
def test_a_word_or_a_number_alone_is_a_text_on_what_looks_like_its_plate(
    tmp_path: Path, text: str, names: str, look: Appearance, told: bool
) -> None:
    own = write_testland(tmp_path, TESTLAND.replace("LL 9999", "999 9999").replace("testland", "mine"))
    elsewhere = replace(load_scheme("israel"), name="elsewhere", country="xt")  # its look is not known
    asked = (*load_schemes("israel,united_states,latin"), elsewhere, load_scheme(str(own)))
    reading = Reading(text, text, 0.99, scheme=names.partition(",")[0], schemes=tuple(names.split(",")))
    assert best_of([reading], asked, look).text == (text if told else "")


@pytest.mark.parametrize(
    ("asked", "ground", "text"),
    [
        ("germany,latin", "blue", ""),
        ("germany,latin", "yellow", "BAB123"),
        ("germany,united_states,latin", "blue", "BAB123"),
        ("latin", "blue", "BAB123"),
    ],
)
def test_a_blue_plate_has_no_text_of_countries_without_blue_plates(asked: str, ground: str, text: str) -> None:
    """Such as what is left of a Chinese plate whose first sign is hidden."""
    reading = Reading("BAB123", "BAB123", 0.99, scheme="latin", schemes=("latin",))
    assert best_of([reading], load_schemes(asked), looking(ground)).text == text


def test_the_appearance_helps_to_choose_between_readers() -> None:
    """Of two readers' texts for a plate, the less certain one may be more probable given the look."""
    asked = load_schemes("russia,kazakhstan")
    russian = Reading("A123BC77", "A123BC77", 0.95, scheme="russia")
    kazakh = Reading("123ABC02", "123ABC02", 0.9, scheme="kazakhstan")
    found = [best_of([russian, kazakh], asked, look).text for look in (None, looking(ru=0.9), looking(kz=0.9))]
    assert found == ["A123BC77", "A123BC77", "123ABC02"]
    unread = Reading("", "B123", 0.99, scheme="russia")
    assert best_of([unread, kazakh], asked, looking(ru=0.9)).text == "123ABC02", "a text comes first"
    assert best_of([unread], asked, looking(ru=0.99)).text == ""
