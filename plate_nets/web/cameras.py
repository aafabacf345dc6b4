"""Cameras watched in this process: their newest pictures, their status, and their events for the store."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import cv2
import numpy as np

from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.asked import Answer
from plate_nets.cameras.camera_status import CameraStatus
from plate_nets.cameras.cameras_file import WatchPlan
from plate_nets.cameras.overlay import Overlay
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.cameras.watcher import Watcher
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import PlateError
from plate_nets.common.threads import LastingThread
from plate_nets.countries import PlateScheme
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import SqliteSettings
from plate_nets.recognition.reader import Reader
from plate_nets.types import Frame

_log = logging.getLogger(__name__)

_DRAWN_EVERY = 0.25
"""Minimum seconds between two drawn pictures of a camera, however many viewers it has."""
_WIDTH = 960
"""Pixels of a picture as shown."""
_JPEG = (cv2.IMWRITE_JPEG_QUALITY, 75)


class CameraRoom(Closing):
    """Watches the cameras of a plan for the duration of the block. Its sinks and the store get the events."""

    def __init__(
        self,
        plan: WatchPlan,
        store: Path,
        reader: Reader,
        lists: Sequence[WatchList],
        scheme: PlateScheme | None = None,
    ) -> None:
        self._newest: dict[str, AnalysedFrame] = {}
        self._overlays = defaultdict[str, Overlay](
            lambda: Overlay(blur_unlisted=plan.blur, blur_vehicles=plan.blur_vehicles)
        )
        self._drawn: dict[str, tuple[float, bytes | None]] = {}
        """When a camera's picture was drawn, and its JPEG."""
        self._drawing = threading.Lock()
        sinks = (*plan.sinks, SqliteSettings(name="page", path=store))
        size = int(plan.outbox_mb * (1 << 20))
        self.hides_plates = plan.blur or plan.blur_vehicles
        """Whether pictures of events may not show plates."""
        self._recorder = Recorder(plan.outbox, sinks, _log.warning, max_bytes=size, pictures=plan.pictures)
        self._watcher = Watcher(reader, plan.cameras, plan.watching(scheme, lists), on_frame=self._keep)
        self._recorder.follow(plan.site(self._watcher.at_work, lists))
        self._events = iter(self._watcher)
        self._ending = threading.Event()
        self._thread = LastingThread("cameras", self._record_next, ending=self._ending)

    def __enter__(self) -> Self:
        self._watcher.start()
        self._thread.start()
        return self

    def close(self) -> None:
        self._ending.set()
        self._watcher.stop()
        self._thread.join()
        self._recorder.close()

    def status(self) -> list[CameraStatus]:
        return self._watcher.status()

    def read(self, camera: str, seconds: float) -> Answer:
        return self._watcher.read(camera, seconds)

    def record(self, event: PlateEvent) -> None:
        """Send an event of another camera to the sinks."""
        self._recorder.record(event)

    def facts(self) -> dict[str, Any]:
        """Cameras and sinks for the section Health."""
        return {
            "cameras": [asdict(each) for each in self.status()],
            "sinks": [{"name": each.name, **asdict(each.state())} for each in self._recorder.deliveries],
        }

    def picture(self, camera: str) -> bytes | None:
        """The newest analysed frame of a camera with its cars, as a JPEG; None before the first."""
        analysed = self._newest.get(camera)
        if analysed is None:
            return None
        with self._drawing:
            moment, encoded = self._drawn.get(camera, (float("-inf"), None))
            if time.monotonic() - moment > _DRAWN_EVERY:
                encoded = _encode(self._overlays[camera].draw(analysed))
                self._drawn[camera] = time.monotonic(), encoded
            return encoded

    def _keep(self, analysed: AnalysedFrame) -> None:
        self._overlays[analysed.camera_id].note(analysed)
        self._newest[analysed.camera_id] = analysed

    def _record_next(self) -> bool:
        try:
            event = next(self._events, None)
        except PlateError as error:
            _log.error("cameras: %s", error)
            return False
        except Exception:
            self._events = iter(self._watcher)
            raise
        if event is not None:
            self._recorder.record(event)
        return event is not None


def _encode(drawn: Frame) -> bytes | None:
    """A picture -> a JPEG at most `_WIDTH` pixels wide."""
    h, w = drawn.shape[:2]
    if w > _WIDTH:
        drawn = np.asarray(cv2.resize(drawn, (_WIDTH, h * _WIDTH // w), interpolation=cv2.INTER_AREA), np.uint8)
    done, encoded = cv2.imencode(".jpg", drawn, _JPEG)
    return encoded.tobytes() if done else None
