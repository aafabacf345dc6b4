"""Plates of a camera's frames -> events of one car each: provisional, update, final (docs/reference/events.md)."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

import numpy as np
from numpy.typing import NDArray
from ulid import ULID

from plate_nets.events import (
    Candidate,
    Character,
    Clock,
    Crossed,
    Crossing,
    Frames,
    Heading,
    PlateEvent,
    Region,
    Stage,
)
from plate_nets.plates import PlateScheme, default_scheme
from plate_nets.recognition.decoding import shares
from plate_nets.recognition.quads import lines_of_plate
from plate_nets.types import Box, Plate, Side, Vehicle
from plate_nets.video.fusion import FusionSettings
from plate_nets.video.tally import Tally
from plate_nets.video.tracking import Track, Tracker, TrackerSettings
from plate_nets.video.vehicles import Sights, VehicleSettings, VehicleTrack, VehicleTracker
from plate_nets.video.watch_lists import WatchList, WatchSettings, matches

Point = tuple[float, float]
"""x, y in pixels of the frame as sent."""

_CANDIDATES = 5
"""Maximum number of candidate texts in an event."""
_STEP = 0.5
"""Plate widths that a centre must move to count as movement: more than the noise of a box."""
_STEP_IN_SIZE = 0.15
"""The same for the logarithm of the height, for a car that comes straight on."""


_SIDES: dict[Heading | None, Side] = {"towards": "front", "away": "rear"}
"""The visible end of a car, for a camera that does not move."""


@dataclass(frozen=True)
class Camera:
    """The properties of a camera that its events contain."""

    id: str
    source_url: str | None = None
    """Without credentials."""
    clock: Clock = "arrival"
    zone: tzinfo = UTC


@dataclass(frozen=True)
class Line:
    """A line across the picture. Events list the lines that the plate's centre crossed."""

    name: str
    start: Point
    end: Point


