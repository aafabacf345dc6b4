"""What a server is started with and should not be, and what it runs out of: said in a line each."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from plate_nets.answers import SHARED_MEMORY as SHARED_MEMORY_FULL
from plate_nets.server.guard import SHARED_MEMORY
from plate_nets.server.plan import LEAST_SHARED
from plate_nets.server.ports import LOOPBACK

ENOUGH = 1 << 30
"""Bytes of shared memory that hold several raw frames of the largest size, in each model that sees them."""


def full_shared_memory() -> str:
    """What is wrong where next to nothing of it is free; empty where enough is."""
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free >= LEAST_SHARED:
        return ""
    return (
        f"{SHARED_MEMORY} has {free >> 20} MB free, expected {LEAST_SHARED >> 20} or more: until it has, larger frames "
        f"meet {SHARED_MEMORY_FULL.says}"
    )


def warnings(repository: Path, address: str) -> Iterator[str]:
    """The model repository and where the server listens -> what is wrong with the way it is deployed.

    On an address for this machine alone its user may be root, and the models his.
    """
    shared = shutil.disk_usage(SHARED_MEMORY).total
    if shared < ENOUGH:
        yield (
            f"{SHARED_MEMORY} has {shared >> 20} MB, expected {ENOUGH >> 20} or more: larger frames meet "
            f"{SHARED_MEMORY_FULL.says}; a container gets it by --shm-size 1g"
        )
    if address == LOOPBACK:
        return
    if os.geteuid() == 0:
        yield "it runs as root, expected a user without rights; a container's is 1000 by itself"
    if os.access(repository, os.W_OK):
        yield f"{repository} can be written, expected it read-only: models are programs; docker run --read-only"
