"""The evidence of a track's frames -> a text: looks, the gate."""

import pickle
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from plate_nets.cameras.fusion import Fusion, FusionSettings, View, view
from plate_nets.common.errors import InputError
from plate_nets.recognition.decoding import shares
from plate_nets.types import Box, Logits
from tests.spelling import RUSSIA, spell


def seen(logits: Logits, x: float = 0.0, height: float = 24.0, beam_width: int = FusionSettings.beam_width) -> View:
    """The evidence of a frame for a plate at a place."""
    return view(logits[0], RUSSIA, beam_width, Box(x, 0.0, x + 4 * height, height))


def fused(frames: Iterable[Logits], settings: FusionSettings = FusionSettings(), apart: float = 0.0) -> Fusion:
    """Fused frames. Each plate is so many px to the right of the one before: in one look or in several."""
    fusion = Fusion(RUSSIA, settings)
    for number, logits in enumerate(frames):
        fusion.add(seen(logits, apart * number, beam_width=settings.beam_width))
    return fusion


@pytest.mark.parametrize("looks", [1, 3])
def test_agreeing_looks_raise_the_certainty_and_repetition_does_not(looks: int) -> None:
    doubtful = spell("A123BC77", doubts={4: ("8", 7.0)})
    fusion, more = (fused([doubtful] * count, apart=100) for count in (looks, looks + 2))
    before = fusion.verdict
    for _ in range(300):
        fusion.add(seen(doubtful, x=100.0 * (looks - 1)))
    assert before.text == fusion.verdict.text == more.verdict.text == "A123BC77"
    assert fusion.verdict.probability == pytest.approx(before.probability)
    assert 0.5 < before.probability < more.verdict.probability
    assert (before.looks, fusion.verdict.looks, more.verdict.looks) == (looks, looks, looks + 2)


def test_disagreeing_frames_count_as_much_as_more_certain_ones() -> None:
    """A parked car: most frames read one text at 0.7, the most certain few another."""
    frames = [spell("A123BC77", doubts={7: ("1", 7.5)})] * 93 + [spell("A123BC71", doubts={7: ("7", 6.0)})] * 27
    verdict = fused(frames).verdict
    assert verdict.text == "A123BC77" and not verdict.sure


def test_a_large_plate_counts_more_than_a_small_one() -> None:
    fusion = Fusion(RUSSIA)
    for number in range(3):
        fusion.add(seen(spell("A123YC77", doubts={4: ("K", 7.0)}), 100.0 * number, 6.0))
    fusion.add(seen(spell("A123KC77", doubts={4: ("Y", 6.0)}), 1000.0, 30.0))
    assert fusion.verdict.text == "A123KC77"


