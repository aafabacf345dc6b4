"""Whether the networks fit under the limit of this process's address space (`ulimit -v`)."""

import sys
from contextlib import suppress
from pathlib import Path

from plate_nets.common.cores import own_cores
from plate_nets.common.errors import WeightsError

LITTLE_MEMORY = "there is too little memory for it; free some, or raise the limit (`ulimit -v`)"

NETWORKS, READER, THREAD = 1100 << 20, 250 << 20, 80 << 20
"""Bytes of address space that a process takes to load the networks and to read pictures up to 4K: for the detector and
all that is not a reader, for each reader, and for each thread of OpenVINO, which has a stack and a heap of its own.

With 2 threads, one reader took 1,441 MB and the three of `world` 1,954 MB; with 1 thread, one took 1,366 MB (VmPeak of
/proc/self/status less VmSize before; the known picture, scenes of 2 to 8 megapixels, 64 plates at a time; AMD EPYC,
2 cores, OpenVINO 2026.4, 2026-11-28)."""


def check_room(readers: int, threads: int) -> None:
    """Check that a number of readers and the other networks fit; ``threads``: 0 means one per core.

    Where memory runs out, OpenVINO ends the process with SIGSEGV or never answers, more often than it raises an error.

    Raises:
        WeightsError: they may not fit.
    """
    free = _free()
    needed = NETWORKS + READER * readers + THREAD * (threads or own_cores())
    if free is not None and free < needed:
        raise WeightsError(
            f"reading in this process needs {needed >> 20} MB of address space, and its limit leaves {free >> 20}: "
            f"{LITTLE_MEMORY}"
        )


def _free() -> int | None:
    """Bytes of address space that this process may still take; None: there is no limit."""
    if sys.platform == "linux":
        with suppress(ImportError):  # Windows has no such module
            import resource

            limit, _ = resource.getrlimit(resource.RLIMIT_AS)
            if limit != resource.RLIM_INFINITY:
                pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
                return limit - pages * resource.getpagesize()
    return None
