"""Plates seen from a distance, smeared by their own movement, or coded, as the reader gets them."""

import cv2
import numpy as np
import pytest

from plate_nets.evaluation.coding import code_jpeg
from plate_nets.types import Frame
from tests.real_plates import RUSSIA, drawn
from training.reader.samples import Samples
from training.recipe.recipe import Mixture
from training.synthesis.camera import smear, soften, take_photo
from training.synthesis.coding import code_h264, moved
from training.synthesis.crops import HEIGHTS, Sight, draw_height


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


def photos(moving: bool) -> list[Frame]:
    """40 photos (60, 160) of a plate in the middle, 26 px high."""
    plate, target = drawn("B126EK78"), np.array([[20, 17], [140, 17], [140, 43], [20, 43]], np.float32)
    rngs = [np.random.default_rng(seed) for seed in range(40)]
    still = [take_photo(plate.picture, plate.corners, target, (160, 60), rng, 0.0) for rng in rngs]
    return [smear(photo, 26, rng) for photo, rng in zip(still, rngs, strict=True)] if moving else still


def detail(pictures: list[Frame], axis: int) -> float:
    """How much neighbouring pixels of the plates differ along an axis."""
    return float(np.mean([np.abs(np.diff(each[20:40, 25:135].astype(float), axis=axis)).mean() for each in pictures]))


def test_movement_smears_a_plate_more_down_than_along_and_leaves_it_in_its_place() -> None:
    still, moving = photos(moving=False), photos(moving=True)
    assert all(each.shape == (60, 160, 3) and each.dtype == np.uint8 for each in moving)
    kept_down, kept_along = (detail(moving, axis) / detail(still, axis) for axis in (0, 1))
    assert kept_down < 0.8 * kept_along
    inside = np.mean([each[27:33, 30:130] for each in moving])
    outside = np.mean([each[:, :8] for each in moving])
    assert inside > outside + 30, "the white plate lies where it was asked for"


def test_smeared_plates_are_among_the_samples_and_a_batch_depends_only_on_its_step() -> None:
    def batch(moving: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        mixture = Mixture(real=0.5, empty=0.0, straightened=1.0, moving=moving)
        return Samples(RUSSIA, [drawn("B126EK78")], [], batch=12, seed=1, mixture=mixture)[3].crops

    assert (batch(1.0) == batch(1.0)).all()
    assert (batch(1.0) != batch(0.0)).any()


NOISE = np.random.default_rng(0).integers(0, 255, (61, 121, 3), np.uint8)
PICTURE = np.asarray(cv2.GaussianBlur(NOISE, (0, 0), 3), np.uint8)


def test_a_coded_picture_differs_only_by_the_loss_of_the_codec() -> None:
    """Odd sizes work; coarser coding loses more."""
    fine, coarse = (code_h264([PICTURE], crf)[-1] for crf in (10, 45))
    assert fine.shape == PICTURE.shape
    fine_loss, coarse_loss = (np.abs(each.astype(int) - PICTURE).mean() for each in (fine, coarse))
    assert fine_loss < coarse_loss
    assert code_jpeg(PICTURE, 40).shape == PICTURE.shape


def test_coding_keeps_the_number_and_order_of_frames() -> None:
    frames = [moved(PICTURE, right, 0) for right in (0, 6, 12)]
    coded = code_h264(frames, 10)
    assert len(coded) == 3
    losses = np.array([[np.abs(a.astype(int) - b).mean() for b in frames] for a in coded])
    assert (losses.argmin(axis=1) == [0, 1, 2]).all()
