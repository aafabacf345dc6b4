"""Cuts of a film, and changes that are none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.cameras.cuts import Cuts


def scene(seed: int, bright: float) -> NDArray[np.uint8]:
    """A picture of large patches, dark or bright."""
    rng = np.random.default_rng(seed)
    patches = np.kron(rng.uniform(0, 60, (9, 16)), np.ones((10, 10)))
    return np.asarray(patches + 190 * bright, np.uint8)


DARK, BLACK, WHITE = scene(0, 0.1), np.zeros((90, 160), np.uint8), np.full((90, 160), 255, np.uint8)


@pytest.mark.parametrize(
    ("before", "after", "is_cut"),
    [
        (DARK, scene(1, 0.9), True),
        (DARK, scene(0, 0.9), False),
        (DARK, np.roll(DARK, 3, axis=1), False),
        (DARK, scene(1, 0.1), False),
        (BLACK, WHITE, True),
    ],
    ids=["another scene", "a lamp", "a shake", "traffic", "a single colour"],
)
def test_another_scene_is_a_cut_once(before: NDArray[np.uint8], after: NDArray[np.uint8], is_cut: bool) -> None:
    cuts = Cuts()
    assert [cuts.at(each) for each in (before, before, after, after)] == [False, False, is_cut, False]
