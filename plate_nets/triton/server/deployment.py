"""Warnings about how a server is deployed, one line each."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from plate_nets.common.error_codes import SHARED_MEMORY as SHARED_MEMORY_FULL
from plate_nets.triton.server.guard import SHARED_MEMORY
from plate_nets.triton.server.plan import LEAST_SHARED
from plate_nets.triton.server.ports import LOOPBACK

ENOUGH = 1 << 30
"""Bytes of shared memory that hold several raw frames of the largest size, for each model that sees them."""


def full_shared_memory() -> str:
    """A warning if shared memory is almost full; empty otherwise."""
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free >= LEAST_SHARED:
        return ""
    return (
        f"{SHARED_MEMORY} has {free >> 20} MB free, expected {LEAST_SHARED >> 20} or more: until then, larger frames "
        f"fail with {SHARED_MEMORY_FULL.phrase}"
    )


def warnings(repository: Path, address: str) -> Iterator[str]:
    """Warnings about a server with this model repository and listening address.

    On a loopback address, running as root and writable models are accepted.
    """
    shared = shutil.disk_usage(SHARED_MEMORY).total
    if shared < ENOUGH:
        yield (
            f"{SHARED_MEMORY} has {shared >> 20} MB, expected {ENOUGH >> 20} or more: larger frames fail with "
            f"{SHARED_MEMORY_FULL.phrase}; start the container with --shm-size 1g"
        )
    if address == LOOPBACK:
        return
    if os.geteuid() == 0:
        yield "the server runs as root, expected a user without rights; the container's default is user 1000"
    if os.access(repository, os.W_OK):
        yield f"{repository} is writable, expected read-only, because models are programs; use docker run --read-only"
