"""The guard: nothing of the server is left, whatever ends it. A small program stands for the server."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from plate_nets.triton.server import guard
from tests.waiting import eventually

SERVER = """
import os, pathlib, signal, subprocess, sys, tempfile, time
prefix, stubborn = sys.argv[1], sys.argv[2] == "stubborn"
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
(pathlib.Path("/dev/shm") / (prefix + "region")).write_bytes(b"x")
environment = tempfile.mkdtemp(prefix="python_env_", dir="/tmp")
if sys.argv[2] == "packed":
    (pathlib.Path(environment) / "library").write_bytes(b"x")
print(environment, os.getpid(), child.pid, flush=True)
if sys.argv[2].isdecimal():
    sys.exit(int(sys.argv[2]))
time.sleep(600)
"""


class Guarded:
    """A guard with its stand-in for a server."""

    def __init__(self, tmp_path: Path, behaviour: str, timeout: float, parent: Path | None = None) -> None:
        self.folder = tmp_path / "server"
        self.prefix = f"plates_test_{os.getpid()}_{tmp_path.name}_"
        source = tmp_path / "library"
        source.write_text("library", encoding="utf-8")
        plan = {
            "command": [sys.executable, "-c", SERVER, self.prefix, behaviour],
            "environment": dict(os.environ),
            "folder": str(self.folder),
            "files": {"backends/python/library": str(source)},
            "links": {"package": str(tmp_path)},
            "texts": {},
            "region_prefix": self.prefix,
            "exit_timeout": timeout,
            "planned": time.time(),
        }
        command = [sys.executable, "-I", "-S", guard.__file__]
        if parent:
            command = [sys.executable, str(parent), *command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(plan).encode() + b"\n")
        self.process.stdin.flush()
        environment, *pids = self.process.stdout.readline().decode().split()
        self.environment = Path(environment)
        self.pids = [int(pid) for pid in pids]

    def close_input(self) -> None:
        """What the parent does when it wants the server to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    @property
    def regions(self) -> list[Path]:
        return list(guard.SHARED_MEMORY.glob(f"{self.prefix}*"))

    def left(self) -> list[object]:
        """What is left of the server: its processes, regions and folders."""
        alive = [pid for pid in self.pids if is_alive(pid)]
        return [*alive, *self.regions, *(each for each in (self.folder, self.environment) if each.exists())]


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Callable[..., Guarded]]:
    started: list[Guarded] = []

    def run(behaviour: str = "", timeout: float = 5, parent: Path | None = None) -> Guarded:
        started.append(Guarded(tmp_path, behaviour, timeout, parent))
        return started[-1]

    yield run
    for each in started:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout):
            if pipe:
                pipe.close()
        for pid in each.pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        guard.clean(each.folder, each.prefix, time.time())
        shutil.rmtree(each.environment, ignore_errors=True)


@pytest.mark.parametrize(("behaviour", "timeout"), [("", 5), ("stubborn", 0.2), ("", 0)])
def test_a_server_has_its_files_and_closing_the_input_of_the_guard_ends_everything(
    guarded: Callable[..., Guarded], behaviour: str, timeout: float
) -> None:
    running = guarded(behaviour, timeout)
    assert len(running.pids) == 2 and all(map(is_alive, running.pids)) and len(running.regions) == 1
    assert (running.folder / "backends" / "python" / "library").read_text(encoding="utf-8") == "library"
    assert (running.folder / "package" / "library").is_file()
    running.close_input()
    running.process.wait(20)
    assert running.left() == []
    assert (running.folder.parent / "library").is_file(), "what is linked is not removed"


def test_the_guard_exits_with_the_code_of_the_server(guarded: Callable[..., Guarded]) -> None:
    running = guarded("3")
    assert running.process.wait(20) == 3
    assert running.left() == []


def test_a_killed_server_is_cleaned_up(guarded: Callable[..., Guarded]) -> None:
    running = guarded()
    os.kill(running.pids[0], signal.SIGKILL)
    assert running.process.wait(20) == 128 + signal.SIGKILL
    assert running.left() == []


def test_only_new_and_empty_folders_in_tmp_are_removed(
    guarded: Callable[..., Guarded], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = guarded("packed")
    running.close_input()
    running.process.wait(20)
    assert [each.name for each in running.environment.iterdir()] == ["library"]
    monkeypatch.setattr(guard, "ENVIRONMENTS", tmp_path)
    of_another = tmp_path / "python_env_abcdef"
    of_another.mkdir()
    guard.clean(running.folder, running.prefix, of_another.stat().st_mtime + 1)
    assert of_another.exists()
    guard.clean(running.folder, running.prefix, of_another.stat().st_mtime)
    assert not of_another.exists()


def test_the_guard_ignores_signals_and_takes_the_server_with_it_when_killed(guarded: Callable[..., Guarded]) -> None:
    running = guarded()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        running.process.send_signal(number)
    assert not eventually(lambda: running.process.poll() is not None, 0.6)
    assert is_alive(running.pids[0])
    running.process.kill()
    running.process.wait()
    assert eventually(lambda: not is_alive(running.pids[0]), 20)


PARENT = """
import subprocess, sys, time
subprocess.Popen(sys.argv[1:])
time.sleep(600)
"""


def test_a_parent_killed_by_sigkill_leaves_nothing_behind(guarded: Callable[..., Guarded], tmp_path: Path) -> None:
    """The pipe stays open here, as with a fork of the parent. The guard sees that its parent is gone."""
    parent = tmp_path / "parent.py"
    parent.write_text(PARENT, encoding="utf-8")
    running = guarded(parent=parent)
    running.process.kill()
    assert eventually(lambda: running.left() == [], 20)
