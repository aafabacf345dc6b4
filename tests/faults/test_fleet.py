"""Two servers behind one client under load. One is restarted, killed or frozen, and no call fails."""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from benchmarks.fleet import Callers, frames_read
from tests.faults.conftest import LENIENT
from tests.faults.load import PAUSE
from tests.serve import Serve
from tests.waiting import eventually

SECONDS = 60 * LENIENT


def frames(serve: Serve) -> int:
    return frames_read(serve.addresses["metrics"])


def callers_of(servers: Sequence[Serve], pause: float = PAUSE) -> Callers:
    return Callers({wire: [each.addresses[wire] for each in servers] for wire in ("http", "grpc")}, pause)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Serve]]:
    """Two servers. A test leaves both healthy, though perhaps replaced."""
    # not in the threads: the first one makes pytest's own folder anew, and so would delete that of the other
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    with ThreadPoolExecutor(2) as threads:
        running = list(threads.map(Serve, folders))
    yield running
    for serve in running:
        serve.close()


@contextmanager
def calling(servers: list[Serve], pause: float = PAUSE) -> Iterator[Callers]:
    """Working callers; none of their calls may fail."""
    for serve in servers:
        assert eventually(serve.is_healthy, SECONDS)
    with callers_of(servers, pause) as callers:
        yield callers
    assert callers.faults == []


def test_the_calls_are_shared(servers: list[Serve]) -> None:
    """Not evenly: of two servers, each has as many calls in flight, so the quicker one answers more."""
    with calling(servers, pause=0) as callers:
        before = [frames(serve) for serve in servers]
        for _ in range(10):
            callers.all_answered()
        own = [frames(serve) - then for serve, then in zip(servers, before, strict=True)]
    assert min(own) >= sum(own) / 5, own


def test_servers_that_end_in_turn_fail_no_call(servers: list[Serve], tmp_path: Path) -> None:
    """The first is stopped and started again, as in a rolling restart; then the second is killed."""
    ports = [(f"--{name}-port", url.split("/")[2].rpartition(":")[2]) for name, url in servers[0].addresses.items()]
    with calling(servers) as callers:
        assert servers[0].finish(signal.SIGTERM) == 0
        callers.all_answered()
        servers[0] = Serve(tmp_path, [word for pair in ports for word in pair])
        assert eventually(lambda: frames(servers[0]) > 0, SECONDS), "it gets no call"
        servers[1].server().kill()
        callers.all_answered()
        assert eventually(lambda: servers[1].events("restart"), SECONDS), "its supervisor starts it again"
        assert eventually(lambda: frames(servers[1]) > 0, SECONDS), "it gets no call"


def test_a_frozen_server_gets_no_more_calls(servers: list[Serve]) -> None:
    """The supervisor freezes too, as if the machine hung. The kernel still accepts connections."""
    assert eventually(servers[1].is_healthy, SECONDS)
    frozen = [psutil.Process(servers[1].process.pid), servers[1].server()]
    try:
        with callers_of(servers) as callers:
            for process in frozen:
                process.suspend()
            callers.all_answered()
        assert callers.faults == []
    finally:
        for process in frozen:
            process.resume()
