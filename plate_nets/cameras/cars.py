"""Plates of a camera's frames -> events of one car each: provisional, update, final (docs/reference/events.md)."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from plate_nets.cameras.looks import Expected, can_wait, expect, plan_focus
from plate_nets.cameras.plate_events import Camera, PlateEvents
from plate_nets.cameras.stay import CarSettings, Stay
from plate_nets.cameras.tracking import GONE_AFTER, Tracker
from plate_nets.cameras.vehicles import VehicleTrack, VehicleTracker
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.countries import PlateScheme, default_plates
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.reader import Focus
from plate_nets.types import Box, Plate, Vehicle


@dataclass(frozen=True)
class Car:
    """The state of a car after the last frame."""

    id: str
    box: Box
    """Box of its plate in the last frame, predicted if the plate was missed; of the vehicle if no plate was seen."""
    text: str
    """The text of the last event; empty if none is certain."""
    score: float
    """Probability of ``text``, 0..1."""
    best_time: float
    """Time of the best frame, Unix seconds."""
    seen: bool
    """Whether it was seen in the last frame."""


class CarEvents:
    """Tracks the plates of one camera and emits the events of each car. It has no clock, threads, input or output.

    Plates need their evidence (``read(..., evidence=True)``); without it they are tracked but not read. Times are Unix
    seconds. A small step back in time, shorter than the time a track may be missed, counts as no time. A larger one
    ends all cars and starts over.
    """

    def __init__(
        self,
        camera: Camera,
        settings: CarSettings = CarSettings(),
        scheme: PlateScheme | None = None,
        watch_lists: Sequence[WatchList] = (),
    ) -> None:
        self.camera = camera
        self.settings = settings
        self.scheme = scheme or default_plates()
        self._tracker = self._new_tracker()
        self._vehicles = VehicleTracker()
        self._lost: list[VehicleTrack] = []
        """Vehicles that are gone, but had plates that are still tracked."""
        self._stays: dict[int, Stay] = {}
        """The cars in sight, by the number of their track."""
        self._gone: list[Stay] = []
        """Cars that had an event and are gone, but remembered."""
        self._events = PlateEvents(camera, settings, self.scheme, watch_lists)
        self._time = -math.inf
        self._ahead = 0.0
        """Seconds since the last analysed frame."""
        self._whole = -math.inf
        """When the whole frame was looked at."""

    @property
    def cars(self) -> tuple[Car, ...]:
        """All cars in sight, and those that are remembered."""
        return tuple(
            Car(
                stay.id,
                stay.track.expected(self._ahead),
                self.scheme.text_of(stay.text),
                stay.track.evidence.probability(stay.text) if stay.text else 0.0,
                stay.best_time,
                stay.track.seen,
            )
            for stay in (*self._stays.values(), *self._gone)
        )

    @property
    def seen_plates(self) -> list[tuple[str, Plate, float]]:
        """The cars in the last frame: their ids, their plates, and their speed in plate widths a second."""
        return [(stay.id, stay.track.plate, stay.speed) for stay in self._stays.values() if stay.track.seen]

    @property
    def plateless(self) -> tuple[Car, ...]:
        """All vehicles that no plate's event has reported yet, if vehicles without a plate are reported."""
        if not self.settings.unread:
            return ()
        return tuple(
            Car(track.id, track.vehicle.box, "", 0.0, track.best_time, track.seen)
            for track in (*self._vehicles.tracks, *self._lost)
            if not track.reported
        )

    def can_wait(self, time: float) -> bool:
        """Whether a frame at this time would tell nothing new of plates."""
        return can_wait(self._tracker.tracks, time, self._time, self._whole)

    def wait(self, time: float) -> None:
        """A frame that can wait was not analysed: `cars` are where they are expected in it."""
        self._ahead = time - self._time

    def focus(self, time: float) -> Focus:
        focus = plan_focus(self._tracker.tracks, time, self._time, self._whole)
        if focus.is_whole:
            self._whole = time
        return focus

    def expected(self, time: float, hw: tuple[int, int]) -> list[Expected]:
        seconds = max(0.0, time - self._time)
        return [expect(track, seconds, hw) for track in self._tracker.tracks]

    def update(self, plates: Sequence[Plate], time: float, vehicles: Sequence[Vehicle] = ()) -> list[PlateEvent]:
        """The plates of an analysed frame, and its vehicles if they are searched for -> the events due now."""
        events, time = self._advance(time)
        tracks = self._tracker.update(plates, time)
        self._lost += self._vehicles.update(vehicles, time)
        for track in tracks:
            stay = self._stays.get(track.number)
            if stay is None:
                stay = self._stays[track.number] = Stay(track, self.settings)
            elif track.seen:
                stay.update()
            if track.seen:
                stay.update_vehicle(self._vehicles.track_of(track.plate.vehicle))
            elif (position := stay.position_from_vehicle()) is not None:
                self._tracker.carry(track, *position)
        return events + self._due_events()

    def unchanged(self, time: float) -> list[PlateEvent]:
        """Nothing moved since the last frame, so it was not analysed -> the events due now."""
        events, time = self._advance(time)
        self._tracker.unchanged(time)
        self._vehicles.unchanged(time)
        return events + self._due_events()

    def cut(self) -> list[PlateEvent]:
        """The picture shows another scene from now on -> the final events of the cars in sight; they are remembered."""
        events = self._plate_events()
        for stay in self._gone:
            stay.track.seen = False
        self._lost += self._vehicles.tracks
        self._vehicles = VehicleTracker()
        self._tracker = self._new_tracker()
        return events + self._plateless_events()

    def finish(self) -> list[PlateEvent]:
        """The source ended -> the final events of all cars; later frames show other cars."""
        events = self.cut()
        self._gone = []
        return events

    def _new_tracker(self) -> Tracker:
        return Tracker(self.settings.fusion, self.scheme)

    def _advance(self, time: float) -> tuple[list[PlateEvent], float]:
        events: list[PlateEvent] = []
        if self._time == -math.inf:
            self._events.start = time
        elif time < self._time - GONE_AFTER:
            events = self.finish()
            self._events.start += time - self._time
        else:
            time = max(time, self._time)
        self._time, self._ahead = time, 0.0
        return events, time

    def _due_events(self) -> list[PlateEvent]:
        tracked = {track.number for track in self._tracker.tracks}
        events = self._plate_events(tracked)
        self._gone = [stay for stay in self._gone if self._time - stay.track.last_seen <= self.settings.memory]
        return events + self._plateless_events()

    def _plateless_events(self) -> list[PlateEvent]:
        """The events of vehicles that are gone, and that no plate's event has reported or will report."""
        ended = [track for track in self._lost if not track.plates & self._stays.keys()]
        self._lost = [track for track in self._lost if track not in ended]
        if not self.settings.unread:
            return []
        return [
            self._events.of_vehicle(track)
            for track in ended
            if not track.reported and self._vehicles.is_reportable(track)
        ]

    def _plate_events(self, tracked: Collection[int] = ()) -> list[PlateEvent]:
        """The events of all cars in sight. Cars that are no longer tracked are gone."""
        events = []
        for number, stay in list(self._stays.items()):
            if self._stays.get(number) is stay:  # and was not joined with another car of this frame
                events += self._car_events(number, stay, gone=number not in tracked)
        return events

    def _car_events(self, number: int, stay: Stay, gone: bool) -> list[PlateEvent]:
        text = stay.sure_text(gone)
        superseded = None
        if text and text != stay.text and (same := self._same(stay, text)):
            if same.track.seen:  # the same car twice: a reflection, or a second box around its plate
                text = "" if gone else stay.text
            else:
                superseded = stay.id if stay.revision else None
                self._join(number, stay, same)
                stay = same
                text = stay.sure_text(gone)
        changed, stay.text = text != stay.text, text
        if gone:
            del self._stays[number]
            if text:
                self._gone.append(stay)
            reported = text or stay.revision or (self.settings.unread and stay.is_likely)
            return [self._events.of_car(stay, "final", superseded)] if reported else []
        if changed or superseded or (stay.revision and stay.status != stay.reported_status):
            return [self._events.of_car(stay, "update" if stay.revision else "provisional", superseded)]
        return []

    def _same(self, stay: Stay, text: str) -> Stay | None:
        others = (other for other in (*self._stays.values(), *self._gone) if other is not stay and other.text == text)
        return next(others, None)

    def _join(self, number: int, stay: Stay, earlier: Stay) -> None:
        """Continue an earlier car with the track of a new one."""
        self._stays = {key: other for key, other in self._stays.items() if other is not earlier}
        self._gone = [other for other in self._gone if other is not earlier]
        if earlier.track in self._tracker.tracks:
            self._tracker.drop(earlier.track)
        earlier.continue_with(stay)
        self._stays[number] = earlier
