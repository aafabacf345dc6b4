"""Shared by the tests of evaluations."""

from pathlib import Path

import pytest

from plate_nets.countries import main_scheme
from training.synthesis.drive_by import DriveBySettings, write_drive_by


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of one car, with its truth beside it."""
    path = tmp_path_factory.mktemp("drive") / "drive.mp4"
    for _ in write_drive_by(path, main_scheme(), 3, DriveBySettings(cars=1, rate=10)):
        pass
    return path
