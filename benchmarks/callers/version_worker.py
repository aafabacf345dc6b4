"""Runs in a process of another version: imports that package, and no module of this one.

Run as a script, ``python version_worker.py read|serve``. It answers each line on standard input with a line of JSON on
standard output, and ends with its input; everything else it prints goes to standard error.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from plate_nets import EmbeddedTriton

Read = Callable[[bytes], object]


def reader() -> Read:
    """An encoded picture -> plates, in this process on all its cores."""
    from plate_nets import LocalReader  # late: a server's start is timed without it

    return LocalReader().read


def timed(read: Read, picture: str, seconds: float) -> list[float]:
    """Read a picture repeatedly for this long, at least once -> milliseconds of each time."""
    encoded = Path(picture).read_bytes()
    spent: list[float] = []
    deadline = time.perf_counter() + seconds
    while not spent or time.perf_counter() < deadline:
        started = time.perf_counter()
        read(encoded)
        spent.append((time.perf_counter() - started) * 1000)
    return spent


def main(role: str) -> None:
    """Print a line when ready, then answer until standard input ends."""
    server = EmbeddedTriton(exit_timeout=0) if role == "serve" else nullcontext()
    with os.fdopen(os.dup(1), "w") as answers, server as served:
        os.dup2(2, 1)
        read = reader() if served is None else None
        print(json.dumps(None if served is None else served.http_url), file=answers, flush=True)
        for line in sys.stdin:
            if read is not None:
                print(json.dumps(timed(read, **json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
