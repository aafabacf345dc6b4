"""What the client's tests share."""

import pytest

from plate_nets.client import balancing, client, fleet, retry, shared_memory


class Clock:
    """Time that passes only by sleeping; in place of the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The client's clock alone: other threads of this process have the real one."""
    clock = Clock()
    for module in (balancing, client, fleet, retry, shared_memory):
        monkeypatch.setattr(module, "time", clock)
    return clock
