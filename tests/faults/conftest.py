"""Real servers under supervision, and how far the fault tests go.

In `make test` they are short, and deadlines are generous, for the machine may be loaded; `make soak` sets the variables
below and gives the figures of the whole reach.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve import Serve

ROUNDS = int(os.environ.get("PLATES_SOAK_ROUNDS", "1"))
"""How often each process is killed."""
MINUTES = float(os.environ.get("PLATES_SOAK_MINUTES", "1"))
"""How long the soak lasts."""
FULL = "PLATES_SOAK_ROUNDS" in os.environ or "PLATES_SOAK_MINUTES" in os.environ
PATIENCE = 1.0 if FULL else 4.0
"""By what the deadlines are multiplied."""

_running: list[Serve] = []


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`plates serve`, ready."""
    running = Serve(tmp_path)
    _running.append(running)
    yield running
    _running.clear()
    running.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed and _running:
        events = "\n".join(map(str, _running[0].events()))
        report.sections.append(("events", events + "\n" + _running[0].errors()))
        report.sections.append(("log of the server", _running[0].log_text()[-5000:]))
    return report
