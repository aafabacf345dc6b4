"""The end of a command that runs until Ctrl-C."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_by_signal(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Call ``stop`` on the first Ctrl-C or SIGTERM, so that the command can finish its work; the next one ends at once.

    The list gets the signal.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, before[signal.Signals(number)])
        stop()

    for number in before:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
