"""What runs without a server runs on Windows, as far as a Linux machine can tell.

In the processes of these tests, our modules see an `os` without what only POSIX has and no module that only POSIX has,
and nothing opens /dev/shm. The libraries keep theirs: on Windows they have other ways. `make check` proves the same for
every line, by the types that the standard library has on Windows.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clips import TEXT, passing, write_clip
from tests.frames import encode
from tests.paths import ROOT

HOOK = '''
import builtins
import os
import signal
import sys
import types

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
NAMES = """
    EX_OK O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC WNOHANG chown chroot fchmod fchown fork
    forkpty getegid geteuid getgid getpgid getpgrp getuid initgroups killpg lchown lockf major mkfifo mknod nice
    pidfd_open posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork
    sched_getaffinity sched_setaffinity sched_yield sendfile setgid setsid setuid statvfs sync sysconf uname wait wait4
""".split()
KEPT = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}
SIGNALS = {name for name in dir(signal) if name.isupper()} - KEPT


def without(module, names):
    found = types.ModuleType(module.__name__)
    found.__dict__.update({name: value for name, value in vars(module).items() if name not in names})
    return found


windows = {"os": without(os, NAMES), "signal": without(signal, SIGNALS)}
imported = builtins.__import__


def find(name, globals=None, locals=None, fromlist=(), level=0):
    if not level and (globals or {}).get("__name__", "").split(".")[0] == "plate_nets":
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
        if name in windows:
            return windows[name]
    return imported(name, globals, locals, fromlist, level)


def no_shared_memory(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/dev/shm"):
        raise FileNotFoundError(arguments[0])


builtins.__import__ = find
sys.addaudithook(no_shared_memory)
'''


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of processes in which Python runs `HOOK` when it starts, as the workers of a batch do."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": f"{hooks}{os.pathsep}{ROOT}"}


def plates(*arguments: object, environment: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "plate_nets", *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True)


def test_the_hook_takes_posix_away(environment: dict[str, str], tmp_path: Path) -> None:
    code = "import builtins; found = builtins.__import__('{}', {{'__name__': 'plate_nets.x'}}); print(found.{})"
    for module, name in (("fcntl", "flock"), ("os", "fork"), ("signal", "SIGKILL")):
        command = [sys.executable, "-c", code.format(module, name)]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode and done.stderr.splitlines()[-1].startswith(("ModuleNotFoundError", "AttributeError"))


@pytest.mark.slow
def test_a_batch_is_read(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "car.jpg").write_bytes(encode(next(passing(1)), ".jpg"))
    done = plates("batch", "photos", "--out", "out", "--workers", 1, environment=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 of 1 photo, 1 plate"


@pytest.mark.slow
def test_events_are_sent(environment: dict[str, str], tmp_path: Path) -> None:
    write_clip(tmp_path / "car.mp4", passing(12, empty=8), fps=4)
    sinks = ["--outbox", "outbox.sqlite", "--jsonl", "e.jsonl", "--csv", "e.csv", "--sqlite", "e.sqlite"]
    done = plates("watch", "car.mp4", "--local", *sinks, environment=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "1 car read in 20 frames\n")
    events = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [event["plate"] for event in events] == [TEXT, TEXT]
