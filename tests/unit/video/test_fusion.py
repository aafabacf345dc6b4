"""The evidence of a track's frames -> a text: CTC forward probabilities, sums with a floor, the gate."""

from itertools import product

import numpy as np
import pytest

from plate_nets.recognition.decoding import log_softmax
from plate_nets.types import Logits
from plate_nets.video.fusion import Fusion, FusionSettings, log_probabilities, view
from tests.spelling import RUSSIA, spell


def fused(frames: list[Logits], settings: FusionSettings = FusionSettings()) -> Fusion:
    fusion = Fusion(RUSSIA, settings)
    for logits in frames:
        fusion.add(view(logits[0], RUSSIA, settings.beam_width))
    return fusion


def test_the_forward_probability_is_the_sum_over_all_alignments() -> None:
    rng = np.random.default_rng(0)
    logp = log_softmax(rng.normal(0, 1.5, (3, RUSSIA.classes, 6)).astype(np.float32))

    def spelt(path: tuple[int, ...]) -> tuple[int, ...]:
        merged = [now for before, now in zip((-1, *path), path, strict=False) if now != before]
        return tuple(index for index in merged if index != RUSSIA.blank)

    for text in ("A", "AA", "0AB"):
        labels = tuple(RUSSIA.index[symbol] for symbol in text)
        paths = product({*labels, RUSSIA.blank}, repeat=6)
        expected = np.zeros(3)
        for path in paths:
            if spelt(path) == labels:
                expected += np.exp(logp[:, path, range(6)].sum(axis=1))
        found = log_probabilities(logp, ["B0A", text], RUSSIA)[:, 1]
        assert found == pytest.approx(np.log(expected), rel=1e-5)


def test_a_text_that_does_not_fit_into_the_steps_is_impossible() -> None:
    (found,) = log_probabilities(log_softmax(spell("A777AA777")), ["A" * 10], RUSSIA)
    assert found == [-np.inf]


def test_frames_that_agree_make_a_text_surer() -> None:
    doubtful = spell("A123BC77", doubts={4: ("8", 7.0)})
    one, five = fused([doubtful]).verdict, fused([doubtful] * 5).verdict
    assert one.text == five.text == "A123BC77"
    assert 0.5 < one.probability < five.probability
    assert five.lead == pytest.approx(5 * one.lead)


def test_frames_correct_each_other_where_none_is_right_alone() -> None:
    # each frame misreads another character; in the others the right one is the likelier
    frames = [spell("A123BC77", doubts={place: (wrong, 9.5)}) for place, wrong in ((1, "7"), (3, "8"), (6, "1"))]
    fusion = fused(frames)
    assert "A123BC77" not in fusion.readings
    assert fusion.verdict.text == "A123BC77"
    assert fusion.verdict.probability > 0.99


def test_one_bad_frame_does_not_outvote_the_others() -> None:
    fusion = fused([spell("A123BC77")] * 3 + [spell("X900KO99", peak=30.0)])
    assert fusion.verdict.text == "A123BC77"
    assert fusion.verdict.sure


def test_the_gate_holds_for_a_clear_frame_and_not_for_two_equal_texts() -> None:
    assert fused([spell("A123BC77", peak=12.0)]).verdict.sure
    assert not fused([spell("A123BC77", doubts={4: ("K", 9.0)})] * 4).verdict.sure


def test_a_frame_without_any_text_leaves_no_verdict() -> None:
    blank = np.zeros((1, RUSSIA.classes, 18), np.float32)
    blank[0, RUSSIA.blank] = 20
    verdict = fused([blank]).verdict
    assert (verdict.text, verdict.probability, verdict.sure, verdict.characters()) == ("", 0.0, False, ())


def test_frames_and_texts_are_bounded_and_the_surest_frames_stay() -> None:
    settings = FusionSettings(frames=5, texts=6)
    rng = np.random.default_rng(1)
    weak = [rng.normal(0, 2.5, (1, RUSSIA.classes, 18)).astype(np.float32) for _ in range(30)]
    fusion = fused([*weak, *[spell("A123BC77")] * 5, *weak], settings)
    assert len(fusion) == 5 and fusion.readings == ["A123BC77"] * 5
    assert len(fusion.verdict.texts) <= 6
    assert fusion.verdict.text == "A123BC77" and fusion.verdict.sure


def test_a_doubtful_character_is_less_probable_than_the_others() -> None:
    characters = fused([spell("A123BC77", doubts={4: ("K", 8.0)})]).verdict.characters()
    assert len(characters) == 8
    assert min(range(8), key=characters.__getitem__) == 4 and characters[4] < 0.9 < characters[3]


def test_joined_tracks_say_what_all_their_frames_say() -> None:
    first, second = (
        [spell("A123BC77", doubts={1: ("7", 9.2)})] * 2,
        [spell("A123BC77", doubts={6: ("1", 9.2)})] * 2,
    )
    joined, whole = fused(first), fused([*first, *second])
    joined.join(fused(second))
    assert dict(joined.verdict.texts) == pytest.approx(dict(whole.verdict.texts))
    assert joined.readings == whole.readings


def test_the_probability_of_any_text_can_be_asked_for() -> None:
    fusion = fused([spell("A123BC77", doubts={4: ("K", 8.9)})])
    assert fusion.probability("A123KC77") == dict(fusion.verdict.texts)["A123KC77"] > 0.4
    assert fusion.probability("A128BC77") < 1e-3
    assert fused([]).probability("A123BC77") == 0.0
