"""Sets of rendered streets: without plates, with the plates of cars far and near, or cut close around one plate."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plate_nets.plates import PlateScheme
from training.synthesis.scene import Scene, render_scene
from training.synthesis.test_set import Drawn, write_dataset

SIZE = (1280, 720)
FINE = (1600, 900)
"""Size of the frame that close-ups are cut from, px: the nearest plates are 100 to 250 px wide there."""
SHARES = (0.3, 0.9)
"""Shares of a close-up's width that its plate takes."""


def write_street_set(
    scheme: PlateScheme, folder: Path, count: int, seed: int = 0, plates: int = 1, close: bool = False
) -> Iterator[Path]:
    """Write a labelled folder of streets, each with ``plates`` plates, 0 to 6; see `write_dataset`.

    A street has fewer plates if the frame has no room. ``close``: crop it around the nearest one, which then takes 0.3
    to 0.9 of the width; a street without any plate is drawn again.
    """

    def draw(rng: np.random.Generator) -> Drawn:
        scene = _close_up(scheme, rng) if close else render_scene(scheme, rng, SIZE, plates)
        labels = [(each.text, (*each.box.sides, *each.quad.ravel())) for each in scene.plates]
        return "street", scene.frame, labels

    return write_dataset(folder, count, seed, draw)


def _close_up(scheme: PlateScheme, rng: np.random.Generator) -> Scene:
    while not (scene := render_scene(scheme, rng, FINE, plates=1)).plates:
        pass
    return scene.cut_around(scene.plates[0], float(rng.uniform(*SHARES)))
