"""The cores on which this process may run."""

import os


def own_cores() -> int:
    """The number of cores in the affinity mask, or of the machine where there is none, as on macOS."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
