"""A process that owns one embedded server and outlives it: stops it and cleans up whatever ends the parent.

Run as ``python -I -S guard.py`` with only the standard library. It reads one line of JSON (`plan.Plan`) from
standard input, starts the server in its own process group, and waits until the server ends, the input is closed, or the
parent is gone, even by SIGKILL. Then it sends TERM, waits, sends KILL, and removes the folder, the shared memory and
what Triton leaves in /tmp. It exits with the server's code (128 + number of the signal that ended it).
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
ENVIRONMENTS = Path("/tmp")
"""Where Triton's Python backend creates a folder for each backend on top of it, whatever TMPDIR is, and leaves it."""
POLL = 0.2
"""Seconds between two checks of the server and the parent."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Run one server until it or the parent ends -> the exit code."""
    parent = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the guard ends with its parent or its server
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # stubs that outlive the server become children of the guard
    plan = json.loads(sys.stdin.buffer.readline())
    folder = Path(plan["folder"])
    try:
        folder.mkdir()
        for copy, source in plan["files"].items():
            shutil.copy(source, within(folder, copy))
        for link, target in plan["links"].items():
            within(folder, link).symlink_to(target)
        for name, text in plan["texts"].items():
            within(folder, name).write_text(text, encoding="utf-8")
        server = subprocess.Popen(  # it inherits the guard's output, the log
            plan["command"],
            stdin=subprocess.DEVNULL,
            env=plan["environment"],
            cwd=folder,  # stubs import from it, and a core dump is deleted with it
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            while server.poll() is None and os.getppid() == parent:
                if select.select([sys.stdin.buffer], [], [], POLL)[0]:
                    break
        finally:
            stop(server, plan["exit_timeout"])
        return server.returncode if server.returncode >= 0 else 128 - server.returncode
    finally:
        clean(folder, plan["region_prefix"], plan["planned"])


def within(folder: Path, name: str) -> Path:
    """A path inside a folder, below folders that exist."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def die_with_parent() -> None:
    """Runs in the server's process before exec: if the guard is killed, the server dies too.

    Also raises the limit of open files to the maximum: with the usual 1,024, idle connections block all clients.
    """
    import resource  # here, because programs that start no server import this module on Windows too

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def prctl(option: int, value: int) -> None:
    """Linux's prctl(2), which Python's standard library lacks."""
    ctypes.CDLL(None).prctl(option, value)


def stop(server: "subprocess.Popen[bytes]", timeout: float) -> None:
    """Send TERM, wait, send KILL to the rest of the server's process group, and wait for all of it."""
    if server.poll() is None and timeout > 0:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def clean(folder: Path, region_prefix: str, planned: float) -> None:
    """Remove the server's own folder, its shared memory, and the empty folders created since it was planned.

    An empty folder may belong to another server, but then that server does not use it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for region in SHARED_MEMORY.glob(f"{region_prefix}*"):
        region.unlink(missing_ok=True)
    for environment in ENVIRONMENTS.glob("python_env_*"):
        with contextlib.suppress(OSError):  # not empty, or not ours
            if environment.stat().st_mtime >= planned:
                environment.rmdir()


if __name__ == "__main__":
    sys.exit(main())
