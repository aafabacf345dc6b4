"""Streams new events to many readers: the store is read once for all of them, and each has its own queue."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator

from plate_nets.common.errors import ServerOverloaded
from plate_nets.common.threads import LastingThread
from plate_nets.web.store import Document, EventStore

_CHECK_INTERVAL = 0.2
"""Seconds between two checks of the store."""
_HELD = 64
"""Batches that may wait for one reader; a slower one is disconnected and may resume where it left off."""

Batch = list[tuple[int, Document]]
Reader = asyncio.Queue[Batch | None]
"""What waits for one reader; None: it is disconnected."""


class EventTail:
    """Watches the store, which gets events from this process or another, for its readers."""

    def __init__(self, store: EventStore, max_readers: int) -> None:
        self._store = store
        self._max_readers = max_readers
        self._readers: set[Reader] = set()
        self._thread: LastingThread | None = None
        self._ending = threading.Event()
        self._reached = 0

    @property
    def readers(self) -> int:
        return len(self._readers)

    def check_room(self) -> None:
        """Raise ServerOverloaded if there is no room for another reader."""
        if len(self._readers) >= self._max_readers:
            raise ServerOverloaded(f"streams: at most {self._max_readers} at once are allowed; try again later")

    async def events(self, after: int) -> AsyncIterator[dict[str, str]]:
        """Server-sent events after a sequence number; ends for a reader that is too slow."""
        reader: Reader = asyncio.Queue(_HELD)
        self._readers.add(reader)
        try:
            newest, reached = await asyncio.to_thread(self._store.last_sequence), after
            if self._thread is None:
                self._reached = newest
                self._loop = asyncio.get_running_loop()
                self._thread = LastingThread("events", self._send_new, ending=self._ending)
                self._thread.start()
            while True:
                reached, missed = await asyncio.to_thread(self._store.since, reached)
                for sequence, event in missed:
                    yield _message(sequence, event)
                if not missed:
                    break
            while (batch := await reader.get()) is not None:
                for sequence, event in batch:
                    if sequence > reached:
                        yield _message(sequence, event)
        finally:
            self._readers.discard(reader)

    async def close(self) -> None:
        for reader in set(self._readers):
            self._send_away(reader)
        self._ending.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _send_new(self) -> bool:
        self._reached, events = self._store.since(self._reached)
        if events:
            self._loop.call_soon_threadsafe(self._hand_out, events)
        return not self._ending.wait(0 if events else _CHECK_INTERVAL)

    def _hand_out(self, events: Batch) -> None:
        for reader in set(self._readers):
            try:
                reader.put_nowait(events)
            except asyncio.QueueFull:
                self._send_away(reader)

    def _send_away(self, reader: Reader) -> None:
        self._readers.discard(reader)
        while not reader.empty():
            reader.get_nowait()
        reader.put_nowait(None)


def _message(sequence: int, event: Document) -> dict[str, str]:
    return {"id": str(sequence), "event": "recognition", "data": json.dumps(event, ensure_ascii=False)}
