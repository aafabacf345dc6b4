"""Which of several servers is asked: the one with less to do of two, and none that failed a moment ago."""

import random
import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from plate_nets.client.url import ServerAddress

FIRST_REST = 0.2
"""Seconds that a server rests after it failed, at most; twice as long after each further time."""
LONGEST_REST = 10.0
BUDGET = 100.0
"""Calls that may be sent again at once; and, of those that follow, `BUDGET_SHARE`."""
BUDGET_SHARE = 0.1


@dataclass
class _Server:
    in_flight: int = 0
    failures: int = 0
    """In a row."""
    failed: float = 0.0
    rests_until: float = 0.0

    def may_be_asked(self, now: float) -> bool:
        """Whether it does not rest; after a rest it gets one call, not many at once."""
        return self.rests_until <= now and not (self.failures and self.in_flight)


@dataclass(frozen=True)
class Turn:
    """One call that was given to a server; ``trial``: it failed before, and has to show first that it answers."""

    address: ServerAddress
    server: _Server
    began: float
    trial: bool


class Balancer:
    """Servers, the calls that each has in flight, and those that rest; threads share it.

    Of two servers drawn at random the one with fewer calls in flight is asked ("power of two choices", Mitzenmacher
    2001): nearly as even as asking the least busy one, and no new server gets everything at once. One that failed
    rests for a time that doubles with each failure in a row, and then is tried with one call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[ServerAddress, _Server] = {}
        self._wanted: set[ServerAddress] = set()
        self._budget = BUDGET

    def set(self, addresses: Iterable[ServerAddress]) -> Collection[ServerAddress]:
        """These are the servers from now on -> those that are no longer, and have no call in flight.

        One with calls in flight is named by a later `set`; it gets no new ones.
        """
        with self._lock:
            wanted = set(addresses)
            idle = [each for each, server in self._servers.items() if each not in wanted and not server.in_flight]
            for each in idle:
                del self._servers[each]
            for each in wanted:
                self._servers.setdefault(each, _Server())
            self._wanted = wanted
            return idle

    def take(self, tried: Collection[ServerAddress] = ()) -> Turn | None:
        """A turn on a server, which `done` must end; None: there is no server.

        One that was not tried comes before one that was, then one that does not rest.
        """
        with self._lock:
            now = time.monotonic()
            choices = [each for each in self._wanted if each not in tried] or list(self._wanted)
            if not choices:
                return None
            rested = [each for each in choices if self._servers[each].may_be_asked(now)]
            choices = rested or [min(choices, key=lambda each: self._servers[each].rests_until)]
            pair = random.sample(choices, min(2, len(choices)))
            address = min(pair, key=lambda each: self._servers[each].in_flight)
            server = self._servers[address]
            server.in_flight += 1
            return Turn(address, server, now, server.failures > 0)

    def done(self, turn: Turn, well: bool | None) -> None:
        """A turn is over; ``well``: whether the server answered, None where that says nothing of it."""
        with self._lock:
            server = turn.server
            server.in_flight -= 1
            if well:
                server.failures = 0
            elif well is False and turn.began >= server.failed:  # of calls that fail together one counts
                server.failed = time.monotonic()
                rest = min(LONGEST_REST, FIRST_REST * 2**server.failures)
                server.rests_until = server.failed + random.uniform(rest / 2, rest)
                server.failures += 1

    def has_other(self, tried: Collection[ServerAddress]) -> bool:
        """Whether a server is there that was not tried."""
        with self._lock:
            return not self._wanted <= set(tried)

    def count_call(self) -> None:
        """A call begins: a share of one more may be sent again."""
        with self._lock:
            self._budget = min(BUDGET, self._budget + BUDGET_SHARE)

    def may_repeat(self) -> bool:
        """Whether one more call may be sent again, which is counted. Where all fail, this bounds what comes on top."""
        with self._lock:
            if self._budget < 1:
                return False
            self._budget -= 1
            return True
