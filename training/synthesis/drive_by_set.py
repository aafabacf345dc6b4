"""Writes sets of drive-by clips for a kind of camera: for choosing and for judging video settings."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from plate_nets.countries import PlateScheme
from training.synthesis.drive_by import DriveBySettings, LightName, truth_path, write_drive_by

CameraName = Literal["good", "600", "300", "cheap"]
LIGHTS: tuple[LightName, ...] = ("day", "night", "day", "rain")
"""Lights of the clips of a set, in turn."""
USUAL = (DriveBySettings.focal, DriveBySettings.focal), (DriveBySettings.height, DriveBySettings.height)
CAMERAS: dict[CameraName, tuple[tuple[float, float], ...]] = {
    "good": ((1_500_000, 1_500_000), (0.002, 0.002), *USUAL),
    "600": ((600_000, 600_000), (0.010, 0.015), *USUAL),
    "300": ((300_000, 300_000), (0.010, 0.015), *USUAL),
    "cheap": ((150_000, 1_500_000), (0.002, 0.015), (1.1, 1.9), (2.4, 5.0)),
}
"""Ranges for bit rate, exposure, focal length and height of a set's clips, as in `DriveBySettings`."""


def draw_settings(camera: CameraName, number: int, cars: int) -> DriveBySettings:
    """The settings of one clip of a set."""
    rng, (rates, *ranges) = np.random.default_rng(number), CAMERAS[camera]
    rate = round(float(np.exp(rng.uniform(*np.log(rates)))))  # evenly on a logarithmic scale
    exposure, focal, height = (float(rng.uniform(*each)) for each in ranges)
    return DriveBySettings(
        cars, LIGHTS[number % len(LIGHTS)], bit_rate=rate, exposure=exposure, focal=focal, height=height
    )


def write_drive_by_set(
    folder: Path, scheme: PlateScheme, camera: CameraName, count: int, seed: int, cars: int, **settings: Any
) -> Iterator[Path]:
    """Write clips with their truth, one per step; each depends only on its own seed: ``seed`` and the following ones.

    ``settings``: those of `DriveBySettings` to use instead of the drawn ones. An existing clip with its truth is kept,
    so that an interrupted run can resume.

    Raises:
        InputError: a clip cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        path = folder / f"drive_{number}.mp4"
        if not path.exists():
            with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as aside:
                unfinished = Path(aside, path.name)
                chosen = replace(draw_settings(camera, number, cars), **settings)
                for _ in write_drive_by(unfinished, scheme, number, chosen):
                    pass
                truth_path(unfinished).replace(truth_path(path))
                unfinished.replace(path)
        yield path
