"""Vehicles of single frames -> tracks: each vehicle's frames, and its type and side.

Boxes are matched by their overlap with the predicted box of each track at constant speed, as the assignment with the
least cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from ulid import ULID

from plate_nets.cameras.tally import Tally
from plate_nets.events.event import Judged
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.types import Box, Side, Vehicle

_BIRTH = 0.4
"""The minimum score of a vehicle that begins a track: a guess, as are the next three."""
_OVERLAP = 0.3
"""The minimum IoU of a track and its vehicle."""
_GONE_AFTER = 1.0
"""Seconds until a track that is not seen ends."""
_REPORTED_FRAMES, _REPORTED_SCORE = 5, 0.5
"""The minimum number of frames and mean score of a vehicle to be reported that never showed a plate."""
_GROWTH = 0.25
"""The minimum `Sights.growth` of a vehicle that approaches or drives away: above the noise of a box, a
tenth of its height."""


@dataclass
class VehicleTrack:
    """One vehicle over several frames. Read only."""

    id: str
    """The ULID of its event."""
    first_seen: float
    last_seen: float
    vehicle: Vehicle
    """As last seen."""
    best: Vehicle
    """Its best sight: large, and with a high score."""
    best_time: float
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    """px/s."""
    frames: int = 0
    seen: bool = True
    """Whether it was seen in the last frame."""
    reported: bool = False
    """Whether an event reported it."""
    plates: set[int] = field(default_factory=set)
    """The numbers of the plates' tracks that were seen in it."""
    sights: "Sights" = field(default_factory=lambda: Sights())


class Sights:
    """The type and the growth of a vehicle from all its sights."""

    def __init__(self) -> None:
        self._types = Tally()
        self._times = np.zeros(3)
        """Sums over the frames of 1, t and t², where t is the time."""
        self._sizes = np.zeros((2, 2))
        """Sums over the frames of s and t s, where s are the logarithms of width and height."""
        self._start: float | None = None
        self._last = 0.0

    def add(self, vehicle: Vehicle, time: float) -> None:
        self._types.add(vehicle.type, vehicle.score)
        self._start = time if self._start is None else self._start
        self._last = time - self._start
        size = np.log(np.maximum((vehicle.box.width, vehicle.box.height), 1.0))
        self._times += (1, self._last, self._last**2)
        self._sizes += (size, self._last * size)

    def join(self, earlier: "Sights") -> None:
        """Add earlier sights of the same vehicle, without their movement."""
        self._types.join(earlier._types)

    @property
    def judged(self) -> Judged:
        """The type that most sights say, with its mean score."""
        verdict = self._types.verdict
        assert verdict is not None, "it was seen"
        return verdict

    @property
    def growth(self) -> float:
        """Change of the logarithms of width and height over all frames, by linear regression: the smaller of both, and
        0 if one grows while the other shrinks, as where the edge of the picture cuts a vehicle that enters.
        """
        (n, t, tt), (size, t_size) = self._times, self._sizes
        spread = n * tt - t * t
        if spread <= 1e-9:
            return 0.0
        wider, taller = ((n * t_size - t * size) / spread * self._last).tolist()
        return min(wider, taller, key=abs) if wider * taller > 0 else 0.0


def side_of(growth: float) -> Side | None:
    """The side that a vehicle shows to a camera at rest: the front if it grows, the rear if it shrinks, None if
    neither."""
    return None if abs(growth) < _GROWTH else "front" if growth > 0 else "rear"


class VehicleTracker:
    """Tracks the vehicles of one camera. Call `update` in the order of time. Not thread-safe."""

    def __init__(self) -> None:
        self.tracks: list[VehicleTrack] = []
        """Those seen in the last frame, and those missed for less than `_GONE_AFTER`."""

    def update(self, vehicles: Sequence[Vehicle], time: float) -> list[VehicleTrack]:
        """The vehicles of a frame and its time in seconds, not before the last -> the tracks that have ended."""
        expected = stacked(_moved(track, time) for track in self.tracks)
        overlaps = iou(expected, stacked(vehicle.box for vehicle in vehicles))
        for track in self.tracks:
            track.seen = False
        found = set()
        for row, column in zip(*linear_sum_assignment(-overlaps), strict=True):
            if overlaps[row, column] >= _OVERLAP:
                _see(self.tracks[row], vehicles[column], time)
                found.add(column)
        for index, vehicle in enumerate(vehicles):
            if index not in found and vehicle.score >= _BIRTH:
                track = VehicleTrack(str(ULID.from_timestamp(max(time, 0.0))), time, time, vehicle, vehicle, time)
                _see(track, vehicle, time)
                self.tracks.append(track)
        gone = [track for track in self.tracks if time - track.last_seen >= _GONE_AFTER]
        self.tracks = [track for track in self.tracks if track not in gone]
        return gone

    def unchanged(self, time: float) -> None:
        """Nothing moved since the last frame, so its vehicles are still there."""
        for track in self.tracks:
            if track.seen:
                track.last_seen = time

    def track_of(self, vehicle: Vehicle | None) -> VehicleTrack | None:
        return next((track for track in self.tracks if track.seen and track.vehicle == vehicle), None)

    def is_reportable(self, track: VehicleTrack) -> bool:
        return track.frames >= _REPORTED_FRAMES and track.sights.judged.score >= _REPORTED_SCORE


def _see(track: VehicleTrack, vehicle: Vehicle, time: float) -> None:
    if time > track.last_seen:
        step = np.subtract(vehicle.box.centre, track.vehicle.box.centre)
        speed = step / (time - track.last_seen)
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
