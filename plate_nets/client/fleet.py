"""Several servers behind one client: what one of them does not answer, another is asked."""

import contextlib
import itertools
import random
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from plate_nets.client.balancing import Balancer, Turn
from plate_nets.client.names import NameWatch, parse_urls
from plate_nets.client.retry import FIRST_PAUSE, LONGEST_PAUSE
from plate_nets.client.transports import Transport
from plate_nets.client.transports.calls import Call, is_live
from plate_nets.client.url import ServerAddress
from plate_nets.errors import (
    ConnectionLost,
    DeadlineExceeded,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)

_TRIAL = 1.0
"""Seconds that a server which failed has to say that it lives, before it gets a call again."""

T = TypeVar("T")


class FleetTransport(Transport):
    """A transport for each server, and the choice between them; threads share it.

    Args:
        urls: of the servers, and names that are resolved again and again.
        protocol: what is spoken where an address does not say it.
        open_one: an address -> its transport.
    """

    def __init__(self, urls: Sequence[str], protocol: str, open_one: Callable[[ServerAddress], Transport]) -> None:
        self._fixed, names = parse_urls(urls, protocol)
        super().__init__((self._fixed + names)[0])
        self._open_one = open_one
        self._lock = threading.Lock()
        self._transports: dict[ServerAddress, Transport] = {}
        self._closed = False
        self._balancer = Balancer()
        self._balancer.set(self._fixed)
        self._names: NameWatch | None = None
        if names:
            itself = weakref.ref(self)  # the thread shall not keep it
            self._names = NameWatch(names, lambda found: (fleet := itself()) is not None and fleet._resolved(found))
            self._names.start()

    def close(self) -> None:
        """Close all connections; later calls are refused."""
        if self._names:
            self._names.end()
        with self._lock:
            self._closed = True
            transports = list(self._transports.values())
            self._transports.clear()
        for transport in transports:
            transport.close()

    def send(self, call: Call[T], seconds: float) -> T:
        """See `Transport.send`; one server is asked, once."""
        return self._attempt(lambda _: call, set(), time.monotonic() + seconds)

    def ask(self, call_for: Callable[[float], Call[T]], timeout: float, retries: int) -> T:
        """See `Transport.ask`. A server that was not asked yet is asked at once; after all of them there is a pause.

        A call whose connection was lost goes to one other server at most, for it may have been what ended the first.
        And of all calls only one in ten is sent again, after the first `balancing.BUDGET`: a fleet that has too much to
        do gets no more by that.
        """
        deadline = time.monotonic() + timeout
        self._balancer.count_call()
        tried: set[ServerAddress] = set()
        lost = False
        for attempt in itertools.count():
            try:
                return self._attempt(call_for, tried, deadline)
            except (ServerUnavailable, ConnectionLost) as error:
                if attempt >= retries or (lost and isinstance(error, ConnectionLost)):
                    raise
                lost = lost or isinstance(error, ConnectionLost)
                pause = 0.0
                if not self._balancer.has_other(tried):
                    pause = random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))
                    tried.clear()
                if time.monotonic() + pause >= deadline or not self._balancer.may_repeat():
                    raise
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _attempt(self, call_for: Callable[[float], Call[T]], tried: set[ServerAddress], deadline: float) -> T:
        """Ask one server, and remember how it went."""
        turn = self._take(tried, deadline)
        tried.add(turn.address)
        well: bool | None = None
        try:
            transport = self._transport(turn.address)
            if turn.trial:
                self._try(transport, deadline)
            left = max(0.0, deadline - time.monotonic())
            answer = transport.send(call_for(left), left)
            well = True
            return answer
        except (ServerOverloaded, ServerUnavailable, ModelDied, DeadlineExceeded) as error:
            well = None if isinstance(error, ServerOverloaded) else False
            raise
        except PlateError:
            well = True  # it answered, if only that it does not want this picture
            raise
        finally:
            self._balancer.done(turn, well)

    def _take(self, tried: set[ServerAddress], deadline: float) -> Turn:
        turn = self._balancer.take(tried)
        if turn is None and self._names:
            self._names.first.wait(max(0.0, deadline - time.monotonic()))
            turn = self._balancer.take(tried)
        if turn is None:
            raise ServerUnavailable(self._names.fault if self._names and self._names.fault else "no server")
        return turn

    @staticmethod
    def _try(transport: Transport, deadline: float) -> None:
        """Raises ServerUnavailable where a server that failed does not live."""
        try:
            transport.send(is_live(), max(0.0, min(_TRIAL, deadline - time.monotonic())))
        except ServerUnavailable:
            raise
        except PlateError as error:
            raise ServerUnavailable(str(error)) from error

    def _transport(self, address: ServerAddress) -> Transport:
        with self._lock:
            if self._closed:
                raise ServerError(f"{address}: the client is closed")
            if address not in self._transports:
                self._transports[address] = self._open_one(address)
            return self._transports[address]

    def _resolved(self, found: list[ServerAddress]) -> bool:
        """Names have these addresses now -> whether they are still wanted."""
        for address in self._balancer.set([*self._fixed, *found]):
            with self._lock:
                gone = self._transports.pop(address, None)
            if gone:
                with contextlib.suppress(PlateError):
                    gone.close()
        return not self._closed
