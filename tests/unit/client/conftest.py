"""Shared by the client's tests."""

import pytest

from plate_nets.client import WireProtocol, balancing, client, fleet, shared_memory
from plate_nets.client.transports import base


@pytest.fixture(params=["http", "grpc"])
def protocol(request: pytest.FixtureRequest) -> WireProtocol:
    found: WireProtocol = request.param
    return found


class Clock:
    """A time that only advances by sleeping, in place of the module `time`."""

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
    """Only the client's clock; other threads of this process keep the real one."""
    clock = Clock()
    for module in (balancing, base, client, fleet, shared_memory):
        monkeypatch.setattr(module, "time", clock)
    return clock
