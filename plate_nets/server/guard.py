"""A process that owns one embedded server and outlives it: stops it and cleans up whatever ends the parent.

Run as ``python -I -S guard.py`` with the standard library alone. It reads one line of JSON (`embedded.Plan`) from its
standard input, starts the server in a process group of its own, and waits until the server ends, the input is closed,
or the parent is gone (a parent killed with -9 included). Then: TERM, wait, KILL, and away with the folder, the shared
memory and what Triton leaves in /tmp. Exits with the server's code (128 + number of the signal that ended it).
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
ENVIRONMENTS = Path("/tmp")
"""Where Triton's Python backend makes a folder for each backend on top of it, whatever TMPDIR says, and leaves it."""
POLL = 0.2
"""Seconds between two looks at the server and the parent."""
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Run one server until it, or the parent, ends -> the exit code."""
    parent = os.getppid()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)  # it ends with its parent or its server, never before them
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # stubs that outlive the server come to the guard, to be waited for
    plan = json.loads(sys.stdin.buffer.readline())
    folder = Path(plan["folder"])
    try:
        folder.mkdir()
        for copy, source in plan["files"].items():
            path = folder / copy
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, path)
        for link, target in plan["links"].items():
            (folder / link).symlink_to(target)
        server = subprocess.Popen(  # its output goes where the guard's goes, to the log
            plan["command"],
            stdin=subprocess.DEVNULL,
            env=plan["environment"],
            cwd=folder,  # stubs import from it, and a core dump goes with it
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


def die_with_parent() -> None:
    """In the server's process before its program starts: a guard that is killed takes the server with it.

    It may open as many files as the system lets it: with the usual 1,024, idle connections keep everybody out.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)


def prctl(option: int, value: int) -> None:
    """Linux's prctl(2), which Python has no name for."""
    ctypes.CDLL(None).prctl(option, value)


def stop(server: "subprocess.Popen[bytes]", timeout: float) -> None:
    """TERM, wait, then KILL whatever is left of the server's process group, and wait for all of it."""
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
    """Remove the server's own folder, its regions of shared memory, and the empty folders made since it was planned.

    Of the latter one may be another server's; nobody uses one that is empty.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for region in SHARED_MEMORY.glob(f"{region_prefix}*"):
        region.unlink(missing_ok=True)
    for environment in ENVIRONMENTS.glob("python_env_*"):
        with contextlib.suppress(OSError):  # it is not empty, or not ours
            if environment.stat().st_mtime >= planned:
                environment.rmdir()


if __name__ == "__main__":
    sys.exit(main())
