"""Vehicles of single frames -> tracks: which vehicle of this frame is which of the frames before, and what it shows.

Boxes are matched by their overlap with where each track is by now, at steady speed, by the assignment of least cost.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from ulid import ULID

from plate_nets.recognition.overlap import iou, stacked
from plate_nets.types import Box, Side, Vehicle


@dataclass(frozen=True)
class VehicleSettings:
    """How vehicles become tracks, and when one is told of that never showed a plate.

    ``birth``: least score of a vehicle that begins a track. ``overlap``: least IoU of a track and its vehicle.
    ``gone_after``: seconds until a track that is not seen is given up.
    ``frames``, ``score``: in how many frames at least, and with which mean score, a vehicle without a plate is seen to
    be told of. ``growth``: of the height's logarithm, from which on a vehicle comes nearer or goes away.

    ``growth`` is above what a box strays by, which is a tenth of its height; the others are guesses.
    """

    birth: float = 0.4
    overlap: float = 0.3
    gone_after: float = 1.0
    frames: int = 5
    score: float = 0.5
    growth: float = 0.25


@dataclass
class VehicleTrack:
    """One vehicle over the frames. For reading only."""

    id: str
    """Of its event, a ULID."""
    first_seen: float
    last_seen: float
    vehicle: Vehicle
    """As it was seen last."""
    best: Vehicle
    """Where it was seen best: large, and surely a vehicle."""
    best_time: float
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    """px/s."""
    frames: int = 0
    seen: bool = True
    """In the last frame."""
    told: bool = False
    """An event was told of it."""
    plates: set[int] = field(default_factory=set)
    """The numbers of plates' tracks that were seen in it."""
    sights: "Sights" = field(default_factory=lambda: Sights())


class Sights:
    """What all sights of a vehicle say together."""

    def __init__(self) -> None:
        self._scores: dict[str, float] = {}
        self._count = 0
        self._sums = np.zeros(5)
        """Of the frames: 1, t, h, t², t h, where t is the time and h the logarithm of the height."""
        self._start: float | None = None
        self._last = 0.0

    def add(self, vehicle: Vehicle, time: float) -> None:
        """One more."""
        self._add(vehicle.type, vehicle.score)
        self._count += 1
        self._start = time if self._start is None else self._start
        self._last = time - self._start
        height = math.log(max(vehicle.box.height, 1.0))
        self._sums += (1, self._last, height, self._last**2, self._last * height)

    def join(self, earlier: "Sights") -> None:
        """Those of the same vehicle before; how it moved then does not count."""
        for kind, score in earlier._scores.items():
            self._add(kind, score)
        self._count += earlier._count

    def _add(self, kind: str, score: float) -> None:
        self._scores[kind] = self._scores.get(kind, 0.0) + score

    @property
    def type(self) -> str:
        """The type that the scores of all frames speak for."""
        return max(self._scores, key=self._scores.__getitem__)

    @property
    def score(self) -> float:
        """Of this type, the mean over all frames."""
        return self._scores[self.type] / self._count

    @property
    def growth(self) -> float:
        """Of the height's logarithm over all frames, by the line that fits them best."""
        n, t, h, tt, th = self._sums
        spread = n * tt - t * t
        return float((n * th - t * h) / spread * self._last) if spread > 1e-9 else 0.0


def side_of(growth: float, least: float) -> Side | None:
    """How a vehicle grows before a camera that stands still -> which end it shows; None where it hardly does."""
    return None if abs(growth) < least else "front" if growth > 0 else "rear"


class VehicleTracker:
    """Follows the vehicles of one camera. `update` in the order of time; not for several threads at once."""

    def __init__(self, settings: VehicleSettings = VehicleSettings()) -> None:
        self.settings = settings
        self.tracks: list[VehicleTrack] = []
        """Those seen in the last frame, and those missed for less than ``gone_after`` before it."""

    def update(self, vehicles: Sequence[Vehicle], time: float) -> list[VehicleTrack]:
        """The vehicles of a frame and its time in seconds, not before the last -> the tracks that are gone now."""
        expected = stacked(_moved(track, time) for track in self.tracks)
        overlaps = iou(expected, stacked(each.box for each in vehicles))
        for track in self.tracks:
            track.seen = False
        found = set()
        for row, column in zip(*linear_sum_assignment(-overlaps), strict=True):
            if overlaps[row, column] >= self.settings.overlap:
                _see(self.tracks[row], vehicles[column], time)
                found.add(column)
        for index, vehicle in enumerate(vehicles):
            if index not in found and vehicle.score >= self.settings.birth:
                track = VehicleTrack(str(ULID.from_timestamp(max(time, 0.0))), time, time, vehicle, vehicle, time)
                _see(track, vehicle, time)
                self.tracks.append(track)
        gone = [track for track in self.tracks if time - track.last_seen >= self.settings.gone_after]
        self.tracks = [track for track in self.tracks if track not in gone]
        return gone

    def unchanged(self, time: float) -> None:
        """Nothing moved since the last frame: what was seen in it is still there."""
        for track in self.tracks:
            if track.seen:
                track.last_seen = time

    def track_of(self, vehicle: Vehicle | None) -> VehicleTrack | None:
        """A vehicle of the last frame -> its track; None where it has none."""
        return next((track for track in self.tracks if track.seen and track.vehicle == vehicle), None)

    def is_worth_telling(self, track: VehicleTrack) -> bool:
        """Whether a vehicle without a plate was there surely and long enough."""
        return track.frames >= self.settings.frames and track.sights.score >= self.settings.score

    def summary(self, sights: Sights, box: Box, side: Side | None) -> Vehicle:
        """All sights of a vehicle, its box in the frame that is shown, and its side if it is known otherwise -> it."""
        return Vehicle(box, sights.type, sights.score, side or side_of(sights.growth, self.settings.growth))


def _see(track: VehicleTrack, vehicle: Vehicle, time: float) -> None:
    if time > track.last_seen:
        way = _centre(vehicle.box) - _centre(track.vehicle.box)
        speed = way / (time - track.last_seen)
        track.velocity = speed if track.frames == 1 else (track.velocity + speed) / 2
    track.vehicle, track.last_seen, track.seen = vehicle, time, True
    track.frames += 1
    track.sights.add(vehicle, time)
    if _quality(vehicle) > _quality(track.best):
        track.best, track.best_time = vehicle, time


def _quality(vehicle: Vehicle) -> float:
    return vehicle.score * vehicle.box.width * vehicle.box.height


def _moved(track: VehicleTrack, time: float) -> Box:
    x, y = track.velocity * (time - track.last_seen)
    box = track.vehicle.box
    return replace(box, xmin=box.xmin + x, ymin=box.ymin + y, xmax=box.xmax + x, ymax=box.ymax + y)


def _centre(box: Box) -> NDArray[np.float64]:
    return np.array([(box.xmin + box.xmax) / 2, (box.ymin + box.ymax) / 2])
