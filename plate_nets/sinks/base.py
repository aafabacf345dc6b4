"""What every place for events has in common."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plate_nets.closing import Closing


@dataclass(frozen=True)
class Record:
    """An event as it lies in the outbox."""

    sequence: int
    """Its row in the outbox: grows."""
    key: str
    """The idempotency key: of this record alone, the same however often it is delivered."""
    camera_id: str
    document: str
    """The event as one line of JSON."""

    @cached_property
    def event(self) -> dict[str, Any]:
        """The document, parsed."""
        event: dict[str, Any] = json.loads(self.document)
        return event


class Sink(Closing, ABC):
    """Takes records; a batch may come again after a fault, in the same order."""

    batch = 100
    """Records at most that it gets at once."""
    linger = 0.0
    """Seconds that records may wait for a batch to fill."""

    def connect(self) -> None:
        """Called until it succeeds before anything is sent, and while nothing is there to be sent.

        Raises:
            SinkError: not now; it is called again.
        """

    @abstractmethod
    def send(self, records: Sequence[Record]) -> None:
        """Take the records, all of them: when this returns, they are safe there.

        Raises:
            SinkError: not now; the same records are offered again.
        """
