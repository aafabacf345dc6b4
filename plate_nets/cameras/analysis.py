"""The analysis of one camera in its own thread, from frames to events: gate, reader, cars, pictures."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from plate_nets.cameras.alarms import CameraAlarms
from plate_nets.cameras.asked import AskedReading
from plate_nets.cameras.camera_status import CameraStatus
from plate_nets.cameras.capture import Capture, CaptureSettings, Rate
from plate_nets.cameras.cars import Car, CarEvents
from plate_nets.cameras.cuts import Cuts
from plate_nets.cameras.frame_reading import FrameReading
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.gate import MotionGate
from plate_nets.cameras.pictures import EventPictures
from plate_nets.cameras.pixel_shape import in_own_pixels
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.regions import Regions
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.turns import Turns
from plate_nets.cameras.two_streams import TwoStreams
from plate_nets.cameras.view_check import ViewCheck
from plate_nets.common.errors import PlateError, SinkError
from plate_nets.common.threads import LastingThread, cause
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.reader import Reader
from plate_nets.recognition.reasons import with_sights
from plate_nets.recognition.square_pixels import Stretch
from plate_nets.types import Plate, Scene, Vehicle

_TICK = 0.25
"""Maximum wait in seconds for a frame, after which the camera is checked."""
_SIZE_NOTICES = 60.0
"""Minimum seconds between two notices about the pictures' size."""
_STRETCHES = 16
"""Shapes of pixels that are remembered, for cars whose best frame had an earlier one."""
_MICROSECOND = 1e-6
"""To which events round their times."""


@dataclass(frozen=True)
class AnalysedFrame:
    """The result of one frame, for drawing or measuring."""

    camera_id: str
    frame: VideoFrame
    plates: Sequence[Plate] | None
    """All plates; None if the frame was not read, because nothing moved or it would tell nothing new."""
    cars: tuple[Car, ...]
    events: Sequence[PlateEvent]
    vehicles: Sequence[Vehicle] = ()
    """All vehicles; empty if they are not searched for."""


