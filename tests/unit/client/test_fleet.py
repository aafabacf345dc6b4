"""Several servers behind one client: which is asked, which rests, what is sent again. Each transport is a fake."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from plate_nets.client import PlateClient, names, parse_url
from plate_nets.client.balancing import BUDGET, FIRST_PAUSE, LONGEST_PAUSE, Balancer
from plate_nets.client.fleet import FleetTransport
from plate_nets.client.transports import Transport
from plate_nets.client.transports.calls import Call, is_model_ready, server_metadata
from plate_nets.client.url import ServerAddress
from plate_nets.common.errors import (
    ConnectionLost,
    DeadlineExceeded,
    InputError,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)
from plate_nets.contract import PLATE_RECOGNITION
from tests.unit.client.conftest import Clock
from tests.waiting import eventually

URLS = ("grpc://a", "grpc://b")
READY = is_model_ready(PLATE_RECOGNITION.name)


@dataclass
class Fakes:
    """The opened transports. `fault` makes those of a host fail; trials are not passed to it."""

    clock: Clock
    fault: dict[str, type[PlateError]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    trials: list[str] = field(default_factory=list)
    open: set[str] = field(default_factory=set)

    def transport(self, address: ServerAddress) -> Transport:
        self.open.add(address.host)
        return FakeTransport(address, self)


class FakeTransport(Transport):
    def __init__(self, address: ServerAddress, fakes: Fakes) -> None:
        super().__init__(address)
        self._fakes = fakes

    def send(self, call: Call[Any], seconds: float) -> Any:
        host, fakes = self.address.host, self._fakes
        if call == READY:
            fakes.trials.append(host)
            if host in fakes.dead:
                raise DeadlineExceeded("silent")
            return True
        fakes.asked.append(host)
        fakes.clock.now += 0.001
        if host in fakes.fault:
            raise fakes.fault[host](f"{host}: no")
        return host

    def close(self) -> None:
        self._fakes.open.discard(self.address.host)


@pytest.fixture
def fakes(clock: Clock) -> Fakes:
    return Fakes(clock)


@pytest.fixture
def fleet(fakes: Fakes) -> Iterator[FleetTransport]:
    with FleetTransport(URLS, "http", fakes.transport) as fleet:
        yield fleet
    assert not fakes.open


def question(seconds: float) -> Call[Any]:
    return server_metadata()


def ask(fleet: FleetTransport, times: int = 1) -> set[str]:
    """The hosts that answered."""
    return {fleet.ask(question, 30, 3) for _ in range(times)}


def test_two_idle_servers_share_the_calls(fleet: FleetTransport, fakes: Fakes) -> None:
    ask(fleet, 1000)
    assert 450 <= fakes.asked.count("a") <= 550


def test_the_less_busy_server_gets_the_call() -> None:
    balancer = Balancer()
    balancer.set(parse_url(url) for url in URLS)
    turns = [turn for _ in range(10) if (turn := balancer.take())]
    assert sorted(turn.address.host for turn in turns) == ["a"] * 5 + ["b"] * 5
    for turn in turns:
        if turn.address.host == "a":
            balancer.done(turn, True)
    following = [balancer.take() for _ in range(5)]
    assert {turn.address.host for turn in following if turn} == {"a"}


@pytest.mark.parametrize("error", [ServerUnavailable, ServerOverloaded, ConnectionLost])
def test_another_server_is_tried_at_once(
    fleet: FleetTransport, fakes: Fakes, clock: Clock, error: type[PlateError]
) -> None:
    fakes.fault["a"] = error
    assert ask(fleet, 20) == {"b"}
    assert not any(clock.slept)
    assert "a" in fakes.asked
    assert len(fakes.asked) <= 20 + (20 if error is ServerOverloaded else 1), "who fails rests, who is full does not"


@pytest.mark.parametrize("error", [InputError, ServerError, ModelDied, DeadlineExceeded])
def test_calls_that_another_server_cannot_answer_or_may_die_of_are_not_retried(
    fleet: FleetTransport, fakes: Fakes, error: type[PlateError]
) -> None:
    fakes.fault = {"a": error, "b": error}
    with pytest.raises(error):
        fleet.ask(question, 30, 3)
    assert len(fakes.asked) == 1


def test_a_picture_that_breaks_two_connections_breaks_no_third(clock: Clock, fakes: Fakes) -> None:
    hosts = ("a", "b", "c", "d")
    fakes.fault = dict.fromkeys(hosts, ConnectionLost)
    fleet = FleetTransport([f"grpc://{host}" for host in hosts], "http", fakes.transport)
    with fleet, pytest.raises(ConnectionLost):
        fleet.ask(question, 30, 3)
    assert len(set(fakes.asked)) == len(fakes.asked) == 2


def test_the_pause_of_a_failing_server_doubles_and_ends_with_one_trial(
    fleet: FleetTransport, fakes: Fakes, clock: Clock
) -> None:
    fakes.fault["a"] = ServerUnavailable
    fakes.dead.add("a")
    rests: list[float] = []
    while len(rests) < 9:
        fails = fakes.asked.count("a") + len(fakes.trials)
        began = clock.now
        while fakes.asked.count("a") + len(fakes.trials) == fails:
            assert ask(fleet) == {"b"}
            clock.now += 0.02
            assert clock.now < began + 2 * LONGEST_PAUSE
        rests.append(clock.now - began)
    for number, rest in enumerate(rests[1:]):
        most = min(LONGEST_PAUSE, FIRST_PAUSE * 2**number)
        assert most / 2 <= rest <= most + 1, "some calls go to the other by chance"
    assert fakes.asked.count("a") == 1, "after the first failure it has to show that it lives, before it gets a call"
    del fakes.fault["a"]
    fakes.dead.clear()
    clock.now += LONGEST_PAUSE
    assert ask(fleet, 50) == {"a", "b"}
    trials = len(fakes.trials)
    assert ask(fleet, 50) == {"a", "b"}
    assert len(fakes.trials) == trials


def test_calls_that_fail_together_count_once() -> None:
    balancer = Balancer()
    balancer.set([parse_url("a")])
    turns = [balancer.take() for _ in range(20)]
    for turn in turns:
        assert turn is not None
        balancer.done(turn, False)
    again = balancer.take()
    assert again is not None and again.server.failures == 1


def test_if_all_servers_fail_pauses_are_as_with_one(fleet: FleetTransport, fakes: Fakes, clock: Clock) -> None:
    fakes.fault = dict.fromkeys("ab", ServerUnavailable)
    with pytest.raises(ServerUnavailable):
        fleet.ask(question, 30, 3)
    assert len(fakes.asked) == 4
    assert 0 < max(clock.slept) <= 0.4


def test_at_most_one_call_in_ten_is_retried(fleet: FleetTransport, fakes: Fakes, clock: Clock) -> None:
    fakes.fault = dict.fromkeys("ab", ServerOverloaded)
    calls = 2000
    for _ in range(calls):
        with pytest.raises(ServerOverloaded):
            fleet.ask(question, 30, 3)
    assert calls < len(fakes.asked) <= calls * 1.1 + BUDGET


def test_one_deadline_covers_all_attempts(fleet: FleetTransport, fakes: Fakes, clock: Clock) -> None:
    fakes.fault = dict.fromkeys("ab", ServerOverloaded)
    given: list[float] = []

    def asked(seconds: float) -> Call[Any]:
        given.append(seconds)
        return server_metadata()

    began = clock.now
    with pytest.raises(ServerOverloaded):
        fleet.ask(asked, 2, 1000)
    assert clock.now <= began + 2
    assert given == sorted(given, reverse=True)


def test_a_call_on_a_closed_fleet_reports_that_it_is_closed(fleet: FleetTransport) -> None:
    fleet.close()
    with pytest.raises(ServerError, match="the client is closed"):
        fleet.send(server_metadata(), 30)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Sets a name's addresses; without any, the name does not resolve."""
    known: dict[str, list[str]] = {}

    def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if host not in known:
            raise socket.gaierror(-2, "Name or service not known")
        kinds = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(kinds[":" in each], socket.SOCK_STREAM, 6, "", (each, port)) for each in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(names, "INTERVAL", 0.01)
    return known


