"""The duty of a container's first process: to wait for orphans that ended, so that no image needs an init for it."""

import os

import psutil


def reap_orphans(own: int | None) -> None:
    """Wait for children that ended and that nobody here waits for; ``own``: the one child that somebody does."""
    if os.getpid() == 1:
        psutil.wait_procs([child for child in psutil.Process().children() if child.pid != own], timeout=0)
