"""The stages of one request: how long each takes, and whether it is worth beginning the next."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from plate_nets.errors import DeadlineExceeded, InputError
from plate_nets.python_backend.triton import Request

CALLING = ("detect", "rectify", "read", "look_again", "tell_country")
"""Stages that call other models. Whether the caller hung up costs 0.1 ms to ask, so it is asked before these alone."""


class RequestStages:
    """Times the stages of one request, ``with stages("read"):``; made when the work on it begins."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._started = time.perf_counter()
        self._limit = request.timeout() / 1e6
        self.spent: dict[str, float] = {}
        """Seconds of each stage so far, those of chunks that ran at once added up."""
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return time.perf_counter() - self._started

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """While it is entered, the stage runs; where it refuses the picture, its time tells nothing and is left out.

        Raises:
            DeadlineExceeded: nobody waits for the answer any more. The caller has hung up (Triton tells us of gRPC's
                callers alone), or the time that the request itself allows (Triton's ``timeout``) is over.
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
