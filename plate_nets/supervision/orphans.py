"""The duty of a container's first process: to wait for orphans that ended."""

import os

import psutil


def reap_orphans(own: int | None) -> None:
    """Wait for children that ended and that nobody here waits for; ``own``: the one child that somebody does."""
    if os.getpid() != 1:
        return
    for child in psutil.Process().children():
        if child.pid != own and child.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, os.WNOHANG)
