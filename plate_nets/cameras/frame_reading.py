"""Reads the frames of one camera with a reader: faults are reported once, and tried again where that helps."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, runtime_checkable

from plate_nets.cameras.capture import Handover
from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.two_looks import TwoLooks
from plate_nets.cameras.two_streams import Pair
from plate_nets.common.errors import InputError, ModelDied, PlateError, ServerError
from plate_nets.recognition.reader import Focus, Reader, SceneReader, VideoReader
from plate_nets.types import Frame, Scene

_PATIENCE = 60.0
"""Seconds for which a frame of a file is retried while the server is away."""
_PAUSE = 1.0
_VERSION_EVERY = 60.0
"""Seconds between two questions for the version of the networks, because those of a server may be swapped."""


@runtime_checkable
class _Versioned(Protocol):
    def model_version(self) -> str: ...


class FrameReading:
    """Reads the frames of one camera, in its thread.

    Args:
        frames: where they come from.
        notice: called with a line about each kind of fault and its end.
        stop: while it is set, nothing is tried again.
    """

    def __init__(
        self,
        camera: CameraSettings,
        settings: WatcherSettings,
        reader: Reader,
        frames: Handover,
        notice: Callable[[str], None],
        stop: threading.Event,
    ) -> None:
        self.failed = 0
        """Frames that the reader refused or failed to read."""
        self.model: str | None = None
        """The version of the networks, if known."""
        self._live = camera.address.live
        self._settings = settings
        self._reader = reader
        self._notice = notice
        self._stop = stop
        self._model_asked = float("-inf")
        self._faults: dict[type[PlateError], str] = {}
        self._two_looks = (
            TwoLooks(frames, self._ask, whole=settings.hides, always=settings.thorough)
            if isinstance(frames, Pair)
            else None
        )

    def read(self, frame: VideoFrame, cars: CarEvents) -> tuple[VideoFrame, Scene | None]:
        """Read a frame -> the same, or that of the large stream; its plates, and its vehicles if needed, in the frame's
        own pixels. None if it cannot be read.

        Each kind of fault is reported once. While the server is away, a frame of a file is retried, because it would be
        lost otherwise.

        Raises:
            PlateError: no later frame can be read either.
        """
        focus = cars.focus(frame.time)
        if self._settings.needs_whole_frames:
            focus = Focus(focus.settled)
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                if self._two_looks and frame.enlarged:
                    frame, scene = self._two_looks.scene(frame, focus, cars.expected(frame.time, frame.stretch.square))
                else:
                    scene = self._ask(frame.stretch.frame(frame.bgr()), focus)
            except (InputError, ServerError) as error:
                self.failed += 1
                self._report(error)
                if isinstance(error, (InputError, ModelDied)):
                    return frame, None
                self._stop.wait(_PAUSE)
                if self._live or self._stop.is_set():
                    return frame, None
                if time.monotonic() > deadline:
                    raise
            else:
                if self._faults.pop(ServerError, None):
                    self._notice("frames are read again")
                self._ask_version()
                return frame, frame.stretch.to_own(scene)

    def _ask(self, frame: Frame, focus: Focus, vehicles: bool = True) -> Scene:
        """A frame with square pixels -> its plates, and its vehicles if they are searched for and not left out."""
        vehicles = vehicles and self._settings.vehicles
        if isinstance(self._reader, VideoReader) and not self._settings.thorough:
            return self._reader.look(frame, focus, vehicles=vehicles)
        if not vehicles:
            return Scene(self._reader.read(frame, evidence=True))
        assert isinstance(self._reader, SceneReader), "`Watcher` checks this"
        return self._reader.scene(frame, evidence=True)

    def _ask_version(self) -> None:
        """Ask the reader, which has just answered, for the version of its networks, if that is due."""
        now = time.monotonic()
        if now < self._model_asked + _VERSION_EVERY:
            return
        self._model_asked = now
        if isinstance(self._reader, _Versioned):
            with suppress(PlateError):  # a proxy may let only pictures through
                self.model = self._reader.model_version()

    def _report(self, error: PlateError) -> None:
        kind = InputError if isinstance(error, InputError) else ServerError
        if kind not in self._faults:
            self._notice(f"frames are skipped: {error}")
        self._faults[kind] = str(error)
