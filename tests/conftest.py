"""Shared by all tests: the stand-in for Triton's Python API, and the repository of models."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import triton
from tests.paths import ROOT

triton.install()  # before anything imports plate_nets.serving.triton


@pytest.fixture(scope="session")
def model_repository() -> Path:
    """The project's own, as it is in the checkout."""
    return ROOT / "model_repository"


@pytest.fixture
def fake_server() -> Iterator[triton.Server]:
    """The stand-in's server, empty."""
    triton.server.models.clear()
    triton.server.asked.clear()
    triton.server.metrics.clear()
    triton.Logger.lines.clear()
    yield triton.server
    triton.server.models.clear()