def test_the_order_of_frames_does_not_change_the_verdict() -> None:
    rng = np.random.default_rng(3)
    frames = [spell("A123BC77", doubts={int(rng.integers(8)): ("1", float(rng.uniform(4, 9.5)))}) for _ in range(16)]
    probabilities = []
    for order in (range(16), reversed(range(16)), rng.permutation(16)):
        fusion = Fusion(RUSSIA)
        for number in order:
            fusion.add(seen(frames[number], x=150.0 * (number // 4)))
        assert (fusion.verdict.text, fusion.verdict.looks) == ("A123BC77", 4)
        probabilities.append(fusion.verdict.probability)
    assert probabilities == pytest.approx([probabilities[0]] * 3, abs=1e-3)


def test_two_plates_in_one_box_and_half_a_plate_have_no_sure_text() -> None:
    frames = [spell("A123BC77"), spell("X900KO99")] * 10
    assert not fused(frames).verdict.sure and not fused(frames, apart=100).verdict.sure
    assert fused([spell("A123")] * 20, apart=100).verdict.text == ""


def test_evidence_that_fits_no_text_makes_none_most_probable() -> None:
    rng = np.random.default_rng(4)
    fusion = fused((rng.normal(0, 2.5, (1, RUSSIA.classes, 18)).astype(np.float32) for _ in range(40)), apart=30)
    assert fusion.verdict.none > fusion.verdict.probability
    total = fusion.verdict.none + sum(probability for _, probability in fusion.verdict.texts)
    assert total == pytest.approx(1.0)


def test_frames_correct_each_other_even_if_each_is_wrong() -> None:
    # each frame misreads another character; the others favour the right one
    frames = [spell("A123BC77", doubts={place: (wrong, 9.5)}) for place, wrong in ((1, "7"), (3, "8"), (6, "1"))]
    fusion = fused(frames, apart=100)
    assert "A123BC77" not in fusion.readings
    assert fusion.verdict.text == "A123BC77" and fusion.verdict.probability > 0.99


def test_one_bad_frame_does_not_outvote_the_others() -> None:
    verdict = fused([spell("A123BC77")] * 3 + [spell("X900KO99", peak=30.0)], apart=100).verdict
    assert verdict.text == "A123BC77" and verdict.probability > 0.9


def test_a_clear_frame_passes_the_threshold_and_two_equal_texts_do_not() -> None:
    assert fused([spell("A123BC77", peak=12.0)]).verdict.sure
    assert not fused([spell("A123BC77", doubts={4: ("K", 9.0)})] * 4, apart=100).verdict.sure
    doubtful = fused([spell("A123BC77", doubts={4: ("K", 6.7)})]).verdict
    assert not doubtful.sure and 0.5 < doubtful.probability < 0.999
    assert fused([spell("A123BC77", doubts={4: ("K", 6.7)})], FusionSettings(sure=0.5)).verdict.sure


@pytest.mark.parametrize("sure", [0.0, 1.0, -1.0, 99.0])
def test_a_threshold_that_is_not_a_probability_is_refused(sure: float) -> None:
    with pytest.raises(InputError, match="sure: expected a probability between 0 and 1"):
        FusionSettings(sure=sure)


def test_a_text_without_rivals_competes_with_similar_texts() -> None:
    narrow = FusionSettings(beam_width=1)  # sees one text, though another is nearly as probable
    frames = [spell("A123BC77", peak=16.0, doubts={6: ("1", 15.9)})] * 3
    verdict = fused(frames, narrow).verdict
    assert [text for text, _ in verdict.texts[:2]] == ["A123BC77", "A123BC17"]
    assert verdict.texts[1][1] > 0.4 and not verdict.sure
    assert fused(frames, replace(narrow, rivals=0)).verdict.sure


def test_a_frame_without_any_text_leaves_no_verdict() -> None:
    blank = np.zeros((1, RUSSIA.classes, 18), np.float32)
    blank[0, RUSSIA.blank] = 20
    verdict = fused([blank]).verdict
    assert (verdict.text, verdict.probability, verdict.sure) == ("", 0.0, False)


def test_the_kept_frames_are_a_limited_random_sample() -> None:
    settings = FusionSettings(looks=4, views=8, texts=6)
    rng = np.random.default_rng(1)
    parked = [spell("A123BC77")] * 210 + [spell("X900KO99")] * 90
    fusion = fused(parked, settings)
    assert len(fusion) == 300 and fusion.readings == {"A123BC77": 210, "X900KO99": 90}
    for number in range(30):
        fusion.add(seen(rng.normal(0, 2.5, (1, RUSSIA.classes, 18)).astype(np.float32), x=200.0 * number))
    assert fusion.verdict.looks <= 4 and len(fusion.verdict.texts) <= 6 and len(fusion.readings) <= 100
    shared = len(pickle.dumps(RUSSIA))  # the scheme, which grows as it is used
    assert len(pickle.dumps(fusion)) - shared < 80_000


def test_a_doubtful_character_is_less_probable_than_the_others() -> None:
    verdict = fused([spell("A123BC77", doubts={4: ("K", 8.0)})]).verdict
    characters = shares(verdict.text, dict(verdict.texts))
    assert len(characters) == 8
    assert min(range(8), key=characters.__getitem__) == 4 and characters[4] < 0.9 < characters[3]


def test_joined_tracks_combine_all_their_frames() -> None:
    first, second = ([spell("A123BC77", doubts={1: ("7", 9.2)})] * 2, [spell("A123BC77", doubts={6: ("1", 9.2)})] * 2)
    joined, whole = fused(first), fused([*first, *second])
    joined.join(fused(second))
    assert joined.verdict.text == whole.verdict.text == "A123BC77"
    assert joined.verdict.probability == pytest.approx(whole.verdict.probability, abs=1e-6)
    assert joined.readings == whole.readings


def test_the_probability_of_any_text_can_be_computed() -> None:
    fusion = fused([spell("A123BC77", doubts={4: ("K", 8.9)})])
    assert fusion.probability("A123KC77") == dict(fusion.verdict.texts)["A123KC77"] > 0.4
    assert 0 < fusion.probability("A128BC77") < 1e-2
    assert fused([]).probability("A123BC77") == 0.0
