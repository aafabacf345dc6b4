"""Plates that are smeared by their own movement in a video."""

import numpy as np

from plate_nets.types import Frame
from tests.real_plates import RUSSIA, drawn
from training.reader.samples import Samples
from training.recipe.recipe import Mixture
from training.synthesis.camera import smear, take_photo


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
