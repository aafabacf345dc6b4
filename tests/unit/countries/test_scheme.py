"""A scheme read from TOML: which texts fit, what may follow a prefix, and the errors of a faulty file."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest

from plate_nets.common.errors import SchemeError
from plate_nets.countries import joined, load_scheme, load_schemes, main_scheme
from plate_nets.countries.automaton import Rest
from plate_nets.countries.scheme import PlateScheme
from tests.schemes import TESTLAND, make_testland, write_testland
from training.synthesis.texts import sample_text

RUSSIA = main_scheme()


@pytest.mark.parametrize(
    ("lines", "text", "names"),
    [
        (1, "B911TO150", "private"),
        (1, "M076HM69", "private"),
        (1, "AA12377", "taxi"),
        (1, "AA123477", "taxi trailer"),
        (1, "1234AA77", "military"),
        (1, "A123477", "police"),
        (1, "AA123A77", "transit"),
        (1, "004T12377", "diplomatic"),
        (1, "TAB12377", "export"),
        (1, "123A77", "police trailer"),
        *((1, text, "") for text in ("A000BC77", "A123BC00", "A123BC012", "1234AA777", "A123BC7", "D123BC77", "")),
        (2, "B911TO150", "square"),
        (2, "1234AA77", "tractor motorcycle"),
        (2, "1234A77", "police motorcycle"),
        (2, "AA12377", ""),
    ],
)
def test_the_formats_of_russian_texts(lines: int, text: str, names: str) -> None:
    scheme = RUSSIA.by_lines[lines]
    assert " ".join(each.name for each in scheme.formats_of(text)) == names
    assert scheme.is_plate(text) == bool(names) and (not names or walk(scheme, text) is not None)
    assert scheme.by_lines[3 - lines].formats == () and scheme.sha256 == RUSSIA.sha256


def test_the_shape_gives_the_lines_if_a_country_has_only_long_plates() -> None:
    russia = {lines: RUSSIA.by_shape[lines].format_names("B911TO150") for lines in (1, 2)}
    america = {lines: load_scheme("united_states").by_shape[lines].is_plate("ABC1234") for lines in (1, 2)}
    anywhere = {lines: load_scheme("latin").by_shape[lines].format_names("ABC1234") for lines in (1, 2)}
    assert russia == {1: "private", 2: "square"} and america == {1: True, 2: True}
    assert anywhere == {1: "any", 2: "any or any of two lines"}
    both = joined(load_schemes("turkey,united_states"))
    owners = {text: [scheme.name for scheme in both.by_shape[2].owners(text)] for text in ("34ABC123", "1ABC234")}
    assert owners == {"34ABC123": ["turkey"], "1ABC234": ["united_states"]} and not both.by_lines[2].is_plate("1ABC234")


def test_a_fit_contains_the_parts_of_the_text() -> None:
    (fit,) = RUSSIA.by_lines[1].fits("B911TO150")
    assert (fit.format.name, fit.patterns, fit.parts) == ("private", ("A000AA", "100"), ("B911TO", "150"))


def test_the_alphabet_determines_classes_and_hash() -> None:
    assert (RUSSIA.blank, RUSSIA.classes, RUSSIA.index["A"], RUSSIA.lines) == (22, 23, 10, 2)
    assert RUSSIA.sha256 == hashlib.sha256(b"0123456789ABEKMHOPCTYX").hexdigest()
    assert pickle.loads(pickle.dumps(RUSSIA)) == RUSSIA


def walk(scheme: PlateScheme, text: str) -> Rest | None:
    """The state after a text; None if a symbol may not follow."""
    state: Rest | None = scheme.successors.start
    for symbol in text:
        if state is not None:
            state = scheme.successors[state].get(scheme.index[symbol])
    return state


@pytest.mark.parametrize("country", ["russia", "testland"])
def test_every_text_of_the_scheme_can_be_spelled_step_by_step(country: str, tmp_path: Path) -> None:
    scheme = RUSSIA if country == "russia" else make_testland(tmp_path)
    rng = np.random.default_rng(0)
    drawn = [sample_text(scheme, rng) for _ in range(500)]
    assert {kind for kind, _ in drawn} == {each.name for each in scheme.formats}
    for kind, text in drawn:
        assert kind in {each.name for each in scheme.formats_of(text)}
        assert walk(scheme, text) is not None


def test_a_text_that_fits_no_format_has_no_state() -> None:
    assert walk(RUSSIA, "A12B") is None
    assert walk(RUSSIA, "A123BC012") is None, "a region code of three digits begins with 1 to 9"
    end = walk(RUSSIA, "A123BC777")
    assert end is not None and RUSSIA.successors[end] == {}


def test_another_country(tmp_path: Path) -> None:
    scheme = make_testland(tmp_path)
    assert scheme.classes == 29 and scheme.sha256 != RUSSIA.sha256
    assert [each.name for each in scheme.formats_of("DG0000")] == ["car"]
    assert [each.name for each in scheme.formats_of("1234ZWF")] == ["lorry"]
    assert not scheme.is_plate("A123HK77")
    assert scheme.synthesis.shares == {"car": 0.5, "lorry": 0.5}


def test_a_relative_scheme_file_is_relative_to_the_folder(tmp_path: Path) -> None:
    write_testland(tmp_path)
    assert load_scheme("testland.toml", tmp_path).name == "testland"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("lines", "line", "lines: expected 1"),
        ("0123456789ACDE", "0123456789ACDA", "alphabet: expected every symbol once, got 'A' twice"),
        ("0123456789ACDE", "0123456789AC\u0e34DE", "alphabet: expected signs that stand alone, got '\\u"),
        ("0123456789ACDE", "0123456789AC\u1161DE", "alphabet: expected signs that stand alone, got '\\u"),
        ("lines = 1", 'lines = 1\nwords = { B = "BUS" }', "words.B: expected symbols of the alphabet 0123456789ACDEFG"),
        ('"LL 9999"', '"LQ 9999"', "formats[1].pattern: expected signs of 9 L, got 'Q' in 'LQ 9999'"),
        ('"9999 LLL"', '"9999  LLL"', "formats[2].pattern: expected parts separated by one space, and patterns"),
        ('"9999 LLL"', '"9999999999 LLLLLLLLL"', "formats[2].pattern: expected at most 18 symbols"),
        ('name = "lorry"', 'name = "car"', "formats: expected every name once, got 'car' twice"),
        ('name = "lorry"\n', "", "formats[2].name: expected a text, got none"),
        ('name = "lorry"', 'name = "lorry"\ncolour = "red"', "formats[2].colour: expected one of design, name, "),
        ('name = "lorry"', 'name = "lorry"\ndesign = 5', "formats[2].design: expected a name, got 5"),
        ("lines = 1", "lines = 3", "lines: expected 1 or 2, got 3"),
        ("lines = 1", "lines = true", "lines: expected 1 or 2, got True"),
        ('"9999 LLL"', '"9999 / LLL"', "formats[2].pattern: expected at most 1 line, as in the key lines, got"),
        ("lines = 1", "lines = 1\nplates = 3", "plates: expected one of alphabet, any_shape, country, formats, "),
        ("lines = 1", 'lines = 1\ncountry = "RUS"', "country: expected two lower-case letters, ISO 3166 alpha-2, got"),
        ("lines = 1", 'lines = 1\nnot_issued = ["0A"]', "not_issued: expected digits of 0123456789, got '0A'"),
        ('9 = "0123456789"', '9 = "01234567890"', "signs.9: expected every symbol once, got '0' twice"),
        ('9 = "0123456789"', '9 = "012345678_"', "signs.9: expected symbols of the alphabet 0123456789ACDEFG"),
        ('9 = "0123456789"', '"99" = "0"', "signs.99: expected one character, except a space, | and /"),
        ("[signs]", "[synthesis.shares]\ncar = 1\n[signs]", "shares.lorry: expected a share of 0 to 1, got none"),
        ("[signs]", "[synthesis.shares]\ncar = 1\nlorry = 1\n[signs]", "shares: expected shares that add up to 1"),
        ("[signs]", "[synthesis.ways.bus]\n9 = 1\n[signs]", "synthesis.ways.bus: expected one of car, lorry, got an"),
        ("[signs]", '[synthesis.codes.LL]\nissued = ["A1"]\n[signs]', "LL.issued: expected texts of the pattern LL"),
        ("lines = 1", 'lines = 1\nwords = { A = "bus" }', "got 'bus', which becomes 'BUS'"),
        (TESTLAND[TESTLAND.index("[[formats]]") :], "", "formats: expected at least one format, got none"),
        ("[signs]", "[signs", "expected TOML in UTF-8, got"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_refused_in_one_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in TESTLAND
    path = write_testland(tmp_path, TESTLAND.replace(old, new))
    with pytest.raises(SchemeError) as caught:
        load_scheme(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert says in message


@pytest.mark.parametrize(
    ("sign", "becomes"),
    [("a", "A"), ("\uff21", "A"), ("\u0410", "A"), ("\u212b", "\xc5"), ("\u3131", "\u1100"), (" ", ""), ("\xb7", "")],
)
def test_a_sign_that_lists_and_searches_would_not_find_is_refused(sign: str, becomes: str, tmp_path: Path) -> None:
    path = write_testland(tmp_path, TESTLAND.replace("ACDEFG", f"{sign}CDEFG"))
    with pytest.raises(SchemeError) as caught:
        load_scheme(str(path))
    says = f"signs.L: expected signs that lists and searches keep, got {sign!a}, which becomes {becomes!a}"
    assert str(caught.value).endswith(says)


def test_a_missing_scheme_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemeError, match=r"expected algeria or .* or vietnam, or a file \*\.toml, got 'atlantis'"):
        load_scheme("atlantis")
    with pytest.raises(SchemeError, match=r"none\.toml: No such file"):
        load_scheme("none.toml", tmp_path)


def test_signs_may_share_symbols() -> None:
    """A digit that is not 0 is also a digit, so a prefix may still become several formats."""
    assert walk(RUSSIA, "A123BC0") != walk(RUSSIA, "A123BC7")


def test_many_formats_are_read(tmp_path: Path) -> None:
    many = "".join(f'\n[[formats]]\nname = "{number}"\npattern = "{"L" * (number % 9 + 1)}"\n' for number in range(900))
    scheme = load_scheme(str(write_testland(tmp_path, TESTLAND + many)))
    assert len(scheme.formats) == 902 and walk(scheme, "CDEF") is not None and scheme.is_plate("CDEF")
