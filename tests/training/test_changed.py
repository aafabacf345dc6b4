"""Plates made from real ones: symbols change places, or are hidden, and the text says what is left."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from tests.real_plates import RUSSIA, drawn
from training.reader.changed import can_cover, can_shuffle, cover, shuffle
from training.real import RealPlate

TEXT = "B126EK78"


def test_symbols_stay_in_their_group_and_the_rest_of_the_photo_stays_as_it_is() -> None:
    plate = drawn(TEXT)
    texts = set()
    for seed in range(20):
        other = shuffle(RUSSIA, plate, np.random.default_rng(seed))
        assert sorted(other.text[1:4]) == list("126") and sorted(other.text[6:]) == list("78")
        assert sorted(other.text[0] + other.text[4:6]) == list("BEK")
        assert np.array_equal(other.picture[:15], plate.picture[:15])
        assert (other.text == plate.text) == np.array_equal(other.picture, plate.picture)
        texts.add(other.text)
    assert len(texts) > 10


def test_a_shuffled_picture_shows_its_text() -> None:
    """Each cell looks more like the drawing of the new text than like that of the old."""
    plate = drawn(TEXT)
    others = (shuffle(RUSSIA, plate, np.random.default_rng(seed)) for seed in range(20))
    other = next(each for each in others if each.text[1:4] == "621")
    expected = drawn(other.text).picture.astype(float)
    distance, before = (np.abs(each.picture - expected).mean() for each in (other, plate))
    assert distance < 0.75 * before


def test_a_blurred_plate_is_not_changed() -> None:
    plate = drawn(TEXT)
    blurred = replace(plate, picture=np.asarray(cv2.GaussianBlur(plate.picture, (0, 0), 9), np.uint8))
    assert shuffle(RUSSIA, blurred, np.random.default_rng(0)).text == plate.text


@pytest.mark.parametrize(("text", "exact"), [("AA12377", True), (TEXT, False)])
def test_only_private_plates_with_true_corners_are_shuffled(text: str, exact: bool) -> None:
    plate = RealPlate(np.zeros((40, 100, 3), np.uint8), np.zeros((4, 2), np.float32), text, exact)
    assert not can_shuffle(RUSSIA, plate)
    assert can_shuffle(RUSSIA, drawn(TEXT))


@pytest.mark.parametrize("text", ["B126EK78", "B126EK178", "AB12377"])
def test_hidden_symbols_are_removed_and_the_rest_is_not_a_plate(text: str) -> None:
    plate = drawn(text)
    texts = set()
    for seed in range(60):
        hidden = cover(RUSSIA, plate, np.random.default_rng(seed))
        assert not RUSSIA.is_plate(hidden.text)
        assert len(hidden.text) < len(text)
        rest = iter(text)
        assert all(symbol in rest for symbol in hidden.text), "the symbols keep their order"
        assert (hidden.picture != plate.picture).any()
        texts.add(hidden.text)
    assert len(texts) > 8 and "" in texts, "at times the whole lower part is hidden"


def test_a_plate_whose_symbols_cannot_be_placed_stays_as_it_is() -> None:
    foreign = RealPlate(np.zeros((40, 100, 3), np.uint8), np.zeros((4, 2), np.float32), "QQ123", True)
    assert not can_cover(RUSSIA, foreign)
    assert cover(RUSSIA, foreign, np.random.default_rng(0)) is foreign
