"""Deaths of stubs on real processes: small programs with the name of Triton's stub."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from plate_nets.triton.server.installation import STUB
from plate_nets.triton.server.stubs import stub_model
from plate_nets.triton.supervision.stubs import StubWatch
from tests.waiting import eventually

# A parent that starts the stubs, and waits for one of them when told its number, as Triton does on unloading
PARENT = """
import subprocess, sys
stub, *paths = sys.argv[1:]
children = [subprocess.Popen([stub, path], executable="/bin/cat", stdin=subprocess.PIPE) for path in paths]
print(*(child.pid for child in children), flush=True)
for line in sys.stdin:
    child = children[int(line)]
    child.kill()
    child.wait()
    print("gone", flush=True)
"""


class Server:
    """A stand-in for the server, with stubs of these models."""

    def __init__(self, folder: Path, *models: str) -> None:
        paths = []
        for number, model in enumerate(models):
            path = folder / str(number) / model / "1" / "model.py"
            path.parent.mkdir(parents=True)
            os.mkfifo(path)  # cat waits for it
            paths.append(str(path))
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT, f"/somewhere/{STUB}", *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.pids = [int(pid) for pid in self.process.stdout.readline().split()]
        # just after its start, a program has no arguments yet
        assert eventually(lambda: all(psutil.Process(pid).cmdline() for pid in self.pids), 60)

    def unload(self, number: int) -> None:
        """End a stub and wait for it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "gone\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path, "stn", "yolo", "plate_recognition", "plate_recognition")
    yield running
    for pid in running.pids:
        if psutil.pid_exists(pid):
            psutil.Process(pid).kill()
    running.process.communicate()


def becomes(status: str, pid: int) -> bool:
    """Whether a process gets this status soon."""
    return eventually(lambda: psutil.Process(pid).status() == status, 60)


def kill(pid: int) -> None:
    psutil.Process(pid).kill()
    assert becomes(psutil.STATUS_ZOMBIE, pid)


def look_twice(watch: StubWatch) -> Counter[str]:
    return watch.check(os.getpid()) + watch.check(os.getpid())


def test_the_command_line_of_a_stub_gives_its_model(server: Server) -> None:
    models = [stub_model(psutil.Process(pid)) for pid in server.pids]
    assert models == ["stn", "yolo", "plate_recognition", "plate_recognition"]
    assert stub_model(psutil.Process()) is None


def test_a_death_is_reported_once_and_an_unloaded_stub_is_none(server: Server) -> None:
    watch = StubWatch()
    assert not look_twice(watch)
    kill(server.pids[3])
    assert look_twice(watch) == {"plate_recognition": 1}
    assert not look_twice(watch)
    kill(server.pids[0])
    kill(server.pids[2])
    assert look_twice(watch) == {"stn": 1, "plate_recognition": 1}
    server.unload(1)
    assert not look_twice(watch)
    assert not watch.check(2**22 + 1), "a server that is gone has no stubs"


def test_stubs_can_be_killed(server: Server) -> None:
    watch = StubWatch()
    look_twice(watch)
    assert watch.of("plate_recognition") >= set(server.pids[2:]), "and those of the tests' own server"
    watch.kill(server.pids[2:])
    assert all(becomes(psutil.STATUS_ZOMBIE, pid) for pid in server.pids[2:])
    assert not look_twice(watch), "they were meant to end"
    assert psutil.Process(server.pids[0]).status() != psutil.STATUS_ZOMBIE


def test_a_stub_that_stays_stopped_is_killed_and_counted_once(server: Server) -> None:
    watch = StubWatch()
    watch.check(server.process.pid)
    stub = psutil.Process(server.pids[3])
    stub.suspend()
    assert becomes(psutil.STATUS_STOPPED, stub.pid)
    assert watch.check(server.process.pid) == Counter()
    stub.resume()
    assert becomes(psutil.STATUS_SLEEPING, stub.pid)
    assert watch.check(server.process.pid) == Counter()
    assert not watch.still and len(watch.living) == 4, "it continues"
    stub.suspend()
    assert becomes(psutil.STATUS_STOPPED, stub.pid)
    checks = [watch.check(server.process.pid) for _ in range(2)]
    assert checks == [Counter(), Counter(plate_recognition=1)]
    assert watch.still == {stub.pid}
    assert becomes(psutil.STATUS_ZOMBIE, stub.pid)
    assert [watch.check(server.process.pid) for _ in range(3)] == [Counter()] * 3
    assert len(watch.living) == 3