class Analysis:
    """Analyses a camera, from `start` until its source ends or `stop`.

    Args:
        deliver: called with each event; may block.
        on_frame: called with each analysed frame, in the camera's thread.
        notice: called with a line about each problem and its end.
    """

    def __init__(
        self,
        camera: CameraSettings,
        settings: WatcherSettings,
        reader: Reader,
        turns: Turns,
        deliver: Callable[[PlateEvent], None],
        on_frame: Callable[[AnalysedFrame], None] | None,
        notice: Callable[[str], None],
    ) -> None:
        self.camera = camera
        self.asked = AskedReading()
        self.error: Exception | None = None
        """The error that ended it before its source did; None without one."""
        self._settings = settings
        self._turns = turns
        self._deliver = deliver
        self._on_frame = on_frame
        self._notice = notice
        self._regions = Regions(camera.included, camera.masks, camera.least_height)
        self._gate = MotionGate(self._regions) if camera.gated else None
        self._cuts = Cuts()
        self._view = ViewCheck()
        self._pictures = EventPictures(settings.pictures) if settings.pictures else None
        self._cars: CarEvents | None = None
        self._size: tuple[int, int] | None = None
        """Height and width of the last frame, with square pixels; cars are followed in these."""
        self._stretches: deque[tuple[float, Stretch]] = deque(maxlen=_STRETCHES)
        """Since when frames are stretched how, Unix seconds; the newest first."""
        self._size_noticed = float("-inf")
        self._analysed = Rate()
        self._left_out = self._events = 0
        self._newest: float | None = None
        self._sink_fault: str | None = None
        self._stop = threading.Event()
        self._capture = _capture_of(camera, notice)
        self._reading = FrameReading(camera, settings, reader, self._capture.handover, notice, self._stop)
        self._alarms = (
            CameraAlarms(camera.id, camera.onvif, self.asked.ask, notice, self._stop) if camera.onvif else None
        )
        self._thread = LastingThread(
            f"camera {camera.id}",
            self._take_one,
            ending=self._stop,
            failed=lambda error: notice(f"{cause(error)}; the cars in view are tracked as new ones"),
            ended=self._end,
        )

    def start(self) -> None:
        self._capture.start()
        self._thread.start()
        if self._alarms:
            self._alarms.start()

    def stop(self) -> None:
        """Request the end; the final events of the cars in view still come."""
        self._stop.set()
        self._capture.stop()

    def join(self, seconds: float) -> bool:
        """Wait for the end after `stop` -> whether all threads have ended."""
        deadline = time.monotonic() + seconds
        self._thread.join(seconds)
        return self._capture.join(max(0.0, deadline - time.monotonic())) and not self._thread.is_alive()

    @property
    def finished(self) -> bool:
        """Whether its last event was delivered."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def status(self) -> CameraStatus:
        capture = self._capture
        return CameraStatus(
            self.camera.id,
            str(self.camera.address),
            "failed" if self.error else capture.state,
            str(self.error) if self.error else capture.problem,
            capture.rate.per_second,
            self._analysed.per_second,
            capture.rate.count,
            self._analysed.count,
            self._left_out,
            capture.handover.dropped,
            self._reading.failed,
            self._events,
            capture.reconnections,
            None if self._newest is None else time.monotonic() - self._newest,
            capture.position,
            capture.length,
            self._view.view(),
        )

    def _take_one(self) -> bool:
        """Analyse the next frame, if one comes soon -> whether more may come."""
        handover = self._capture.handover
        try:
            if handover.finished:
                return False
            self._capture.watch()
            frame = handover.take(_TICK)
            if frame is not None:
                self._analyse(frame)
            elif self._capture.state == "offline":
                self._finish()
        except Exception as error:
            if self.camera.address.live and not isinstance(error, PlateError):
                cars, self._cars = self._cars, None
                if cars is not None:
                    self._emit(cars.finish())
                raise
            self.error = error  # raised by the watcher's iterator
            self._capture.stop()
            return False
        return True

    def _end(self) -> None:
        try:
            self._finish()
        except Exception as error:
            self.error = self.error or error

    def _analyse(self, frame: VideoFrame) -> None:
        scene: Scene | None = None
        events: list[PlateEvent] = []
        cars = self._follow(frame)
        if not self._is_due(frame):
            events = cars.unchanged(frame.time)
        elif self._can_wait(frame, cars):
            cars.wait(frame.time)
        else:
            with self._turns.turn():
                frame = self._capture.handover.newer(frame)
                events = cars.cut() if self._cuts.at(frame.luma()) else []
                frame, scene = self._reading.read(frame, cars)
            if scene is None:
                self._emit(events)
                return
            selected = self._regions.select(scene.plates, frame.size)
            own = frame.enlarged is None  # an enlarged picture would say that plates are blurred
            plates = with_sights(frame.bgr, selected, read=own and bool(selected) and self._view.is_due(frame.time))
            vehicles = self._regions.select_vehicles(scene.vehicles, plates, frame.size)
            squared = frame.stretch.to_square(Scene(plates, tuple(vehicles)))
            events += cars.update(squared.plates, frame.time, squared.vehicles)
            self._view.note(cars.seen_plates)
            if self._pictures:
                self._pictures.note(frame, scene, (*cars.cars, *cars.plateless), {event.id for event in events})
        self._newest = frame.arrived
        self._analysed.add()
        self._left_out += scene is None
        events = self._emit(events)
        if scene and self.asked.is_wanted and self.asked.is_over(frame.time, cars.cars):
            if self.camera.read == "on_trigger":
                events += self._emit(cars.cut())
            self.asked.answer()
        self.asked.forget(cars.cars)
        if self._on_frame:
            found, seen = (scene.plates, scene.vehicles) if scene else (None, ())
            in_view = tuple(replace(car, box=frame.stretch.box_to_own(car.box)) for car in cars.cars)
            self._on_frame(AnalysedFrame(self.camera.id, frame, found, in_view, events, seen))

    def _is_due(self, frame: VideoFrame) -> bool:
        moves = self._gate is None or self._gate.passes(frame)
        return self.asked.is_wanted or (moves and self.camera.read == "always")

    def _can_wait(self, frame: VideoFrame, cars: CarEvents) -> bool:
        return not (self.asked.is_wanted or self._settings.needs_every_frame) and cars.can_wait(frame.time)

    def _follow(self, frame: VideoFrame) -> CarEvents:
        """The cars in frames like this one, in square pixels.

        Another size of the whole picture starts over, because boxes cannot be compared.
        """
        size = h, w = frame.stretch.square
        if self._cars is None or size != self._size:
            if self._cars is not None:
                if (now := time.monotonic()) - self._size_noticed > _SIZE_NOTICES:
                    self._size_noticed = now
                    self._notice(f"its pictures are now {w}x{h} (width x height)")
                self._finish()
            camera = Camera(
                self.camera.id,
                str(self.camera.address),
                "given" if self.camera.start else "arrival",
                ZoneInfo(self.camera.zone),
            )
            settings = replace(
                self._settings.cars,
                lines=tuple(line.scaled(w, h) for line in self.camera.lines),
                zones=tuple(zone.scaled(w, h) for zone in self.camera.zones),
            )
            self._cars = CarEvents(camera, settings, self._settings.scheme, self._settings.watch_lists)
            self._size = size
        if not self._stretches or frame.stretch != self._stretches[0][1]:
            self._stretches.appendleft((frame.time, frame.stretch))
        return self._cars

    def _in_own_pixels(self, event: PlateEvent) -> PlateEvent:
        best = event.timestamp.timestamp() + _MICROSECOND
        stretch = next((each for since, each in self._stretches if since <= best), self._stretches[-1][1])
        return in_own_pixels(event, stretch)

    def _emit(self, events: Sequence[PlateEvent]) -> list[PlateEvent]:
        emitted = []
        for event in events:
            event = replace(self._in_own_pixels(event), model=self._reading.model)
            if self._pictures:
                try:
                    event = self._pictures.keep(event)
                    self._sink_fault = None
                except SinkError as error:
                    if self._sink_fault is None:
                        self._notice(str(error))
                    self._sink_fault = str(error)
            self._events += 1
            self.asked.note(event)
            self._deliver(event)
            emitted.append(event)
        return emitted

    def _finish(self) -> None:
        if self._cars is not None:
            self._emit(self._cars.finish())


def _capture_of(camera: CameraSettings, notice: Callable[[str], None]) -> Capture:
    """What reads the pictures of a camera: of its only stream, or of a large and a small one."""
    settings = CaptureSettings(
        silence=camera.silence,
        hardware=camera.hardware,
        deinterlace=camera.deinterlace,
        fields=camera.target_fps is None,
        aspect=camera.shape,
        fps=camera.target_fps,
        start=camera.start.timestamp() if camera.start else None,
    )
    if camera.detect_address:
        return TwoStreams(camera.address, camera.detect_address, settings, notice)
    return Capture(camera.address, settings, notice)
