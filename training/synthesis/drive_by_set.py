"""Writes sets of drive-by clips for a kind of camera: for choosing and for judging video settings."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from plate_nets.countries import PlateScheme
from training.synthesis.drive_by import DriveBySettings, LightName, truth_path, write_drive_by

CameraName = Literal["good", "600", "300", "cheap"]

_LIGHTS: tuple[LightName, ...] = ("day", "night", "day", "rain")
"""Lights of the clips of a set, in turn."""


@dataclass(frozen=True)
class CameraKind:
    """Ranges for the settings of a set's clips, as in `DriveBySettings`.

    ``bit_rates``: drawn evenly on a logarithmic scale. ``focals``: the shorter, the more distant the cars appear.
    """

    bit_rates: tuple[int, int]
    exposures: tuple[float, float]
    focals: tuple[float, float] = (DriveBySettings.focal, DriveBySettings.focal)
    heights: tuple[float, float] = (DriveBySettings.height, DriveBySettings.height)

    def draw(self, rng: np.random.Generator, cars: int, light: LightName) -> DriveBySettings:
        """The settings of one clip."""
        return DriveBySettings(
            cars=cars,
            light=light,
            bit_rate=round(float(np.exp(rng.uniform(*np.log(self.bit_rates))))),
            exposure=float(rng.uniform(*self.exposures)),
            focal=float(rng.uniform(*self.focals)),
            height=float(rng.uniform(*self.heights)),
        )


CAMERAS: dict[CameraName, CameraKind] = {
    "good": CameraKind((1_500_000, 1_500_000), (0.002, 0.002)),
    "600": CameraKind((600_000, 600_000), (0.010, 0.015)),
    "300": CameraKind((300_000, 300_000), (0.010, 0.015)),
    "cheap": CameraKind((150_000, 1_500_000), (0.002, 0.015), (1.1, 1.9), (2.4, 5.0)),
}


def write_drive_by_set(
    folder: Path, scheme: PlateScheme, camera: CameraName, count: int, seed: int, cars: int
) -> Iterator[Path]:
    """Write clips with their truth, one per step; each depends only on its own seed: ``seed`` and the following ones.

    An existing clip with its truth is kept, so that an interrupted run can resume.

    Raises:
        InputError: a clip cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        path = folder / f"drive_{number}.mp4"
        if not path.exists():
            settings = CAMERAS[camera].draw(np.random.default_rng(number), cars, _LIGHTS[number % len(_LIGHTS)])
            with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as aside:
                unfinished = Path(aside, path.name)
                for _ in write_drive_by(unfinished, scheme, number, settings):
                    pass
                truth_path(unfinished).replace(truth_path(path))
                unfinished.replace(path)
        yield path
