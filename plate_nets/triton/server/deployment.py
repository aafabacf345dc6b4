"""Warnings about how a server is deployed, one line each."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from plate_nets.common.error_codes import SHARED_MEMORY as SHARED_MEMORY_FULL
from plate_nets.triton.server.guard import SHARED_MEMORY
from plate_nets.triton.server.installation import PROGRAM, ServerKind
from plate_nets.triton.server.plan import LEAST_SHARED
from plate_nets.triton.server.ports import LOOPBACK

ENOUGH = 1 << 30
"""Bytes of shared memory that hold several raw frames of the largest size, for each model that sees them."""
LIBTORCH = Path("backends", "pytorch", "libtriton_pytorch.so")
"""Of a Triton that is made for GPUs: our image for the CPU has a backend of its own in its place."""
GPUS = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""One of them is there if a container sees NVIDIA's GPUs; the second one with WSL."""


def full_shared_memory() -> str:
    """A warning if shared memory is almost full; empty otherwise."""
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free >= LEAST_SHARED:
        return ""
    return (
        f"{SHARED_MEMORY} has {free >> 20} MB free, expected {LEAST_SHARED >> 20} or more: until then, larger frames "
        f"fail with {SHARED_MEMORY_FULL.phrase}"
    )


def lacks_gpu() -> bool:
    """Whether the system's server is made for GPUs and sees none."""
    program = shutil.which(PROGRAM)
    made_for_gpus = program is not None and (Path(program).resolve().parents[1] / LIBTORCH).exists()
    return made_for_gpus and not any(gpu.exists() for gpu in GPUS)


def warnings(repository: Path, address: str, server: ServerKind) -> Iterator[str]:
    """Warnings about a server with this model repository and listening address.

    On a loopback address, running as root and writable models are accepted.
    """
    if server == "system" and lacks_gpu():
        yield (
            "the server is made for a GPU and sees none, so it reads on the CPU: start the container with --gpus all "
            "and NVIDIA's driver, or use the image for the CPU"
        )
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
