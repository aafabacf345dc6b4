"""Reaps orphans, as a container's first process must, so that the image needs no init."""

import os

import psutil


def reap_orphans(spared: int | None) -> None:
    """Wait for exited children, except ``spared``, which other code waits for."""
    if os.getpid() == 1:
        psutil.wait_procs([child for child in psutil.Process().children() if child.pid != spared], timeout=0)
