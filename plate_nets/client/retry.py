"""Asking again what is safe to ask again, within a number of attempts and a deadline."""

import itertools
import random
import time
from collections.abc import Callable
from typing import TypeVar

from plate_nets.errors import ServerUnavailable

FIRST_PAUSE = 0.1
"""Seconds before the second attempt at most; it doubles from attempt to attempt."""
LONGEST_PAUSE = 2.0

T = TypeVar("T")


def ask(question: Callable[[float], T], timeout: float, retries: int) -> T:
    """Put a question until it is answered, at most ``retries`` times more, and never past ``timeout`` seconds.

    ``question`` gets the seconds that are left. Only `ServerUnavailable` is worth another attempt: a wrong picture
    stays wrong, and a fault of the server is met again. The pause is anything from 0 to its bound ("full jitter"), so
    that clients refused together do not come back together.

    Raises:
        PlateError: what the last attempt raised.
    """
    deadline = time.monotonic() + timeout
    for attempt in itertools.count():
        try:
            return question(max(0.0, deadline - time.monotonic()))
        except ServerUnavailable:
            pause = random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))
            if attempt >= retries or time.monotonic() + pause >= deadline:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")
