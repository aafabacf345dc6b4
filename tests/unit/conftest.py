"""Shared by the unit tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disk import SmallDisk, small_disk


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk
