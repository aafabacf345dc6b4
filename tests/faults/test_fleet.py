"""Two servers behind one client, under load: one is restarted, killed, frozen, and no call fails."""

import contextlib
import re
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from plate_nets.client import PlateClient
from plate_nets.errors import PlateError
from plate_nets.recognition.health import known_picture
from plate_nets.supervision.progress import read_metrics
from tests.faults.conftest import LENIENT
from tests.serve import Serve

CALLERS = 8
"""Half of them over HTTP."""


class Callers:
    """Threads that ask two clients of both servers without a pause; every answer must be right."""

    def __init__(self, servers: Sequence[Serve]) -> None:
        self.faults: list[str] = []
        self.answered = [0.0] * CALLERS
        """When each was answered last."""
        self._ended = threading.Event()
        self._clients = [
            PlateClient([each.addresses[wire] for each in servers], timeout=60) for wire in ("http", "grpc")
        ]
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CALLERS)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        self.wait_for_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        for client in self._clients:
            client.close()

    def wait_for_all(self) -> None:
        """Until each has got an answer to a call that it began from now on."""
        for _ in range(2):
            began = time.monotonic()
            wait(lambda: min(self.answered) > began, "a caller gets no answer")  # noqa: B023

    def _ask(self, number: int) -> None:
        known = known_picture()
        client = self._clients[number % 2]
        while not self._ended.is_set():
            try:
                texts = {plate.reading.text for plate in client.read(known.image)}
                if texts != set(known.texts):
                    self.faults.append(f"read {texts}")
                self.answered[number] = time.monotonic()
            except PlateError as error:
                self.faults.append(f"{type(error).__name__}: {error}")


def wait(condition: Callable[[], bool], otherwise: str, seconds: float = 60 * LENIENT) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.05)


def frames(serve: Serve) -> int:
    """How many pictures a server has read, the supervisor's own left out."""
    found = re.search(r"^plates_frames_total (\d+)", read_metrics(serve.addresses["metrics"], 30), re.MULTILINE)
    assert found is not None
    return int(found[1])


def is_healthy(serve: Serve) -> bool:
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(serve.addresses["health"], timeout=10).close() is None)
    return False


def start_again(serve: Serve, folder: Path) -> Serve:
    """A server that ended -> one at the same ports."""
    folder.mkdir()
    ports = [(f"--{name}-port", url.split("/")[2].rpartition(":")[2]) for name, url in serve.addresses.items()]
    return Serve(folder, [word for pair in ports for word in pair])


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Serve]]:
    """Two; a test leaves them well, though perhaps others in their places."""
    with ThreadPoolExecutor(2) as threads:
        running = list(threads.map(lambda name: Serve(tmp_path_factory.mktemp(name)), ("one", "two")))
    yield running
    for serve in running:
        serve.close()


@pytest.fixture
def callers(servers: list[Serve]) -> Iterator[Callers]:
    """At work; none of their calls may fail."""
    for serve in servers:
        wait(lambda: is_healthy(serve), "not healthy")  # noqa: B023
    with Callers(servers) as callers:
        yield callers
    assert callers.faults == []


def test_the_calls_are_shared_evenly(servers: list[Serve], callers: Callers) -> None:
    before = [frames(serve) for serve in servers]
    for _ in range(10):
        callers.wait_for_all()
    own = [frames(serve) - then for serve, then in zip(servers, before, strict=True)]
    assert 0.4 <= own[0] / sum(own) <= 0.6, own


def test_a_restart_in_turn_is_not_noticed(servers: list[Serve], callers: Callers, tmp_path: Path) -> None:
    for number, serve in enumerate(list(servers)):
        assert serve.finish(signal.SIGTERM) == 0
        callers.wait_for_all()
        servers[number] = start_again(serve, tmp_path / str(number))
        wait(lambda: frames(servers[number]) > 0, "it gets no call")  # noqa: B023


def test_a_server_that_is_killed_costs_no_call(servers: list[Serve], callers: Callers) -> None:
    before = len(servers[0].events("restart"))
    servers[0].server().kill()
    callers.wait_for_all()
    wait(lambda: len(servers[0].events("restart")) > before, "its supervisor starts it again")
    wait(lambda: frames(servers[0]) > 0, "it gets no call")


def test_a_server_that_freezes_is_left(servers: list[Serve]) -> None:
    """With its supervisor, as where a machine hangs; its kernel still takes connections."""
    wait(lambda: is_healthy(servers[1]), "not healthy")
    frozen = [psutil.Process(servers[1].process.pid), servers[1].server()]
    try:
        with Callers(servers) as callers:
            for process in frozen:
                process.suspend()
            callers.wait_for_all()
        assert callers.faults == []
    finally:
        for process in frozen:
            process.resume()