@dataclass(frozen=True)
class CarSettings:
    """When to emit events.

    ``memory``: seconds for which a car that is gone keeps its id.
    ``parked_after``: seconds at one place after which a car is parked.
    ``hold``: a car in sight gets its first event once its text has had at most half the doubt that ``fusion.sure``
    allows for this many seconds.
    ``unread``: also emit a final event for a car without a certain text, if it is more probable that one of its
    candidates is right than that none is. If vehicles are searched for, also emit one for each vehicle that never
    showed a plate.
    """

    memory: float = 60.0
    parked_after: float = 10.0
    hold: float = 0.3
    unread: bool = False
    lines: tuple[Line, ...] = ()
    tracker: TrackerSettings = field(default_factory=TrackerSettings)
    fusion: FusionSettings = field(default_factory=FusionSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    vehicles: VehicleSettings = field(default_factory=VehicleSettings)


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
        self.scheme = scheme or default_scheme()
        self.watch_lists = tuple(watch_lists)
        self._tracker = self._new_tracker()
        self._vehicles = VehicleTracker(settings.vehicles)
        self._lost: list[VehicleTrack] = []
        """Vehicles that are gone, but had plates that are still tracked."""
        self._stays: dict[int, _Stay] = {}
        """The cars in sight, by the number of their track."""
        self._gone: list[_Stay] = []
        """Cars that had an event and are gone, but remembered."""
        self._start: float | None = None
        self._time = -math.inf

    @property
    def cars(self) -> tuple[Car, ...]:
        """All cars in sight, and those that are remembered."""
        return tuple(
            Car(
                stay.id,
                stay.track.box,
                stay.text,
                stay.track.evidence.probability(stay.text) if stay.text else 0.0,
                stay.best_time,
                stay.track.seen,
            )
            for stay in (*self._stays.values(), *self._gone)
        )

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

    def update(self, plates: Sequence[Plate], time: float, vehicles: Sequence[Vehicle] = ()) -> list[PlateEvent]:
        """The plates of an analysed frame, and its vehicles if they are searched for -> the events due now."""
        events, time = self._advance(time)
        tracks = self._tracker.update(plates, time)
        self._lost += self._vehicles.update(vehicles, time)
        for track in tracks:
            stay = self._stays.get(track.number)
            if stay is None:
                stay = self._stays[track.number] = _Stay(track, self.settings)
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
        self._vehicles = VehicleTracker(self.settings.vehicles)
        self._tracker = self._new_tracker()
        return events + self._plateless_events()

    def finish(self) -> list[PlateEvent]:
        """The source ended -> the final events of all cars; later frames show other cars."""
        events = self.cut()
        self._gone = []
        return events

    def _new_tracker(self) -> Tracker:
        return Tracker(self.settings.tracker, self.settings.fusion, self.scheme)

    def _advance(self, time: float) -> tuple[list[PlateEvent], float]:
        events: list[PlateEvent] = []
        if self._start is None:
            self._start = time
        elif time < self._time - self.settings.tracker.gone_after:
            events = self.finish()
            self._start += time - self._time
        else:
            time = max(time, self._time)
        self._time = time
        return events, time

    def _due_events(self) -> list[PlateEvent]:
        """The events of all cars, after their tracks were updated."""
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
            self._plateless_event(track)
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

    def _car_events(self, number: int, stay: "_Stay", gone: bool) -> list[PlateEvent]:
        """The events of a car, which may be gone."""
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
            return [self._event(stay, "final", superseded)] if reported else []
        if changed or superseded or (stay.revision and stay.is_parked != stay.reported_parked):
            return [self._event(stay, "update" if stay.revision else "provisional", superseded)]
        return []

    def _same(self, stay: "_Stay", text: str) -> "_Stay | None":
        """Another car, in sight or remembered, that was reported with this text."""
        others = (other for other in (*self._stays.values(), *self._gone) if other is not stay and other.text == text)
        return next(others, None)

    def _join(self, number: int, stay: "_Stay", earlier: "_Stay") -> None:
        """Continue an earlier car with the track of a new one."""
        self._stays = {key: other for key, other in self._stays.items() if other is not earlier}
        self._gone = [other for other in self._gone if other is not earlier]
        if earlier.track in self._tracker.tracks:
            self._tracker.drop(earlier.track)
        earlier.continue_with(stay)
        self._stays[number] = earlier

    def _event(self, stay: "_Stay", stage: Stage, supersedes: str | None = None) -> PlateEvent:
        track, plate = stay.track, stay.best
        evidence, text = track.evidence, stay.text
        scheme = self.scheme.by_shape[lines_of_plate(plate.corners)]
        country, texts = stay.countries.verdict, dict(evidence.verdict.texts)
        owner = scheme.owner(text, plate.reading.scheme)
        if country and scheme.members:
            owner = next((member for member in scheme.owners(text) if member.country == country.name), owner)
        stay.revision += 1
        if stay.vehicle_track:
            stay.vehicle_track.reported = True
        stay.reported_parked = stay.is_parked
        frames = Frames(stay.frames_seen, len(evidence), evidence.readings[evidence.verdict.text])
        return replace(
            self._unread_event(stay.id, plate.box, stay.best_time, stay.first_seen, track.last_seen, frames),
            stage=stage,
            revision=stay.revision,
            supersedes=supersedes,
            plate=text,
            reading=plate.reading.best,
            score=texts[text] if text else 0.0,
            dscore=plate.score,
            characters=tuple(map(Character, text, shares(text, texts))),
            candidates=tuple(
                Candidate(other, probability, scheme.is_plate(other))
                for other, probability in evidence.verdict.texts[:_CANDIDATES]
            ),
            region=Region(owner.country, owner.region_of(text)),
            plate_type=owner.format_names(text),
            corners=tuple(zip(plate.corners[::2], plate.corners[1::2], strict=True)) or None,
            direction=stay.direction,
            heading=stay.heading,
            speed=stay.speed,
            crossings=tuple(stay.crossings),
            is_parked=stay.is_parked,
            watch=matches(self.watch_lists, text, evidence, self.settings.watch) if text else (),
            vehicle=self._vehicle(stay),
            country=country,
            ground=stay.grounds.verdict,
        )

    def _vehicle(self, stay: "_Stay") -> Vehicle | None:
        """The vehicle of a car, judged from all frames."""
        box = stay.vehicle_box
        if box is None:
            return None
        return self._vehicles.summary(stay.sights, box, _SIDES.get(stay.heading))

    def _plateless_event(self, track: VehicleTrack) -> PlateEvent:
        """The event of a vehicle that is gone and never showed a plate with a certain text."""
        frames, box = Frames(track.frames, 0, 0), track.best.box
        event = self._unread_event(track.id, box, track.best_time, track.first_seen, track.last_seen, frames)
        return replace(event, vehicle=self._vehicles.summary(track.sights, box, None))

    def _unread_event(
        self, id: str, box: Box, best_time: float, first_seen: float, last_seen: float, frames: Frames
    ) -> PlateEvent:
        """A final event without a reading; it has only the parts that all events have. Times are Unix seconds."""
        camera = self.camera
        assert self._start is not None, "an event comes after a frame"
        return PlateEvent(
            stage="final",
            id=id,
            revision=1,
            camera_id=camera.id,
            source_url=camera.source_url,
            clock=camera.clock,
            timestamp=datetime.fromtimestamp(best_time, camera.zone),
            first_seen=datetime.fromtimestamp(first_seen, UTC),
            last_seen=datetime.fromtimestamp(last_seen, UTC),
            position_sec=best_time - self._start,
            plate="",
            reading="",
            score=0.0,
            dscore=0.0,
            characters=(),
            candidates=(),
            region=Region(self.scheme.country, None),
            plate_type="",
            box=box,
            frames=frames,
            speed=0.0,
            dwell_sec=last_seen - first_seen,
        )


class _Stay:
    """One car in front of the camera: what was reported about it, and what its track does not store."""

    def __init__(self, track: Track, settings: CarSettings) -> None:
        self.id = str(ULID.from_timestamp(max(track.first_seen, 0.0)))
        self.track = track
        self.text = ""
        """The text of the last event; empty if none is certain."""
        self.reported_parked = False
        self.revision = 0
        self.first_seen = track.first_seen
        self.frames_seen = 1
        self.best, self.best_time = track.plate, track.last_seen
        self.crossings: list[Crossing] = []
        self.sights = Sights()
        """Sights of its vehicle, in frames in which the plate clearly belonged to one."""
        self.vehicle_track: VehicleTrack | None = None
        """The last vehicle in which the plate was seen."""
        self._within: NDArray[np.float64] | None = None
        """The plate's centre in that vehicle's box, as shares of its width and height, and the plate's height as a
        share of its height."""
        self._settings = settings
        self._first = self._last = self._anchor = _Place.of(track)
        self._path = 0.0
        self._early: tuple[str, float] = ("", track.first_seen)
        """The text that may be reported early, and since when."""
        self.countries, self.grounds = Tally(), Tally()
        self._note_early()
        self._note_look()

    def update(self) -> None:
        """The track was seen in this frame."""
        track, here = self.track, _Place.of(self.track)
        self.frames_seen += 1
        self._note_early()
        self._note_look()
        self._prefer(track.plate, track.last_seen)
        for line in self._settings.lines:
            if direction := _crossed(line, self._last.centre, here.centre):
                self.crossings.append(Crossing(line.name, direction, datetime.fromtimestamp(here.time, UTC)))
        self._last = here
        steps = here.steps_from(self._anchor)
        if steps >= _STEP or abs(here.log_height - self._anchor.log_height) >= _STEP_IN_SIZE:
            self._path += steps
            self._anchor = here

    def update_vehicle(self, vehicle: VehicleTrack | None) -> None:
        """The plate was seen in this frame in a vehicle, or clearly in none."""
        if vehicle is None:
            return
        vehicle.plates.add(self.track.number)
        vehicle.reported = vehicle.reported or bool(self.revision)
        self.vehicle_track = vehicle
        self.sights.add(vehicle.vehicle, self.track.last_seen)
        plate, box = self.track.plate.box, vehicle.vehicle.box
        centre = ((plate.xmin + plate.xmax) / 2 - box.xmin, (plate.ymin + plate.ymax) / 2 - box.ymin, plate.height)
        self._within = np.array(centre) / (max(box.width, 1.0), max(box.height, 1.0), max(box.height, 1.0))

    def position_from_vehicle(self) -> tuple[NDArray[np.float64], float] | None:
        """The plate's centre and height in pixels, from its vehicle in the last frame; None if unknown."""
        if self.vehicle_track is None or not self.vehicle_track.seen or self._within is None:
            return None
        box = self.vehicle_track.vehicle.box
        x, y, height = self._within * (box.width, box.height, box.height)
        return np.array((box.xmin + x, box.ymin + y)), float(height)

    @property
    def vehicle_box(self) -> Box | None:
        """The vehicle's box in the best frame: as detected, or computed from the plate's later place in the vehicle."""
        if self.best.vehicle:
            return self.best.vehicle.box
        if self._within is None or self.vehicle_track is None:
            return None
        x, y, high = self._within
        plate, last = self.best.box, self.vehicle_track.vehicle.box
        height = plate.height / high
        width = height * last.width / max(last.height, 1.0)
        left, top = (plate.xmin + plate.xmax) / 2 - x * width, (plate.ymin + plate.ymax) / 2 - y * height
        return Box(float(left), float(top), float(left + width), float(top + height))

    def sure_text(self, gone: bool) -> str:
        """The text that can be reported now, if any.

        The first text of a car in sight must hold for a while. A later text stays as long as it is the most probable
        one.
        """
        verdict = self.track.evidence.verdict
        if gone or not verdict.sure:
            return verdict.text if verdict.sure or (not gone and verdict.text == self.text) else ""
        early, since = self._early
        holds = early == verdict.text and self.track.last_seen - since >= self._settings.hold
        return verdict.text if self.text or holds else ""

    @property
    def is_likely(self) -> bool:
        """Whether one of its candidate texts is more probable than none of them."""
        verdict = self.track.evidence.verdict
        return verdict.probability > verdict.none

    def _note_early(self) -> None:
        verdict = self.track.evidence.verdict
        text = verdict.text if verdict.probability >= self._settings.fusion.early else ""
        if text != self._early[0]:
            self._early = (text, self.track.last_seen)

    def _note_look(self) -> None:
        """Add the frame's country and colour. Without a text, a frame says nothing about the country."""
        plate = self.track.plate
        if plate.country and plate.reading.text:
            self.countries.add(plate.country, plate.country_confidence)
        if plate.ground:
            self.grounds.add(plate.ground, plate.ground_confidence)

    def continue_with(self, later: "_Stay") -> None:
        """The car was found again as ``later``, a new one, which ends."""
        later.track.evidence.join(self.track.evidence)
        self.track = later.track
        self.frames_seen += later.frames_seen
        self.countries.join(later.countries)
        self.grounds.join(later.grounds)
        self._prefer(later.best, later.best_time)
        self.crossings += later.crossings
        later.sights.join(self.sights)
        self.sights = later.sights
        self.vehicle_track = later.vehicle_track or self.vehicle_track
        self._within = later._within if later._within is not None else self._within
        self._path += later._path
        self._last = later._last
        if later._last.steps_from(self._anchor) >= _STEP:
            self._anchor = later._anchor

    def _prefer(self, plate: Plate, time: float) -> None:
        """Make this the best frame if it is better: it reads the text on its own, and is large and certain."""
        text = self.track.evidence.verdict.text

        def quality(plate: Plate) -> tuple[bool, float]:
            return plate.reading.best == text, plate.box.height * plate.reading.confidence

        if quality(plate) > quality(self.best):
            self.best, self.best_time = plate, time

    @property
    def dwell(self) -> float:
        """Seconds from first to last sight."""
        return self.track.last_seen - self.first_seen

    @property
    def is_parked(self) -> bool:
        """Whether it has been at one place for a while."""
        return self.track.last_seen - self._anchor.time >= self._settings.parked_after

    @property
    def direction(self) -> float | None:
        """Direction from first to last sight, degrees counterclockwise from rightwards; None if it did not move."""
        if self._last.steps_from(self._first) < _STEP:
            return None
        right, down = self._last.centre - self._first.centre
        return math.degrees(math.atan2(-down, right)) % 360

    @property
    def heading(self) -> Heading | None:
        """Whether the plate's height grew or shrank from first to last sight.

        None if its width says the opposite: the edge of the picture cuts the height of a plate that enters at the
        bottom.
        """
        taller = self._last.log_height - self._first.log_height
        wider = math.log(self._last.width / self._first.width)
        if abs(taller) < _STEP_IN_SIZE or (abs(wider) >= _STEP_IN_SIZE and (wider > 0) != (taller > 0)):
            return None
        return "towards" if taller > 0 else "away"

    @property
    def speed(self) -> float:
        """Plate widths per second, over the whole dwell."""
        return self._path / self.dwell if self.dwell else 0.0


@dataclass(frozen=True)
class _Place:
    """The place of a plate at a time, in pixels and seconds."""

    centre: NDArray[np.float64]
    log_height: float
    width: float
    time: float

    @staticmethod
    def of(track: Track) -> "_Place":
        return _Place(track.centre, math.log(track.height), track.height * track.aspect, track.last_seen)

    def steps_from(self, other: "_Place") -> float:
        """The distance in plate widths."""
        return float(np.hypot(*(self.centre - other.centre))) / math.sqrt(self.width * other.width)


def _crossed(line: Line, before: NDArray[np.float64], after: NDArray[np.float64]) -> Crossed | None:
    """How a move between two points crosses a line, or None."""
    start, end = np.array(line.start), np.array(line.end)
    was, now = (_side(start, end, point) for point in (before, after))
    if was * now >= 0 or _side(before, after, start) * _side(before, after, end) > 0:
        return None
    return "left to right" if now > 0 else "right to left"


def _side(start: NDArray[np.float64], end: NDArray[np.float64], point: NDArray[np.float64]) -> float:
    """Above 0 if a point is to the right of the way from start to end, as y points down."""
    (x, y), (to_x, to_y) = end - start, point - start
    return float(x * to_y - y * to_x)
