"""What all destinations of events have in common."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from plate_nets.common.contexts import Closing
from plate_nets.common.threads import LONGEST_PAUSE


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
        event: dict[str, Any] = json.loads(self.document)
        return event


class Notes:
    """A text that a sink keeps; this one is lost at the end of the process."""

    def __init__(self) -> None:
        self._text = ""

    def read(self) -> str:
        """The text last written; at first empty."""
        return self._text

    def write(self, text: str) -> None:
        """Replace the text.

        Raises:
            SinkError: not possible now.
        """
        self._text = text


@dataclass(frozen=True)
class Site:
    """Where events come from, for sinks that tell more than events."""

    cameras: Callable[[], Mapping[str, bool]] | None = None
    """Whether pictures come, by the cameras' ids; None: not known yet."""
    zones: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names of the zones, by the cameras' ids."""
    lists: Sequence[str] = ()
    """The names of the watch lists."""
    pictures: Path | None = None
    """The folder of the pictures that events name."""


class Sink(Closing, ABC):
    """Takes records; after a fault a batch may be sent again, in the same order."""

    batch = 100
    """Maximum number of records per call."""
    linger = 0.0
    """Seconds that records may wait for a batch to fill."""
    tick = 5.0
    """Seconds between two calls of `connect` while there is nothing to send."""
    longest_pause = LONGEST_PAUSE
    """Seconds between two attempts at most."""

    def begin(self, notes: Notes) -> None:
        """Called once, before anything else, with what the sink wrote in earlier runs."""

    def follow(self, site: Site) -> None:
        """Called once the cameras are known."""

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
