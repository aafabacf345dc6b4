"""The course of one request through its stages: how long each takes, and whether it is worth going on."""

import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from plate_nets.errors import DeadlineExceeded
from plate_nets.serving.triton import Request

P = ParamSpec("P")
R = TypeVar("R")

ASKING = ("detect", "rectify", "read")
"""Stages that ask other models. Whether the caller hung up costs 0.1 ms to ask, so it is asked before these alone."""


class Course:
    """One request on its way; made when its work begins."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._started = time.perf_counter()
        self._limit = request.timeout() / 1e6
        self.stages: dict[str, float] = {}
        """Seconds of each stage so far, those of chunks that ran at once added up."""
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return time.perf_counter() - self._started

    def stage(self, name: str, function: Callable[P, R]) -> Callable[P, R]:
        """A function -> the same, timed as a stage, and not called where nobody waits for the answer any more.

        It raises DeadlineExceeded then: the caller has hung up (Triton tells us of gRPC's callers alone, and is asked
        before the stages of `ASKING`), or the time that the request itself allows (Triton's ``timeout``) is over.
        """

        def timed(*args: P.args, **kwargs: P.kwargs) -> R:
            self._check(name)
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                with self._lock:
                    self.stages[name] = self.stages.get(name, 0.0) + time.perf_counter() - started

        return timed

    def _check(self, stage: str) -> None:
        if stage in ASKING and self._request.is_cancelled():
            raise DeadlineExceeded(f"the caller hung up before {stage}")
        if 0 < self._limit < self.seconds:
            raise DeadlineExceeded(f"the request's timeout of {self._limit:g} s was over before {stage}")
