"""Retries: of which errors, how often, for how long."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from plate_nets.client import parse_url
from plate_nets.client.transports import Transport
from plate_nets.client.transports.base import FIRST_PAUSE, LONGEST_PAUSE
from plate_nets.common.errors import (
    AccessDenied,
    ConnectionLost,
    DeadlineExceeded,
    InputError,
    InputTooLarge,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)
from tests.unit.client.conftest import Clock


class Plain(Transport):
    """The answer to a call is the call itself."""

    def send(self, call: Any, seconds: float) -> Any:
        return call

    def close(self) -> None:
        """Nothing was opened."""


ask = Plain(parse_url("server")).ask


def failing(times: int, error: type[PlateError]) -> tuple[Callable[[float], Any], list[float]]:
    """A call that fails so many times, and the seconds left that it was given."""
    given: list[float] = []

    def question(seconds: float) -> Any:
        given.append(seconds)
        if len(given) <= times:
            raise error("no")
        return "answer"

    return question, given


@pytest.mark.parametrize("error", [ServerUnavailable, ServerOverloaded])
@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_request_is_retried_after_an_outage(clock: Clock, error: type[PlateError], times: int) -> None:
    question, given = failing(times, error)
    assert ask(question, timeout=30, retries=3) == "answer"
    assert len(given) == times + 1
    assert given == sorted(given, reverse=True)


@pytest.mark.parametrize(
    "error", [InputError, InputTooLarge, ServerError, DeadlineExceeded, AccessDenied, ModelDied, ConnectionLost]
)
def test_other_errors_are_not_retried(clock: Clock, error: type[PlateError]) -> None:
    question, given = failing(1, error)
    with pytest.raises(error):
        ask(question, timeout=30, retries=3)
    assert len(given) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_attempts_are_bounded(clock: Clock, retries: int) -> None:
    question, given = failing(99, ServerUnavailable)
    with pytest.raises(ServerUnavailable):
        ask(question, timeout=1000, retries=retries)
    assert len(given) == retries + 1


def test_the_deadline_bounds_all_attempts(clock: Clock) -> None:
    question, _ = failing(10**6, ServerUnavailable)
    with pytest.raises(ServerUnavailable):
        ask(question, timeout=7, retries=10**6)
    assert clock.now < 107


def test_pauses_are_random_from_zero_to_a_bound_that_doubles(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        bounds.append((low, high))
        return high

    monkeypatch.setattr(random, "uniform", uniform)
    question, _ = failing(7, ServerOverloaded)
    ask(question, timeout=100, retries=7)
    assert bounds == [(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**n)) for n in range(7)]
    assert clock.slept == [high for _, high in bounds]
