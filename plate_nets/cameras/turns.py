"""Limits the frames in flight to the reader, shared fairly."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Lets a fixed number of threads in at once. The others follow in the order of their requests."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock:
            mine = threading.Event()
            if self._free:
                self._free -= 1
                mine.set()
            else:
                self._waiting.append(mine)
        mine.wait()
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._free += 1
