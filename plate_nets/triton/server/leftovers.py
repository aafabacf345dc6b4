"""What killed servers leave behind: folders and processes."""

import contextlib
import math

import psutil

from plate_nets.triton.server.guard import ENVIRONMENTS
from plate_nets.triton.server.installation import PROGRAM

_KILLED_WITHIN = 5.0


def remove_abandoned_environments() -> None:
    """Remove Triton's empty folders in /tmp that are older than any server, left by killed servers and guards."""
    found = psutil.process_iter(["name", "create_time"])
    oldest = min((each.info["create_time"] for each in found if each.info["name"] == PROGRAM), default=math.inf)
    for environment in ENVIRONMENTS.glob("python_env_*"):
        with contextlib.suppress(OSError):  # it is not empty, or not ours
            if environment.stat().st_mtime < oldest:
                environment.rmdir()


def kill_named(prefix: str) -> None:
    """Kill the processes that have the unique ``prefix`` in their command line, and wait for them."""
    running = psutil.process_iter(["cmdline"])
    named = [each for each in running if any(prefix in word for word in each.info["cmdline"] or ())]
    for process in named:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(named, timeout=_KILLED_WITHIN)
