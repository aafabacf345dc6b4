"""Waiting for a condition, with a deadline."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], seconds: float) -> bool:
    """Whether a condition becomes true within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
