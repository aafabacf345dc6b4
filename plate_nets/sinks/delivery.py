"""Brings records from the outbox to a sink, in a thread of its own, until the sink has them."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from plate_nets.errors import RecordRefused, SinkError
from plate_nets.lasting import FIRST_PAUSE, LastingThread, cause
from plate_nets.sinks.base import Record, Sink
from plate_nets.sinks.outbox import Outbox

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
        first_pause: seconds before the second attempt; then it doubles.
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
        self._connected = False
        self._delivered = self._refused = 0
        self._has: int | None = None
        """The last record that the sink has, where the outbox could not write that down."""
        self._waiting = self._dropped = 0
        self._thread = LastingThread(
            f"sink {name}",
            self._deliver,
            ending=self._closing,
            failed=lambda error: notice(f"{name}: {cause(error)}; records wait in the outbox"),
            well=lambda: notice(f"{name}: takes records again"),
            last=sink.close,
            first_pause=first_pause,
        )
        self._thread.start()

    def state(self) -> Delivered:
        """How it stands; where the outbox cannot be read, its counts are those of the last time."""
        error: Exception | None = self._thread.error
        try:
            self._waiting, self._dropped = self._outbox.backlog(self.name), self._outbox.dropped(self.name)
        except SinkError as fault:
            error = error or fault
        return Delivered(
            self._delivered,
            self._refused,
            self._thread.failures,
            self._waiting,
            self._dropped,
            cause(error) if error else None,
        )

    def finish(self) -> None:
        """Deliver what is there and end with the first attempt that fails; `join` waits for it."""
        self._closing.set()
        self._outbox.wake()

    def join(self, seconds: float) -> bool:
        """Wait for the end after `finish` -> whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _deliver(self) -> bool:
        """A turn: the next records, if there are any, to the sink -> whether more may come."""
        if not self._connected:
            self._sink.connect()
            self._connected = True
        self._forget_taken()
        closing = self._closing.is_set()
        records = self._wanted()
        if not records:
            if not closing:
                self._outbox.wait(self.name, _POLL, self._closing.is_set)
            return not closing
        if len(records) < self._sink.batch and self._sink.linger:
            self._closing.wait(self._sink.linger)
            records = self._wanted()
        self._has = self._send(records)
        self._forget_taken()
        return True

    def _send(self, records: list[Record]) -> int:
        """Records -> the sequence of the last one that need not be offered again."""
        try:
            self._sink.send(records)
        except RecordRefused as error:
            self._refused += 1
            self._notice(f"{self.name}: record {records[0].key} is refused and left out: {error}")
            return records[0].sequence
        self._delivered += len(records)
        return records[-1].sequence

    def _forget_taken(self) -> None:
        """Have the outbox delete what the sink has; where that fails, the sink does not get it again."""
        if self._has is not None:
            self._outbox.taken(self.name, self._has)
            self._has = None


def finish_all(deliveries: list[Delivery], seconds: float) -> list[str]:
    """End every delivery within these seconds together -> names of the sinks for which records still wait."""
    for each in deliveries:
        each.finish()
    deadline = time.monotonic() + seconds
    return [each.name for each in deliveries if not each.join(max(0.0, deadline - time.monotonic()))]
