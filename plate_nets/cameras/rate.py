"""How often something happens."""

import time
from collections import deque

_SPAN = 5.0
"""Seconds over which a rate is measured."""


class Rate:
    """A counter with a recent rate. One thread adds, others may read."""

    def __init__(self) -> None:
        self.count = 0
        self._started = time.monotonic()
        self._times: deque[float] = deque(maxlen=2000)

    def add(self) -> None:
        self._times.append(time.monotonic())
        self.count += 1

    @property
    def per_second(self) -> float:
        now = time.monotonic()
        recent = sum(now - moment <= _SPAN for moment in self._times.copy())
        return recent / max(0.1, min(_SPAN, now - self._started))
