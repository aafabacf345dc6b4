"""The load generator without a server: what it sends, what it records, when it ends."""

import threading
import time
from collections.abc import Mapping

import pytest

from benchmarks.callers.pictures import Picture, drawn_picture
from benchmarks.load import GIVE_UP, WARM_UP, closed_load, open_load
from plate_nets.common.errors import PlateError, ServerError, ServerUnavailable

PICTURES = [drawn_picture(plates, (96, 160)) for plates in (0, 1)]


class Asked:
    """Answers with the plates of the picture after a while, or fails as told; ``answers``: at most so many at once."""

    def __init__(
        self, faults: Mapping[int, PlateError] | None = None, seconds: float = 0.0, answers: int = 1000
    ) -> None:
        self.faults = faults or {}
        self.seconds = seconds
        self.questions = self.at_once = self.most_at_once = self.open = 0
        self.room = threading.Semaphore(answers)
        self._lock = threading.Lock()

    def __call__(self) -> "Caller":
        self.open += 1
        return Caller(self)


class Caller:
    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._thread = threading.get_ident()

    def __call__(self, picture: Picture) -> int:
        asked = self._asked
        assert threading.get_ident() == self._thread, "a caller lives in one thread"
        with asked._lock:
            number, asked.questions = asked.questions, asked.questions + 1
            asked.at_once += 1
            asked.most_at_once = max(asked.most_at_once, asked.at_once)
        with asked.room:
            time.sleep(asked.seconds)
        with asked._lock:
            asked.at_once -= 1
        if number in asked.faults:
            raise asked.faults[number]
        return picture.plates or 0

    def close(self) -> None:
        self._asked.open -= 1


@pytest.mark.parametrize("callers", [1, 4])
def test_a_closed_load_keeps_the_given_number_of_requests_in_flight(callers: int) -> None:
    asked = Asked(seconds=0.01)
    load = closed_load(asked, PICTURES, callers, seconds=0.3)
    assert load.stopped is None
    assert asked.most_at_once == callers
    assert asked.open == 0
    assert asked.questions == len(load.samples) + WARM_UP * callers
    assert all(sample.seconds >= 0.01 for sample in load.samples)
    assert load.seconds >= 0.3
    assert {sample.plates for sample in load.samples} == {0, 1}


@pytest.mark.parametrize("callers", [1, 4])
def test_a_number_of_frames_ends_a_closed_load(callers: int) -> None:
    assert len(closed_load(Asked(), PICTURES, callers, seconds=60, frames=30).samples) == 30


def test_failed_requests_are_recorded_and_do_not_end_the_load() -> None:
    load = closed_load(Asked({WARM_UP + 1: ServerError("no memory")}), PICTURES, 1, seconds=60, frames=5)
    assert [sample.error for sample in load.samples] == [None, "no memory", None, None, None]
    assert len(load.good) == len(load.milliseconds) == 4
    assert load.stopped is None


def test_a_load_ends_if_every_request_fails() -> None:
    load = closed_load(Asked(dict.fromkeys(range(WARM_UP + 1, 1000), ServerError("broken"))), PICTURES, 1, seconds=60)
    assert load.stopped == "broken"
    assert [sample.error for sample in load.samples] == [None] + ["broken"] * GIVE_UP


@pytest.mark.parametrize("callers", [1, 3])
@pytest.mark.parametrize("answers", [0, 6])
def test_a_lost_server_ends_the_load_and_keeps_its_answers(callers: int, answers: int) -> None:
    """Without any answer, it was never there."""
    first = WARM_UP * callers + answers if answers else 0
    asked = Asked(dict.fromkeys(range(first, 1000), ServerUnavailable("refused")))
    load = closed_load(asked, PICTURES, callers, seconds=60)
    assert (load.stopped, len(load.good), asked.open) == ("refused", answers, 0)
    assert bool(answers) <= len(load.samples) - answers <= callers


def test_an_open_load_sends_each_request_when_it_is_due() -> None:
    asked = Asked()
    load = open_load(asked, PICTURES, rate=200, seconds=0.5)
    assert len(load.samples) == 100
    assert 0.2 < load.seconds < 5


def test_a_slow_server_cannot_hide_behind_an_open_load() -> None:
    """Requests are answered one after another, though all were due at about the same time."""
    load = open_load(Asked(seconds=0.02, answers=1), PICTURES, rate=10_000, seconds=0.002)
    times = sorted(sample.seconds for sample in load.samples)
    assert len(times) == 20
    assert times[-1] >= 0.02 * 20
    assert times[len(times) // 2] >= 0.02 * 10
