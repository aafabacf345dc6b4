"""One car in front of a camera: what its track does not store, and what was reported about it."""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from ulid import ULID

from plate_nets.cameras.fusion import FusionSettings
from plate_nets.cameras.regions import Point, turn
from plate_nets.cameras.tally import Tally
from plate_nets.cameras.tracking import Track
from plate_nets.cameras.vehicles import Sights, VehicleTrack
from plate_nets.cameras.zones import Zone, ZoneVisits
from plate_nets.events.event import Crossed, Crossing, Heading
from plate_nets.types import Box, Plate

_STEP = 0.5
"""Plate widths that a centre must move to count as movement: more than the noise of a box."""
_STEP_IN_SIZE = 0.15
"""The same for the logarithm of the height, for a car that comes straight on."""
_PARKED_AFTER = 10.0
"""Seconds at one place after which a car is parked."""
_HOLD = 0.3
"""A car in sight gets its first event once its text has had at most half the doubt that ``fusion.sure`` allows for this
many seconds."""


@dataclass(frozen=True)
class Line:
    """A line whose crossings by the plate's centre are recorded; points x, y in shares of the picture's width and
    height, or in pixels."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    start: Point
    end: Point

    def scaled(self, w: int, h: int) -> "Line":
        return Line(self.name, (self.start[0] * w, self.start[1] * h), (self.end[0] * w, self.end[1] * h))


@dataclass(frozen=True)
class CarSettings:
    """When to emit events.

    ``memory``: seconds for which a car that is gone keeps its id.
    ``unread``: also emit a final event for a car without a certain text, if it is more probable that one of its
    candidates is right than that none is. If vehicles are searched for, also emit one for each vehicle that never
    showed a plate.
    """

    memory: float = 60.0
    unread: bool = False
    lines: tuple[Line, ...] = ()
    zones: tuple[Zone, ...] = ()
    fusion: FusionSettings = field(default_factory=FusionSettings)


class Stay:
    def __init__(self, track: Track, settings: CarSettings) -> None:
        self.id = str(ULID.from_timestamp(max(track.first_seen, 0.0)))
        self.track = track
        self.text = ""
        """The text of the last event; empty if none is certain."""
        self.reported_status = (False, 0)
        """What the last event said of `status`."""
        self.revision = 0
        self.first_seen = track.first_seen
        self.frames_seen = 1
        self.best, self.best_time = track.plate, track.last_seen
        self.crossings: list[Crossing] = []
        self.zones = ZoneVisits(settings.zones)
        self.zones.note(track.centre, track.last_seen)
        self.sights = Sights()
        """Sights of its vehicle, in frames in which the plate clearly belonged to one."""
        self.vehicle_track: VehicleTrack | None = None
        """The last vehicle in which the plate was seen."""
        self._within: NDArray[np.float64] | None = None
        """The plate's centre in that vehicle's box, as shares of its width and height, and the plate's height as a
        share of its height."""
        self._settings = settings
        self._first = self._last = self._anchor = Place.of(track)
        self._path = 0.0
        self._early: tuple[str, float] = ("", track.first_seen)
        """The text that may be reported early, and since when."""
        self.countries, self.grounds = Tally(), Tally()
        self._note_early()
        self._note_look()

    def update(self) -> None:
        """The track was seen in this frame."""
        track, here = self.track, Place.of(self.track)
        self.frames_seen += 1
        self._note_early()
        self._note_look()
        self._prefer(track.plate, track.last_seen)
        for line in self._settings.lines:
            if direction := crossed(line, self._last.centre, here.centre):
                self.crossings.append(Crossing(line.name, direction, datetime.fromtimestamp(here.time, UTC)))
        self.zones.note(here.centre, here.time)
        self._last = here
        steps = here.steps_from(self._anchor)
        if steps >= _STEP or abs(here.log_height - self._anchor.log_height) >= _STEP_IN_SIZE:
            self._path += steps
            self._anchor = here

    def update_vehicle(self, vehicle: VehicleTrack | None) -> None:
        """The plate was seen in this frame; ``vehicle``: the track of its vehicle, if it has one that is tracked."""
        if self.track.plate.vehicle:
            self.sights.add(self.track.plate.vehicle, self.track.last_seen)
        if vehicle is None:
            return
        vehicle.plates.add(self.track.number)
        vehicle.reported = vehicle.reported or bool(self.revision)
        self.vehicle_track = vehicle
        plate, box = self.track.plate.box, vehicle.vehicle.box
        x, y = plate.centre
        centre = (x - box.xmin, y - box.ymin, plate.height)
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
        left, top = plate.centre[0] - x * width, plate.centre[1] - y * height
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
        holds = early == verdict.text and self.track.last_seen - since >= _HOLD
        return verdict.text if self.text or holds else ""

    @property
    def is_likely(self) -> bool:
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

    def continue_with(self, later: "Stay") -> None:
        """The car was found again as ``later``, a new one, which ends."""
        later.track.evidence.join(self.track.evidence)
        self.zones.join(later.zones, self.track.last_seen)
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
        evidence = self.track.evidence
        text = evidence.scheme.text_of(evidence.verdict.text)

        def quality(plate: Plate) -> tuple[bool, float]:
            return plate.reading.best == text, plate.box.height * plate.reading.confidence

        if quality(plate) > quality(self.best):
            self.best, self.best_time = plate, time

    @property
    def is_parked(self) -> bool:
        return self.track.last_seen - self._anchor.time >= _PARKED_AFTER

    @property
    def status(self) -> tuple[bool, int]:
        """Whether it is parked, and how many visits of zones it has begun: what an update reports besides the text."""
        return self.is_parked, len(self.zones)

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
        dwell = self.track.last_seen - self.first_seen
        return self._path / dwell if dwell else 0.0


@dataclass(frozen=True)
class Place:
    """The place of a plate at a time, in pixels and seconds."""

    centre: NDArray[np.float64]
    log_height: float
    width: float
    time: float

    @staticmethod
    def of(track: Track) -> "Place":
        return Place(track.centre, math.log(track.height), track.height * track.aspect, track.last_seen)

    def steps_from(self, other: "Place") -> float:
        """The distance in plate widths."""
        return float(np.hypot(*(self.centre - other.centre))) / math.sqrt(self.width * other.width)


def crossed(line: Line, before: NDArray[np.float64], after: NDArray[np.float64]) -> Crossed | None:
    """How a move between two points crosses a line, or None."""
    was, now = (turn(line.start, line.end, point) for point in (before, after))
    if was * now >= 0 or turn(before, after, line.start) * turn(before, after, line.end) > 0:
        return None
    return "left to right" if now > 0 else "right to left"
