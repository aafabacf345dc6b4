"""Real servers under supervision.

In `make test` the fault tests are short and their deadlines generous, for the machine may be loaded; `make soak` runs
those marked `soak`, in full length and with the deadlines that the project promises.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve import Serve

LENIENT = 4.0
"""By what the short tests multiply the promised deadlines."""

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
