"""Decides what to do about a fault: heal the models, restart the server, or give up. It has no clock and no server."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How often to try again. An attempt is forgotten once nothing has failed for ``lasting`` seconds."""

    heals: int = 3
    """Heals of one model in a row, before the server is restarted."""
    restarts: int = 5
    """Restarts in a row, before the supervisor gives up."""
    pause: float = 1.0
    """Seconds before the second restart in a row; it doubles before each further one. The first comes at once."""
    longest_pause: float = 30.0
    lasting: float = 10.0


@dataclass(frozen=True)
class Restart:
    """Restart the server, ``pause`` seconds from now."""

    pause: float


@dataclass(frozen=True)
class GiveUp:
    """Stop with an error."""

    restarts: int


class Policy:
    """Counts faults and attempts, and decides. Times are seconds of any clock that only goes forward."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self._limits = limits
        self._heals: dict[str, list[float]] = {}
        self._restarts = 0
        self._well_since: float | None = None

    def recognised(self, now: float) -> None:
        if self._well_since is None:
            self._well_since = now
        elif now - self._well_since >= self._limits.lasting:
            self._restarts = 0

    def models_failed(self, models: Iterable[str], now: float) -> Restart | GiveUp | None:
        """Models do not answer: heal them, which is None, unless that was tried too often."""
        for model in models:
            tries = [each for each in self._heals.get(model, []) if now - each < self._limits.lasting]
            if len(tries) >= self._limits.heals:
                return self.server_failed(now)
            self._heals[model] = [*tries, now]
        return None

    def server_failed(self, now: float) -> Restart | GiveUp:
        """The server exited, does not answer, or could not be healed or started."""
        if self._well_since is not None and now - self._well_since >= self._limits.lasting:
            self._restarts = 0
        self._well_since = None
        self._heals.clear()
        if self._restarts >= self._limits.restarts:
            return GiveUp(self._restarts)
        pause = self._limits.pause * 2 ** (self._restarts - 1) if self._restarts else 0.0
        self._restarts += 1
        return Restart(min(pause, self._limits.longest_pause))
