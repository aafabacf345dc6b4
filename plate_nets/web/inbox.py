"""Keeps the events of cameras that read plates by themselves, beside those of the cameras that are watched."""

import threading
from collections.abc import Sequence
from pathlib import Path

from plate_nets.cameras.pictures import with_frame
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.web.cameras import CameraRoom
from plate_nets.web.lists import ListKeeper

_JPEG = b"\xff\xd8"


class Inbox:
    """Puts events into the outbox of the cameras that are watched; without these, straight into the store.

    Args:
        store: file of the event store.
        pictures: folder of the events' pictures.
        cameras: those that are watched, whose events may have to hide plates in pictures.
        lists: watch lists to match against.
    """

    def __init__(
        self, store: Path, pictures: Path | None, cameras: CameraRoom | None, lists: ListKeeper | None
    ) -> None:
        self._pictures = None if cameras and cameras.hides_plates else pictures
        self._cameras = cameras
        self._store = store
        self._keeper = lists
        self._lock = threading.Lock()
        self._sink: SqliteSink | None = None
        """Opened by the first event."""

    @property
    def lists(self) -> Sequence[WatchList]:
        return self._keeper.watch_lists() if self._keeper else ()

    def keep(self, event: PlateEvent, picture: bytes = b"") -> None:
        """Keep an event and its picture.

        Raises:
            SinkError: not possible now.
        """
        if self._pictures and picture.startswith(_JPEG):
            event = with_frame(event, picture, self._pictures)
        if self._cameras:
            self._cameras.record(event)
            return
        with self._lock:
            self._sink = self._sink or SqliteSink(self._store)
            self._sink.send([Record(0, event.key, event.camera_id, event.to_json())])

    def close(self) -> None:
        if self._sink:
            self._sink.close()
