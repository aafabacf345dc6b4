"""Retries of calls that are safe to repeat, within a number of attempts and a deadline."""

import itertools
import random
import time
from collections.abc import Callable
from typing import TypeVar

from plate_nets.common.errors import ServerUnavailable

FIRST_PAUSE = 0.1
"""Maximum seconds before the second attempt; doubled for each further one."""
LONGEST_PAUSE = 2.0

T = TypeVar("T")


def ask(question: Callable[[float], T], timeout: float, retries: int) -> T:
    """Call a function until it succeeds, with at most ``retries`` retries, and never longer than ``timeout`` seconds.

    ``question`` gets the remaining seconds. Only `ServerUnavailable` leads to a retry: an invalid picture stays
    invalid, and a fault of the server happens again. The pause is random up to its limit ("full jitter"), so that
    clients that were refused together do not all come back together.

    Raises:
        PlateError: the error of the last attempt.
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
