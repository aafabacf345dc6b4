"""Cuts of a film, and changes that are none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.cameras.cuts import Cuts

SIZE = (90, 160)


def scene(seed: int, bright: float = 0.5) -> NDArray[np.uint8]:
    """A picture of large patches, dark or bright."""
    rng = np.random.default_rng(seed)
    patches = np.kron(rng.uniform(0, 60, (9, 16)), np.ones((10, 10)))
    return np.asarray(patches + 190 * bright, np.uint8)


def test_another_scene_is_a_cut_once() -> None:
    cuts = Cuts()
    assert [cuts.at(scene(*each)) for each in ((0, 0.1), (0, 0.1), (1, 0.9), (1, 0.9))] == [False, False, True, False]


@pytest.mark.parametrize("after", [scene(0, 0.9), np.roll(scene(0, 0.1), 3, axis=1), scene(1, 0.1)])
def test_a_lamp_a_shake_or_traffic_is_not_a_cut(after: NDArray[np.uint8]) -> None:
    cuts = Cuts()
    cuts.at(scene(0, 0.1))
    assert not cuts.at(after)


def test_pictures_of_a_single_colour_can_be_compared() -> None:
    cuts = Cuts()
    assert [cuts.at(np.full(SIZE, level, np.uint8)) for level in (0, 0, 255)] == [False, False, True]
