"""Several servers behind one client: if one does not answer, the call goes to another."""

import contextlib
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from plate_nets.client.balancing import Balancer, Turn
from plate_nets.client.names import NameWatch, parse_urls
from plate_nets.client.transports import Transport
from plate_nets.client.transports.base import pause_after
from plate_nets.client.transports.calls import Call, is_model_ready
from plate_nets.client.url import ServerAddress
from plate_nets.common.errors import (
    ConnectionLost,
    DeadlineExceeded,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)
from plate_nets.contract import PLATE_RECOGNITION

_TRIAL = 2.0
"""Seconds within which a server that failed must report that it is ready, before it gets a call again."""

T = TypeVar("T")


class FleetTransport(Transport):
    """A transport for each server, and the choice between them. Thread-safe.

    Args:
        urls: addresses of servers, and names that are resolved repeatedly.
        protocol: the protocol for addresses without one.
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
            itself = weakref.ref(self)  # so that the thread does not keep it alive
            self._names = NameWatch(names, lambda found: (fleet := itself()) is not None and fleet._resolved(found))
            self._names.start()

    def close(self) -> None:
        if self._names:
            self._names.end()
        with self._lock:
            self._closed = True
            transports = list(self._transports.values())
            self._transports.clear()
        for transport in transports:
            transport.close()

    def send(self, call: Call[T], seconds: float) -> T:
        """See `Transport.send`; asks one server, once."""
        return self._attempt(lambda _: call, set(), time.monotonic() + seconds)

    def ask(self, call_for: Callable[[float], Call[T]], timeout: float, retries: int) -> T:
        """See `Transport.ask`. It tries each server without a pause in between, and pauses before it tries
        them again.

        After a lost connection, a call goes to at most one other server, because the call may be the cause. And after
        the first `balancing.BUDGET` retries, only one call in ten is sent again, so that an overloaded fleet does not
        get more load.
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
                    pause = pause_after(attempt)
                    tried.clear()
                if time.monotonic() + pause >= deadline or not self._balancer.may_repeat():
                    raise
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _attempt(self, call_for: Callable[[float], Call[T]], tried: set[ServerAddress], deadline: float) -> T:
        turn = self._take(tried, deadline)
        tried.add(turn.address)
        answered: bool | None = None
        try:
            transport = self._transport(turn.address)
            if turn.trial:
                self._try(transport, deadline)
            left = max(0.0, deadline - time.monotonic())
            answer = transport.send(call_for(left), left)
            answered = True
            return answer
        except (ServerOverloaded, ServerUnavailable, ModelDied, DeadlineExceeded) as error:
            answered = None if isinstance(error, ServerOverloaded) else False
            raise
        except PlateError:
            answered = True  # a refusal of the picture is an answer too
            raise
        finally:
            self._balancer.done(turn, answered)

    def _take(self, tried: set[ServerAddress], deadline: float) -> Turn:
        turn = self._balancer.take(tried)
        if turn is None and self._names:
            self._names.first.wait(max(0.0, deadline - time.monotonic()))
            turn = self._balancer.take(tried)
        if turn is None:
            raise ServerUnavailable((self._names and self._names.fault) or "no server is left to ask")
        return turn

    @staticmethod
    def _try(transport: Transport, deadline: float) -> None:
        """Raise ServerUnavailable if a server that failed is not ready."""
        try:
            seconds = max(0.0, min(_TRIAL, deadline - time.monotonic()))
            ready = transport.send(is_model_ready(PLATE_RECOGNITION.name), seconds)
        except PlateError as error:
            raise ServerUnavailable(str(error)) from error
        if not ready:
            raise ServerUnavailable(f"{transport.address}: not ready")

    def _transport(self, address: ServerAddress) -> Transport:
        with self._lock:
            if self._closed:
                raise ServerError(f"{address}: the client is closed")
            if address not in self._transports:
                self._transports[address] = self._open_one(address)
            return self._transports[address]

    def _resolved(self, found: list[ServerAddress]) -> bool:
        """Replace the addresses of names -> whether they are still needed."""
        for address in self._balancer.set([*self._fixed, *found]):
            with self._lock:
                gone = self._transports.pop(address, None)
            if gone:
                with contextlib.suppress(PlateError):
                    gone.close()
        return not self._closed
