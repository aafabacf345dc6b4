"""Events as they come, to many: the store is read once for all of them, and each has a queue of its own."""

import asyncio
import contextlib
import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from plate_nets.errors import ServerOverloaded
from plate_nets.web.store import Document, EventStore

_log = logging.getLogger(__name__)

_LOOK = 0.2
"""Seconds between two looks at the store."""
_HELD = 64
"""Looks whose events wait for one reader; one that is slower is sent away and may come back where it left off."""

Batch = list[tuple[int, Document]]


@dataclass(eq=False)
class _Reader:
    queue: asyncio.Queue[Batch | None] = field(default_factory=lambda: asyncio.Queue(_HELD))


class EventTail:
    """Looks at the store for whoever listens.

    Args:
        store: where events come in, from this process or another.
        most: readers at once.
    """

    def __init__(self, store: EventStore, most: int) -> None:
        self._store = store
        self._most = most
        self._readers: set[_Reader] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def readers(self) -> int:
        """How many listen."""
        return len(self._readers)

    def check_room(self) -> None:
        """Raises ServerOverloaded where no further reader may come."""
        if len(self._readers) >= self._most:
            raise ServerOverloaded(f"streams: expected at most {self._most} at once")

    async def events(self, after: int | None) -> AsyncIterator[dict[str, str]]:
        """Messages of server-sent events from now on, or from a sequence number on; it ends for a reader too slow."""
        reader = _Reader()
        self._readers.add(reader)
        try:
            newest = await asyncio.to_thread(self._store.last_sequence)
            reached = newest if after is None else after
            if self._task is None:
                self._task = asyncio.create_task(self._look(newest))
            while after is not None:
                reached, missed = await asyncio.to_thread(self._store.since, reached)
                for sequence, event in missed:
                    yield _message(sequence, event)
                if not missed:
                    break
            while (batch := await reader.queue.get()) is not None:
                for sequence, event in batch:
                    if sequence > reached:
                        yield _message(sequence, event)
        finally:
            self._readers.discard(reader)

    async def close(self) -> None:
        """Send everybody away."""
        for reader in set(self._readers):
            self._send_away(reader)
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _look(self, reached: int) -> None:
        while True:
            try:
                reached, events = await asyncio.to_thread(self._store.since, reached)
            except sqlite3.Error as error:
                _log.warning("event store: %s", error)
                events = []
            for reader in set(self._readers) if events else ():
                try:
                    reader.queue.put_nowait(events)
                except asyncio.QueueFull:
                    self._send_away(reader)
            await asyncio.sleep(0 if events else _LOOK)

    def _send_away(self, reader: _Reader) -> None:
        self._readers.discard(reader)
        while not reader.queue.empty():
            reader.queue.get_nowait()
        reader.queue.put_nowait(None)


def _message(sequence: int, event: Document) -> dict[str, str]:
    return {"id": str(sequence), "event": "recognition", "data": json.dumps(event, ensure_ascii=False)}
