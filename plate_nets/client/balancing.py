"""Chooses a server for each call: of two drawn at random, the one with fewer calls in flight; none that just failed."""

import random
import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from plate_nets.client.url import ServerAddress

FIRST_PAUSE = 0.2
"""Maximum pause in seconds after a server's first failure; it doubles with each further failure in a row."""
LONGEST_PAUSE = 10.0
"""The limit of this pause in seconds."""
BUDGET = 100.0
"""The number of retries that may be sent at once. It refills by `BUDGET_SHARE` per call."""
BUDGET_SHARE = 0.1


@dataclass
class _Server:
    in_flight: int = 0
    failures: int = 0
    """Failures in a row."""
    failed: float = 0.0
    paused_until: float = 0.0

    def is_available(self, now: float) -> bool:
        """Whether its pause is over. After a pause it gets only one call at first."""
        return self.paused_until <= now and not (self.failures and self.in_flight)


@dataclass(frozen=True)
class Turn:
    """A call assigned to a server. ``trial``: the server failed before, and must first prove that it answers."""

    address: ServerAddress
    server: _Server
    began: float
    trial: bool


class Balancer:
    """Servers, and the calls that each has in flight. Thread-safe.

    Of two servers drawn at random, the one with fewer calls in flight is chosen ("power of two choices", Mitzenmacher
    2001): nearly as even as choosing the least busy one, and a new server does not get everything at once. A server
    that failed is paused for a time that doubles with each failure in a row, and then gets one call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[ServerAddress, _Server] = {}
        self._current: set[ServerAddress] = set()
        self._budget = BUDGET

    def set(self, addresses: Iterable[ServerAddress]) -> Collection[ServerAddress]:
        """Replace the servers -> those that were removed and have no call in flight.

        A removed server with calls in flight gets no new ones; a later `set` returns it.
        """
        with self._lock:
            current = set(addresses)
            idle = [
                address for address, server in self._servers.items() if address not in current and not server.in_flight
            ]
            for address in idle:
                del self._servers[address]
            for address in current:
                self._servers.setdefault(address, _Server())
            self._current = current
            return idle

    def take(self, tried: Collection[ServerAddress] = ()) -> Turn | None:
        """Assign a call to a server, until `done`; None if there is no server.

        Servers that were not tried come first, then those that are not paused.
        """
        with self._lock:
            now = time.monotonic()
            choices = [address for address in self._current if address not in tried] or list(self._current)
            if not choices:
                return None
            available = [address for address in choices if self._servers[address].is_available(now)]
            choices = available or [min(choices, key=lambda address: self._servers[address].paused_until)]
            pair = random.sample(choices, min(2, len(choices)))
            address = min(pair, key=lambda address: self._servers[address].in_flight)
            server = self._servers[address]
            server.in_flight += 1
            return Turn(address, server, now, server.failures > 0)

    def done(self, turn: Turn, answered: bool | None) -> None:
        """End a call. ``answered``: whether the server answered; None if the outcome says nothing about the server."""
        with self._lock:
            server = turn.server
            server.in_flight -= 1
            if answered:
                server.failures = 0
            elif answered is False and turn.began >= server.failed:  # calls that fail together count once
                server.failed = time.monotonic()
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**server.failures)
                server.paused_until = server.failed + random.uniform(pause / 2, pause)
                server.failures += 1

    def has_other(self, tried: Collection[ServerAddress]) -> bool:
        with self._lock:
            return not self._current <= set(tried)

    def count_call(self) -> None:
        """Count a new call, which refills the budget of retries."""
        with self._lock:
            self._budget = min(BUDGET, self._budget + BUDGET_SHARE)

    def may_repeat(self) -> bool:
        """Take one retry from the budget, if there is one. It limits the extra load if all servers fail."""
        with self._lock:
            if self._budget < 1:
                return False
            self._budget -= 1
            return True
