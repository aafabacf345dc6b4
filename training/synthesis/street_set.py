"""Sets of rendered streets: without plates, with the plates of cars far and near, or cut close around one plate."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plate_nets.plates import PlateScheme
from training.synthesis.scene import Scene, render_scene
from training.synthesis.test_set import new_dataset

SIZE = (1280, 720)
FINE = (1600, 900)
"""Size of the frame that close-ups are cut from, px: the nearest plates are 100 to 250 px wide there."""
SHARES = (0.3, 0.9)
"""Shares of a close-up's width that its plate takes."""


def write_street_set(
    scheme: PlateScheme, folder: Path, count: int, seed: int = 0, plates: int = 1, close: bool = False
) -> Iterator[Path]:
    """Write ``images/`` and ``labels.csv``, one photo per step; each photo depends on (seed, number) alone.

    Each street has ``plates`` plates, 0 to 6, fewer if the frame has no room. ``close``: crop it around the nearest
    one, which then takes 0.3 to 0.9 of the width; a street without any plate is drawn again.

    Raises:
        DatasetError: the folder is not empty.
        InputError: a photo cannot be written.
    """
    with new_dataset(folder) as add:
        for number in range(count):
            rng = np.random.default_rng((seed, number))
            scene = _close_up(scheme, rng) if close else render_scene(scheme, rng, SIZE, plates)
            labels = [
                (each.text, (each.box.xmin, each.box.ymin, each.box.xmax, each.box.ymax, *each.quad.ravel()))
                for each in scene.plates
            ]
            yield add(f"street_{number:04d}.png", scene.frame, labels)


def _close_up(scheme: PlateScheme, rng: np.random.Generator) -> Scene:
    while not (scene := render_scene(scheme, rng, FINE, plates=1)).plates:
        pass
    return scene.cut_around(scene.plates[0], float(rng.uniform(*SHARES)))
