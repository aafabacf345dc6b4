"""Delivers records from the outbox to a sink, in a thread of its own."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from plate_nets.common.errors import RecordRefused, SinkError
from plate_nets.common.threads import FIRST_PAUSE, LastingThread, cause
from plate_nets.events.sinks.base import Record, Sink, Site
from plate_nets.events.sinks.outbox import Outbox

_AHEAD = 100
"""Records that are read from the outbox at once, at least: each change of that file waits for the disk."""
_AT_ONCE = 1.0
"""Seconds for which they count; then the outbox is told what the sink has taken."""


@dataclass(frozen=True)
class Delivered:
    delivered: int
    """Records since the start."""
    refused: int
    """Records that the sink will never take, since the start."""
    failures: int
    """Attempts that failed since the start."""
    waiting: int
    dropped: int
    error: str | None
    """Why the last attempt failed; None if it succeeded."""

    @property
    def is_failing(self) -> bool:
        return self.error is not None


class Delivery:
    """The thread of a sink.

    Args:
        name: of the sink in the outbox, in messages and metrics.
        matches_only: skip what matches no watch list.
        finals_only: skip all but the last record of a car.
        notice: called with a line when the sink fails, refuses a record, or recovers.
        first_pause: seconds before the second attempt; doubles after that.
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
        self._next_records = partial(
            outbox.waiting, name, max(_AHEAD, sink.batch), matches_only=matches_only, finals_only=finals_only
        )
        self._first_pause = first_pause
        self._closing = threading.Event()
        self._connected = False
        self._delivered = self._refused = 0
        self._unacknowledged: int | None = None
        """The last record that the sink has taken, in case the outbox could not store that."""
        self._ahead: list[Record] = []
        """Records to send before the outbox is asked, and told, again."""
        self._ahead_until = 0.0
        self._waiting = self._dropped = 0
        sink.begin(outbox.notes(name))
        self._thread = LastingThread(
            f"sink {name}",
            self._deliver,
            ending=self._closing,
            failed=lambda error: notice(f"{name}: {cause(error)}; records wait in the outbox"),
            recovered=lambda: notice(f"{name}: takes records again"),
            ended=sink.close,
            first_pause=first_pause,
            longest_pause=sink.longest_pause,
        )
        self._thread.start()

    def state(self) -> Delivered:
        """The state of the sink; if the outbox cannot be read, the counts are the last known ones."""
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

    def follow(self, site: Site) -> None:
        self._sink.follow(site)

    def finish(self) -> None:
        """Deliver the remaining records, stopping at the first failed attempt; `join` waits for it."""
        self._closing.set()
        self._outbox.wake()

    def join(self, seconds: float) -> bool:
        """Wait for the end after `finish` -> whether it was reached."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _deliver(self) -> bool:
        """Send the next records, if any, to the sink -> whether more may come."""
        if not self._connected:
            self._sink.connect()
            self._connected = True
        if not self._ahead:
            self._acknowledge()
            closing = self._closing.is_set()
            records = self._next_records()
            if not records:
                if not closing:
                    self._sink.connect()
                    self._outbox.wait(self.name, self._sink.tick, self._closing.is_set)
                return not closing
            if len(records) < self._sink.batch and self._sink.linger:
                self._closing.wait(self._sink.linger)
                records = self._next_records()
            self._ahead, self._ahead_until = records, time.monotonic() + _AT_ONCE
        try:
            self._unacknowledged = taken = self._send(self._ahead[: self._sink.batch])
            self._ahead = [each for each in self._ahead if each.sequence > taken]
        except BaseException:
            self._ahead = []
            raise
        finally:
            if not self._ahead or time.monotonic() > self._ahead_until:
                self._ahead = []
                self._acknowledge()
        return True

    def _send(self, records: list[Record]) -> int:
        """Send records -> the sequence of the last one that need not be offered again."""
        try:
            self._sink.send(records)
        except RecordRefused as error:
            self._refused += 1
            self._notice(f"{self.name}: record {records[0].key} was refused and is skipped: {error}")
            return records[0].sequence
        self._delivered += len(records)
        return records[-1].sequence

    def _acknowledge(self) -> None:
        """Delete from the outbox what the sink has taken; if that fails, the sink still does not get it again."""
        if self._unacknowledged is not None:
            self._outbox.acknowledge(self.name, self._unacknowledged)
            self._unacknowledged = None


def finish_all(deliveries: list[Delivery], seconds: float) -> list[str]:
    """End all deliveries within these seconds in total -> names of the sinks with undelivered records."""
    for each in deliveries:
        each.finish()
    deadline = time.monotonic() + seconds
    return [each.name for each in deliveries if not each.join(max(0.0, deadline - time.monotonic()))]