def test_servers_come_and_go_with_their_name(resolver: dict[str, list[str]], fakes_in_time: Fakes) -> None:
    resolver["plates"] = ["10.0.0.1"]
    with FleetTransport(["dns:///plates:9"], "grpc", fakes_in_time.transport) as fleet:
        assert ask(fleet) == {"10.0.0.1"}
        resolver["plates"] = ["10.0.0.1", "10.0.0.2"]
        assert eventually(lambda: ask(fleet) == {"10.0.0.2"}, 30)
        resolver["plates"] = ["10.0.0.2"]
        assert eventually(lambda: fakes_in_time.open == {"10.0.0.2"}, 30)
        assert ask(fleet, 20) == {"10.0.0.2"}
        del resolver["plates"]
        before = threading.active_count()
        assert ask(fleet, 20) == {"10.0.0.2"}, "who is known stays"
    assert eventually(lambda: threading.active_count() < before, 30)


def test_an_unknown_name_counts_as_an_outage(resolver: dict[str, list[str]], fakes_in_time: Fakes) -> None:
    with FleetTransport(["dns:///plates"], "http", fakes_in_time.transport) as fleet:
        with pytest.raises(ServerUnavailable, match=r"^dns:///plates:8000: Name or service not known"):
            fleet.ask(question, 30, 1)
        resolver["plates"] = ["::1", "::2", "10.0.0.1"]
        assert eventually(lambda: _answers(fleet), 30)
        assert ask(fleet, 50) == {"[::1]", "[::2]"}, "of the family that comes first"


def _answers(fleet: FleetTransport) -> bool:
    with suppress(ServerUnavailable):
        return bool(fleet.ask(question, 30, 0))
    return False


@pytest.fixture
def fakes_in_time() -> Fakes:
    """With the real clock; a fake call takes no time."""
    return Fakes(Clock())


def test_a_dns_name_does_not_allow_encryption() -> None:
    with pytest.raises(InputError, match="url: dns:///a:8001: expected http or grpc; list encrypted servers one by"):
        PlateClient("dns:///grpcs://a")
