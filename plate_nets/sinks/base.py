"""What all destinations of events have in common."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plate_nets.closing import Closing


@dataclass(frozen=True)
class Record:
    """An event in the outbox."""

    sequence: int
    """Its row in the outbox; increasing."""
    key: str
    """The idempotency key of this record, the same for every delivery."""
    camera_id: str
    document: str
    """The event as one line of JSON."""

    @cached_property
    def event(self) -> dict[str, Any]:
        """The document, parsed."""
        event: dict[str, Any] = json.loads(self.document)
        return event


class Sink(Closing, ABC):
    """Takes records; after a fault a batch may be sent again, in the same order."""

    batch = 100
    """Maximum number of records per call."""
    linger = 0.0
    """Seconds that records may wait for a batch to fill."""

    def connect(self) -> None:
        """Called until it succeeds before anything is sent, and again while there is nothing to send.

        Raises:
            SinkError: not possible now; it is called again.
        """

    @abstractmethod
    def send(self, records: Sequence[Record]) -> None:
        """Take all the records: when this returns, they are safely stored.

        Raises:
            SinkError: not possible now; the same records are offered again.
        """
