"""Events as they come, to many: the store is read once for all of them, and each has a queue of its own."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from plate_nets.errors import ServerOverloaded
from plate_nets.web.store import Document, EventStore

_LOOK = 0.2
"""Seconds between two looks at the store."""
_HELD = 256
"""Events that wait for one reader; one that is slower is sent away and may come back where it left off."""


@dataclass(eq=False)
class _Reader:
    queue: asyncio.Queue[tuple[int, Document] | None] = field(default_factory=lambda: asyncio.Queue(_HELD))


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
            reached = await asyncio.to_thread(self._store.last_sequence) if after is None else after
            if self._task is None:
                self._task = asyncio.create_task(self._look(reached))
            while after is not None:
                reached, missed = await asyncio.to_thread(self._store.since, reached)
                for event in missed:
                    yield _message(reached, event)
                if not missed:
                    break
            while (found := await reader.queue.get()) is not None:
                sequence, event = found
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
            reached, events = await asyncio.to_thread(self._store.since, reached)
            for reader in set(self._readers):
                try:
                    for event in events:
                        reader.queue.put_nowait((reached, event))
                except asyncio.QueueFull:
                    self._send_away(reader)
            await asyncio.sleep(_LOOK)

    def _send_away(self, reader: _Reader) -> None:
        self._readers.discard(reader)
        while not reader.queue.empty():
            reader.queue.get_nowait()
        reader.queue.put_nowait(None)


def _message(sequence: int, event: Document) -> dict[str, str]:
    return {"id": str(sequence), "event": "recognition", "data": json.dumps(event, ensure_ascii=False)}
