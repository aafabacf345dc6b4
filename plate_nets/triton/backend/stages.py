"""Times the stages of a request, and stops before the next one if nobody waits for the answer."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from plate_nets.common.errors import DeadlineExceeded, InputError
from plate_nets.triton.backend.triton import Request

CALLING = ("detect", "rectify", "read", "look_again", "tell_country")
"""Stages that call other models. Only these check whether the caller hung up, which takes 0.1 ms."""


class RequestStages:
    """Times the stages of one request, ``with stages("read"):``. Create it when the work begins."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._started = time.perf_counter()
        self._limit = request.timeout() / 1e6
        self.spent: dict[str, float] = {}
        """Seconds of each stage so far; chunks that run in parallel are added up."""
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time a stage inside the context. A stage that refuses the picture does not count.

        Raises:
            DeadlineExceeded: nobody waits for the answer: the caller hung up (Triton only reports this for gRPC), or
                the timeout of the request (Triton's ``timeout``) is over.
        """
        self._check(stage)
        started = time.perf_counter()
        refused = False
        try:
            yield
        except InputError:
            refused = True
            raise
        finally:
            if not refused:
                with self._lock:
                    self.spent[stage] = self.spent.get(stage, 0.0) + time.perf_counter() - started

    def _check(self, stage: str) -> None:
        if stage in CALLING and self._request.is_cancelled():
            raise DeadlineExceeded(f"the caller hung up before {stage}")
        if 0 < self._limit < self.seconds:
            raise DeadlineExceeded(f"the request's timeout of {self._limit:g} s was over before {stage}")
