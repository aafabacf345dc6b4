"""Partly hidden plates: the text lacks what is hidden, and the rest fits no format."""

import numpy as np
import pytest

from tests.real_plates import RUSSIA, drawn
from training.reader.covered import can_cover, cover
from training.reader.samples import Samples
from training.real import RealPlate
from training.recipe.recipe import Mixture
from training.synthesis.camera import soften, take_photo
from training.synthesis.crops import HEIGHTS, Sight, draw_height


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
    assert len(texts) > 8
    assert "" in texts, "at times the whole lower part is hidden"


def test_a_plate_whose_symbols_cannot_be_placed_stays_as_it_is() -> None:
    foreign = RealPlate(np.zeros((40, 100, 3), np.uint8), np.zeros((4, 2), np.float32), "QQ123", True)
    assert not can_cover(RUSSIA, foreign)
    assert cover(RUSSIA, foreign, np.random.default_rng(0)) is foreign


@pytest.mark.parametrize("sight", HEIGHTS)
def test_plates_of_all_heights_are_drawn(sight: Sight) -> None:
    rng, (lowest, highest) = np.random.default_rng(0), HEIGHTS[sight]
    heights = [draw_height(rng, sight) for _ in range(300)]
    assert lowest <= min(heights) < 1.1 * lowest and 0.9 * highest < max(heights) <= highest


def test_far_plates_keep_their_place() -> None:
    rng = np.random.default_rng(0)
    plate = drawn("B126EK78")
    target = np.array([[8, 8], [45, 8], [45, 16], [8, 16]], np.float32)
    photos = [soften(take_photo(plate.picture, plate.corners, target, (53, 24), rng, 0.0), rng) for _ in range(30)]
    assert all(photo.shape == (24, 53, 3) for photo in photos)
    inside = np.mean([photo[10:14, 10:43] for photo in photos])
    outside = np.mean([photo[:, :5] for photo in photos])
    assert inside > outside + 30, "the white plate lies where it was asked for"


def test_far_and_covered_plates_are_among_the_samples() -> None:
    mixture = Mixture(real=1.0, straightened=1.0, shuffled=0.0, covered=0.5, far=0.5)
    samples = Samples(RUSSIA, [drawn("B126EK78")], [], batch=32, seed=1, mixture=mixture)
    batch = samples[0]
    full = int((batch.lengths == 8).sum())
    assert 4 < full < 28
