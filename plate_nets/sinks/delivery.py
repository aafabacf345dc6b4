"""Brings records from the outbox to a sink, in a thread of its own, until the sink has them."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from plate_nets.errors import RecordRefused, SinkError
from plate_nets.sinks.base import Record, Sink
from plate_nets.sinks.outbox import Outbox

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds between two attempts; it doubles, and is cut by up to a half at random."""
_POLL = 5.0


@dataclass(frozen=True)
class Delivered:
    """How a sink stands."""

    delivered: int
    """Records since the start."""
    refused: int
    """Records that the sink will never take, since the start."""
    failures: int
    """Attempts that failed since the start."""
    waiting: int
    dropped: int
    error: str | None
    """Why the last attempt failed; None where it did not."""


class Delivery:
    """A sink's thread.

    Args:
        name: of the sink in the outbox, in messages and metrics.
        matches_only: leave out what matches no watch list.
        finals_only: leave out all but the last record of a car.
        notice: gets a line when the sink fails, refuses a record, or takes records again.
        first_pause: seconds before the second attempt.
    """

    def __init__(
        self,
        name: str,
        sink: Sink,
        outbox: Outbox,
        notice: Callable[[str], None],
        *,
        matches_only: bool = False,
        finals_only: bool = False,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self.name = name
        self._sink = sink
        self._outbox = outbox
        self._notice = notice
        self._wanted = partial(outbox.waiting, name, sink.batch, matches_only=matches_only, finals_only=finals_only)
        self._first_pause = first_pause
        self._closing = threading.Event()
        self._delivered = self._refused = self._failures = 0
        self._error: str | None = None
        self._thread = threading.Thread(target=self._run, name=f"sink {name}", daemon=True)
        self._thread.start()

    def state(self) -> Delivered:
        """How it stands."""
        return Delivered(
            self._delivered,
            self._refused,
            self._failures,
            self._outbox.backlog(self.name),
            self._outbox.dropped(self.name),
            self._error,
        )

    def finish(self) -> None:
        """Deliver what is there and end with the first attempt that fails; `join` waits for it."""
        self._closing.set()
        self._outbox.wake()

    def join(self, seconds: float) -> bool:
        """Wait for the end after `finish` -> whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with self._sink as sink:
            if not self._insist(sink.connect):
                return
            while True:
                closing = self._closing.is_set()
                records = self._wanted()
                if not records:
                    if closing:
                        return
                    self._outbox.wait(self.name, _POLL, self._closing.is_set)
                    continue
                if len(records) < sink.batch and sink.linger:
                    self._closing.wait(sink.linger)
                    records = self._wanted()
                if not self._insist(partial(self._send, sink, records)):
                    return

    def _insist(self, attempt: Callable[[], None]) -> bool:
        """Try until the sink lets it -> whether it did; False only where the end was asked for."""
        pause = self._first_pause
        while True:
            try:
                attempt()
            except SinkError as error:
                self._failures += 1
                if self._error is None:
                    self._notice(f"{self.name}: {error}; records wait in the outbox")
                self._error = str(error)
                if self._closing.wait(pause * random.uniform(0.5, 1)):
                    return False
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if self._error is not None:
                    self._error = None
                    self._notice(f"{self.name}: takes records again")
                return True

    def _send(self, sink: Sink, records: list[Record]) -> None:
        try:
            sink.send(records)
        except RecordRefused as error:
            self._outbox.taken(self.name, records[0].sequence)
            self._refused += 1
            self._notice(f"{self.name}: record {records[0].key} is refused and left out: {error}")
        else:
            self._outbox.taken(self.name, records[-1].sequence)
            self._delivered += len(records)


def finish_all(deliveries: list[Delivery], seconds: float) -> list[str]:
    """End every delivery within these seconds together -> names of the sinks for which records still wait."""
    for each in deliveries:
        each.finish()
    deadline = time.monotonic() + seconds
    return [each.name for each in deliveries if not each.join(max(0.0, deadline - time.monotonic()))]
