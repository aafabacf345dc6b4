"""CTC logits -> texts: merging, formats, and never inventing a symbol."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from plate_nets.common.errors import ContractError
from plate_nets.countries import PlateScheme, joined, load_scheme, load_schemes, main_scheme
from plate_nets.recognition.ctc import best_path, format_texts, log_softmax, text_log_probabilities, text_probability
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder, most_probable
from plate_nets.types import STEPS
from tests.schemes import make_testland
from tests.spelling import spell

RUSSIA = main_scheme()
BLANK, CLASSES, INDEX = RUSSIA.blank, RUSSIA.classes, RUSSIA.index


def test_no_plates_give_no_readings() -> None:
    assert PlateDecoder(RUSSIA).decode(np.zeros((0, CLASSES, STEPS), np.float32)) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("B911TO150", "private"),
        ("M076HM69", "private"),
        ("A777AA777", "private"),
        ("AA12377", "taxi"),
        ("AA123777", "taxi or trailer"),
        ("AA123477", "taxi or trailer"),
        ("1234AA77", "military"),
        ("A123477", "police"),
        ("AA123A77", "transit"),
        ("004T12377", "diplomatic"),
    ],
)
def test_the_decoder_reads_each_format(text: str, name: str) -> None:
    (reading,) = PlateDecoder(RUSSIA).decode(spell(text))
    assert (reading.text, reading.best, reading.format, reading.scheme) == (text, text, name, "russia")
    assert reading.confidence == min(reading.characters) > 0.9
    assert len(reading.characters) == len(text)


def test_the_number_of_lines_determines_the_format() -> None:
    decoder, logits = PlateDecoder(RUSSIA), np.concatenate([spell("B911TO150"), spell("1234A77")])
    one, two = (decoder.decode(logits, lines) for lines in (np.array([1, 1]), np.array([2, 2])))
    assert [each.format for each in one] == ["private", ""] and one[1].text == ""
    assert [each.format for each in two] == ["square", "police motorcycle"]
    assert decoder.decode(logits, np.array([2, 1])) == [two[0], one[1]]


@pytest.mark.parametrize(
    ("said", "place", "other", "meant"),
    [("A1238C77", 4, "B", "A123BC77"), ("A1230C77", 4, "O", "A123OC77"), ("A12OBC77", 3, "0", "A120BC77")],
)
def test_the_position_decides_between_letter_and_digit(said: str, place: int, other: str, meant: str) -> None:
    (reading,) = PlateDecoder(RUSSIA).decode(spell(said, doubts={place: (other, 8.5)}))
    assert reading.text == meant


@pytest.mark.parametrize("said", ["ABCABC", "1", "77777777", "A000BC77", "A123BC00", "A123BC012"])
def test_text_without_a_format_is_not_changed_into_a_plate(said: str) -> None:
    (reading,) = PlateDecoder(RUSSIA).decode(spell(said))
    assert (reading.text, reading.format, reading.best, len(reading.characters)) == ("", "", said, len(said))


def test_two_equally_probable_texts_are_not_certain() -> None:
    (reading,) = PlateDecoder(RUSSIA).decode(spell("A123BC77", doubts={1: ("7", 9.0)}))
    assert reading.text == ""
    assert 0.4 < reading.confidence < 0.6


def test_repeated_symbols_need_a_blank() -> None:
    logits = np.full((1, CLASSES, STEPS), -9, np.float32)
    logits[0, INDEX["7"], :3] = 9
    logits[0, BLANK, 3:] = 9
    assert best_path(log_softmax(logits)[0], RUSSIA).text == "7"


def test_an_empty_crop_has_no_text() -> None:
    (reading,) = PlateDecoder(RUSSIA).decode(spell(""))
    assert (reading.text, reading.best, reading.confidence, reading.characters) == ("", "", 0.0, ())


def test_the_beam_search_sums_over_paths_as_ctc_does() -> None:
    rng = np.random.default_rng(3)
    logits = spell("A123BC77", peak=4.0) + rng.normal(0, 0.3, (1, CLASSES, STEPS)).astype(np.float32)
    logp = log_softmax(logits)[0]
    candidate = most_probable(format_texts(logp, RUSSIA, width=200))
    assert candidate is not None
    assert candidate.probability == pytest.approx(text_probability(logp, candidate.text, RUSSIA), rel=0.05)


def plain_search(logp: np.ndarray, scheme: PlateScheme, width: int) -> dict[str, float]:
    """What `format_texts` should return: every prefix is built and ranked at each step."""
    beam, states = {"": (1.0, 0.0)}, {"": scheme.successors.start}
    for step in np.exp(logp.T.astype(np.float64)).tolist():
        grown: dict[str, list[float]] = {}
        for text, (blank, symbol) in beam.items():
            kept = grown.setdefault(text, [0.0, 0.0])
            kept[0] += (blank + symbol) * step[scheme.blank]
            kept[1] += symbol * step[scheme.index[text[-1]]] if text else 0.0
            for index, state in scheme.successors[states[text]].items():
                if step[index] > 1e-4:
                    longer = text + scheme.alphabet[index]
                    states[longer] = state
                    repeated = longer[-2:-1] == longer[-1]
                    grown.setdefault(longer, [0.0, 0.0])[1] += (blank if repeated else blank + symbol) * step[index]
        ranked = sorted(grown.items(), key=lambda item: sum(item[1]), reverse=True)
        beam = {text: (blank, symbol) for text, (blank, symbol) in ranked[:width]}
    return {text: sum(ways) for text, ways in beam.items() if scheme.is_plate(text)}


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("names", ["russia", "turkey,indonesia,united_states"])
def test_the_beam_search_only_leaves_out_what_cannot_enter_the_beam(names: str, width: int) -> None:
    scheme, rng = joined(load_schemes(names)), np.random.default_rng(3)
    texts = ("A123BC77", "A777AA777", "1234AA77") if names == "russia" else ("34ABC123", "B1234ABC", "ABC1234")
    found = 0
    for text in texts * 20:
        logits = spell(text, peak=5.0, scheme=scheme) + rng.normal(0, 1.5, (1, scheme.classes, STEPS))
        logp = log_softmax(logits.astype(np.float32))[0]
        expected = plain_search(logp, scheme, width)
        assert list(format_texts(logp, scheme, width).items()) == list(expected.items())
        found += len(expected)
    assert found


@pytest.mark.parametrize("text", ["A", "AB", "AA", "0AB"])
def test_a_texts_probability_is_that_of_all_its_paths(text: str) -> None:
    steps = 6
    logp = log_softmax(np.random.default_rng(3).normal(0, 2, (3, CLASSES, steps)).astype(np.float32))
    labels = [INDEX[character] for character in text]
    total = np.zeros(3)
    for path in itertools.product({*labels, BLANK}, repeat=steps):
        if labels == [symbol for symbol, _ in itertools.groupby(path) if symbol != BLANK]:
            total += np.exp(logp[:, path, range(steps)].sum(axis=1))
    assert [text_probability(each, text, RUSSIA) for each in logp] == pytest.approx(total, rel=1e-4)
    assert np.exp(text_log_probabilities(logp, ["B0A", text], RUSSIA)[:, 1]) == pytest.approx(total, rel=1e-4)


def test_the_probability_of_no_text_is_that_of_blanks_and_a_text_that_does_not_fit_into_the_steps_has_none() -> None:
    logp = log_softmax(spell("A777AA777", peak=1.0))
    assert text_probability(logp[0], "", RUSSIA) == pytest.approx(np.exp(logp[0, BLANK].sum()), rel=1e-4)
    assert text_log_probabilities(logp, ["A" * 10], RUSSIA).tolist() == [[-np.inf]]


def test_a_certain_text_may_be_spread_over_many_paths() -> None:
    logits = spell("A123BC78", peak=12.0)
    places = logits[0].argmax(axis=0)
    for step in np.flatnonzero(places[:-1] != BLANK):  # each symbol is as likely at one step as at two
        logits[0, places[step], step + 1] = logits[0, BLANK, step + 1]
    assert best_path(log_softmax(logits)[0], RUSSIA).probability < 0.01
    (reading,) = PlateDecoder(RUSSIA).decode(logits)
    assert reading.text == "A123BC78" and reading.confidence > 0.9


def test_a_possible_further_symbol_lowers_the_confidence() -> None:
    logits = spell("A123BC77")
    logits[0, :, -1] = -9
    logits[0, BLANK, -1], logits[0, INDEX["7"], -1] = np.log(0.85) + 9, np.log(0.15) + 9
    (reading,) = PlateDecoder(RUSSIA).decode(logits)
    assert reading.best == "A123BC77" and 0.8 < reading.confidence < 0.9


def test_a_plate_with_an_unknown_sign_has_no_text() -> None:
    latin = load_scheme("latin")
    decoder, seen = PlateDecoder(latin), spell("?A88731", scheme=latin)
    (reading,) = decoder.decode(seen)
    assert (reading.text, reading.best) == ("", "?A88731")
    overlooked = spell("A88731", scheme=latin)
    assert decoder.decode(overlooked)[0].text == "A88731"
    reading = decoder.read_together(decoder.look(np.concatenate([overlooked, seen, overlooked, overlooked])))
    assert (reading.text, reading.best) == ("", "?A88731"), "one look that sees the sign is enough"


def test_a_plate_that_is_read_on_one_side_only_has_no_text() -> None:
    """The signs on the left stand on two lines."""
    latin = load_scheme("latin")
    whole = spell("H14GN9239", scheme=latin)
    right = whole.copy()
    right[:, :, :10] = whole[:, :, [-1]]
    middle = spell("9239", scheme=latin)
    readings = PlateDecoder(latin).decode(np.concatenate([whole, middle, right]))
    assert [reading.text for reading in readings] == ["H14GN9239", "9239", ""]


@pytest.mark.parametrize(("text", "name", "told"), [("FALLY0U", "united_states", False), ("MVZ663U", "taiwan", True)])
def test_a_text_that_no_format_supports_must_be_more_certain(text: str, name: str, told: bool) -> None:
    """Personal plates may have any sign anywhere; those of Taiwan have letters first."""
    scheme = load_scheme(name)
    logits = spell(text.replace("U", "0") if told else text, doubts={3: ("8", 7.2)}, scheme=scheme)
    (reading,) = PlateDecoder(scheme).decode(logits)
    assert bool(reading.text) == told


@pytest.mark.parametrize(("blank", "told"), [(8.8, ""), (9.3, "A123B77")])
def test_no_format_takes_a_sign_away_that_is_seen(blank: float, told: str) -> None:
    """A Russian plate, read as a US one, whose formats only have its text without the C."""
    states = load_scheme("united_states")
    logits = spell("A123BC77", scheme=states)
    (step,) = np.flatnonzero(logits[0, states.index["C"]])
    logits[0, states.blank, step] = blank
    (reading,) = PlateDecoder(states, DecodingSettings(sure=0.0)).decode(logits)
    assert reading.text == told


@pytest.mark.parametrize(("sure", "text"), [(0.5, "A123BC77"), (0.99, "")])
def test_the_threshold_is_a_setting(sure: float, text: str) -> None:
    (reading,) = PlateDecoder(RUSSIA, DecodingSettings(sure=sure)).decode(spell("A123BC77", doubts={1: ("7", 7.5)}))
    assert reading.text == text


def test_logits_of_another_number_of_classes_are_refused() -> None:
    with pytest.raises(ContractError, match=r"logits: expected \(N, 23, 18\) for the scheme russia, got \(1, 29, 18\)"):
        PlateDecoder(RUSSIA).decode(np.zeros((1, 29, STEPS), np.float32))


def test_another_scheme_reads_its_own_formats(tmp_path: Path) -> None:
    """A digit is more probable where only a letter is allowed."""
    scheme = make_testland(tmp_path)
    logits = np.concatenate([spell("DG1234", doubts={1: ("6", 9.5)}, scheme=scheme), spell("1234ZWF", scheme=scheme)])
    readings = PlateDecoder(scheme, DecodingSettings(sure=0.5)).decode(logits)
    assert [reading.text for reading in readings] == ["DG1234", "1234ZWF"]


def test_a_text_whose_probability_is_zero_as_a_number_is_none() -> None:
    """After a whole text, the other steps are certain of a symbol that no format allows there."""
    logits = np.zeros((2, CLASSES, STEPS), np.float32)
    logits[:, [INDEX[symbol] for symbol in "A123BC77" + "5M" * 5], range(STEPS)] = 2000
    decoder = PlateDecoder(RUSSIA)
    assert [reading.text for reading in decoder.decode(logits)] == ["", ""]
    assert decoder.read_together(decoder.look(logits)).text == ""
