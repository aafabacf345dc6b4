"""Cameras and video files -> events of one car each: `for event in Watcher(reader, "rtsp://...")`."""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from plate_nets.cameras.analysis import AnalysedFrame, Analysis
from plate_nets.cameras.asked import ASKED_SECONDS, Answer
from plate_nets.cameras.camera_status import CameraStatus
from plate_nets.cameras.pictures import Retention
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.turns import Turns
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError, SourceError
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.reader import Reader, SceneReader

_HELD = 1000
"""Maximum number of events that wait for the iterator; then the cameras wait."""
_IN_FLIGHT = 2
"""Maximum number of frames that the reader gets at once, from different cameras."""
_TICK = 0.2
_LONGEST_END = 15.0
"""Seconds that a running read of a source or of the reader may take at the end."""

_log = logging.getLogger(__name__)


class Watcher(Closing):
    """Watches cameras and yields their events, in order for each camera.

    A camera that fails is reported, and the others continue. Files end; live sources continue until `close`.

    Args:
        reader: `LocalReader` or `PlateClient`. A client should use gRPC, because Triton leaks memory with each empty
            answer over HTTP.
        sources: one or more, each as `CameraSettings` or as text, see `CameraSettings.source`.
        notice: called with the camera's id and a line about each problem and its end; by default they are logged.
        on_frame: called with each analysed frame, in the thread of its camera.

    Raises:
        InputError: a source is invalid, two cameras have the same id, or vehicles are requested from a reader without
            ``scene``.
    """

    def __init__(
        self,
        reader: Reader,
        sources: str | CameraSettings | Sequence[str | CameraSettings],
        settings: WatcherSettings = WatcherSettings(),
        *,
        notice: Callable[[str, str], None] | None = None,
        on_frame: Callable[[AnalysedFrame], None] | None = None,
    ) -> None:
        if isinstance(sources, (str, CameraSettings)):
            sources = (sources,)
        cameras = [CameraSettings(source) if isinstance(source, str) else source for source in sources]
        twice = [name for name, count in Counter(camera.id for camera in cameras).items() if count > 1]
        if twice:
            raise InputError(f"cameras: expected different ids, got {', '.join(twice)} more than once")
        if settings.vehicles and not isinstance(reader, SceneReader):
            raise InputError(f"vehicles: expected a reader with a method scene, got {type(reader).__name__}")
        self._notice = notice or (lambda camera, line: _log.warning("%s: %s", camera, line))
        self._retention = Retention(settings.pictures) if settings.pictures else None
        self._events: queue.Queue[PlateEvent] = queue.Queue(_HELD)
        self._stop = threading.Event()
        turns = Turns(_IN_FLIGHT)
        self._cameras = [
            Analysis(camera, settings, reader, turns, self._deliver, on_frame, partial(self._notice, camera.id))
            for camera in cameras
        ]
        self._started = False

    def __iter__(self) -> Iterator[PlateEvent]:
        """The events, until every source has ended or `close` is called.

        Raises:
            SourceError: no camera returned a picture.
            PlateError: the reader cannot continue.
        """
        self.start()
        try:
            while True:
                finished = all(camera.finished for camera in self._cameras)
                try:
                    yield self._events.get(timeout=0 if finished else _TICK)
                except queue.Empty:
                    if finished:
                        break
                if self._retention:
                    self._prune(self._retention)
        except Exception:  # our own fault: the next iteration continues
            raise
        except BaseException:
            self.close()
            raise
        self.close()
        for camera in self._cameras:
            if camera.error:
                raise camera.error
        failed = [status for status in self.status() if status.state == "failed"]
        if len(failed) == len(self._cameras):
            raise SourceError("; ".join(f"{status.camera_id}: {status.cause}" for status in failed))

    def start(self) -> None:
        """Open the sources. Iterating does so too."""
        if not self._started:
            self._started = True
            for camera in self._cameras:
                camera.start()

    def status(self) -> list[CameraStatus]:
        """The state of each camera."""
        return [camera.status() for camera in self._cameras]

    def at_work(self) -> dict[str, bool]:
        """Whether pictures come, by the cameras' ids."""
        return {each.camera_id: each.is_at_work for each in self.status()}

    def read(self, camera: str, seconds: float = ASKED_SECONDS) -> Answer:
        """Read the next second of a camera, and up to so many until the texts are certain -> the cars in it.

        Raises:
            InputError: no camera has this id.
            SourceError: it sends no pictures.
        """
        for each in self._cameras:
            if each.camera.id == camera:
                status = each.status()
                if status.state not in ("connecting", "online"):
                    raise SourceError(f"camera {camera}: {status.state}: {status.cause or 'it sends no pictures'}")
                return each.asked.ask(seconds)
        raise InputError(f"camera: expected the id of one that is watched, got {camera[:64]!r}")

    def stop(self) -> None:
        """Request the end; the iterator still yields the events of the cars in view."""
        for camera in self._cameras:
            camera.stop()

    def close(self) -> None:
        """End now. Only a thread that hangs in a read is left, and ends with the read."""
        self._stop.set()
        self.stop()
        if not self._started:
            return
        deadline = time.monotonic() + _LONGEST_END
        for camera in self._cameras:
            camera.join(max(0.0, deadline - time.monotonic()))

    def _prune(self, retention: Retention) -> None:
        try:
            retention.prune(time.time())
        except OSError as error:  # retried in a minute
            self._notice("pictures", f"old ones cannot be deleted: {error.strerror}")

    def _deliver(self, event: PlateEvent) -> None:
        while not self._stop.is_set():
            try:
                self._events.put(event, timeout=_TICK)
                return
            except queue.Full:
                continue
