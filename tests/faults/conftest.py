"""Real servers under supervision.

In `make test` the fault tests are short and their deadlines generous, because the machine may be busy. `make soak` runs
those marked `soak` in full length, with the deadlines that the project promises.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve import Serve, Start

LENIENT = 4.0
"""Factor by which the short tests extend the promised deadlines."""
IMPATIENT = ("--probe-deadline", "6", "--grace", "10")
"""Options of `plates serve` for tests that wait for a probe to fail, or for processes to end."""


@pytest.fixture
def serve(start: Start, tmp_path: Path) -> Iterator[Serve]:
    """A ready `plates serve`."""
    with start(tmp_path, ()) as running:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    for each in getattr(item, "funcargs", {}).values() if report.failed else ():
        if isinstance(each, Serve):
            events = "\n".join(map(str, each.events()))
            report.sections.append(("events", events + "\n" + each.errors()))
            report.sections.append(("log of the server", each.log_text()[-5000:]))
    return report
