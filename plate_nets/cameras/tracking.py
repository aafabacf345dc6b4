"""Plates of single frames -> tracks, each with the frames of one plate.

A plate's centre and height move like those of a car at constant speed in front of a pinhole camera: if the height grows
by a factor, the centre's speed grows by its square. A g-h filter corrects position and speed; its gains fall from those
of a line through few points (Brookner, "Tracking and Kalman Filtering Made Easy", 1998) to fixed ones. Detections with
a high score are matched first, then those with a low score (Zhang et al., "ByteTrack", 2022), both as the assignment
with the least cost (scipy). If a plate moved further than predicted, its text can find the track.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from scipy.optimize import linear_sum_assignment

from plate_nets.cameras.fusion import Fusion, FusionSettings, View, view
from plate_nets.countries import PlateScheme, default_plates
from plate_nets.recognition.ctc import text_log_probabilities
from plate_nets.recognition.quads import lines_of_plate
from plate_nets.types import Box, Plate

_NEVER = 1e6
"""The cost of an impossible pair."""
_LEAST_G, _LEAST_H = 0.85, 0.7
"""The gains of position and speed of a long track. They are high because near cars accelerate quickly in the
picture."""
_HEIGHT_NOISE = 0.1
"""Seconds added to the time between two heights, because boxes are too noisy to measure growth between neighbouring
frames."""
_BETTER = 0.15
"""How much larger the logarithm of a plate's height or width must be for a better view of it."""

# How plates become tracks. Lengths are in plate heights, so that they apply to near and far plates. The lengths and
# gains were chosen on synthetic cars that cannot be read, at 15 to 60 km/h, with box noise of a tenth of the height and
# one of ten detections missing; tests/unit/cameras/test_tracking.py limits how many tracks into which they break. The
# scores and the limits for texts are guesses.
GONE_AFTER = 1.0
"""Seconds until a track that is not seen ends. Until then, its motion can find it."""
_HIGH, _BIRTH = 0.5, 0.3
"""The minimum detector scores of the first stage, and of a plate that begins a track."""
_REACH, _REACH_GROWTH, _REACH_UNKNOWN = 1.5, 20.0, 30.0
"""The maximum distance of a plate from its predicted place; how much further for each second since it was seen; the
same while the track's speed is unknown."""
_SIZE, _SIZE_GROWTH = 0.35, 3.0
"""The maximum difference of the height's logarithm, and how much more for each second."""
_LEAST_AGREEMENT = 0.5
"""The minimum probability of a track's text in a plate's own logits to find the track by its text."""
_OTHER_CAR = 3
"""The minimum edit distance at which two certain texts mean two cars."""


@dataclass
class Readings:
    """How well a plate was seen when it was read, and how often."""

    last: float = -math.inf
    """When it was read."""
    count: int = 0
    """How often since its best view began."""
    height: float = 1e-6
    width: float = 1e-6
    """The largest, pixels."""

    def is_better(self, box: Box) -> bool:
        return math.log(max(box.height / self.height, box.width / self.width)) >= _BETTER

    def add(self, box: Box, time: float) -> None:
        self.count = 1 if self.is_better(box) else self.count + 1
        self.height, self.width = max(self.height, box.height), max(self.width, box.width)
        self.last = time


@dataclass
class Track:
    """One plate over several frames: where it is, how it moves, what it reads. Read only."""

    number: int
    evidence: Fusion
    first_seen: float
    last_seen: float
    plate: Plate
    """As last seen."""
    centre: NDArray[np.float64]
    """x, y in pixels, filtered; predicted if the plate was missed."""
    height: float
    """Pixels, filtered."""
    aspect: float
    """Width over height, filtered."""
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    """Pixels per second."""
    growth: float = 0.0
    """Of the height's logarithm, per second."""
    hits: int = 1
    """Frames in which it was seen."""
    seen: bool = True
    """Whether it was seen in the last frame."""
    carried: float = -math.inf
    """When its place was last known from its vehicle although the plate was not seen."""
    readings: Readings = field(default_factory=Readings)

    @property
    def known(self) -> float:
        """When its place was last known."""
        return max(self.last_seen, self.carried)

    @property
    def box(self) -> Box:
        half = np.array([self.height * self.aspect / 2, self.height / 2])
        (xmin, ymin), (xmax, ymax) = self.centre - half, self.centre + half
        return Box(float(xmin), float(ymin), float(xmax), float(ymax))

    def expected(self, seconds: float) -> Box:
        later = replace(self)
        _predict(later, seconds)
        return later.box


class Tracker:
    """Tracks the plates of one camera. Call `update` in the order of time. Not thread-safe."""

    def __init__(
        self,
        fusion: FusionSettings = FusionSettings(),
        scheme: PlateScheme | None = None,
    ) -> None:
        self.tracks: list[Track] = []
        """Those seen in the last frame, and those missed for less than `GONE_AFTER`."""
        self._fusion = fusion
        self._scheme = scheme or default_plates()
        self._count = 0
        self._time = -math.inf

    def update(self, plates: Sequence[Plate], time: float) -> list[Track]:
        """The plates of a frame, read with evidence, and its time in seconds, not before the last -> the current
        tracks.

        A track ends with the first frame without it that comes `GONE_AFTER` seconds after it was seen. A track that
        no frame has missed never ends.
        """
        elapsed, self._time = time - self._time, time
        tracks = [track for track in self.tracks if track.seen or not self._is_gone(track)]
        for track in tracks:
            if elapsed < GONE_AFTER:
                _predict(track, elapsed)
            track.seen = False
        views = [self._view(plate) for plate in plates]
        costs = self._costs(tracks, plates, views)
        found: set[int] = set()
        high = [index for index, plate in enumerate(plates) if plate.score >= _HIGH]
        for stage in (high, range(len(plates))):
            rows, columns = linear_sum_assignment(costs[:, stage])
            for row, column in zip(rows, columns, strict=True):
                index = stage[column]
                if costs[row, index] < _NEVER:
                    self._see(tracks[row], plates[index], views[index])
                    costs[row], costs[:, index] = _NEVER, _NEVER
                    found.add(index)
        self.tracks = [track for track in tracks if not self._is_gone(track)]
        for index, plate in enumerate(plates):
            if index not in found and plate.score >= _BIRTH:
                self._begin(plate, views[index])
        return self.tracks

    def unchanged(self, time: float) -> None:
        """Nothing moved since the last frame, so its plates are still there."""
        for track in self.tracks:
            if track.seen:
                track.last_seen = time
        self._time = time
        self.tracks = [track for track in self.tracks if not self._is_gone(track)]

    def carry(self, track: Track, centre: NDArray[np.float64], height: float) -> None:
        """Set the place of a track that was not seen in the last frame, known from its vehicle; so it does not end."""
        track.centre, track.height, track.carried = centre, height, self._time

    def drop(self, track: Track) -> None:
        self.tracks = [other for other in self.tracks if other is not track]

    def _view(self, plate: Plate) -> View | None:
        if plate.logits is None:
            return None
        scheme = self._scheme.by_shape[lines_of_plate(plate.corners)]
        return view(plate.logits, scheme, self._fusion.beam_width, plate.box, plate.reading.scheme)

    def _is_gone(self, track: Track) -> bool:
        return not track.seen and self._time - track.known >= GONE_AFTER

    def _costs(
        self, tracks: Sequence[Track], plates: Sequence[Plate], views: Sequence[View | None]
    ) -> NDArray[np.float64]:
        """The cost of each track and plate (T, P).

        It is 0 if all fits, 1 if a plate is as far off as allowed, up to 2 if only its text is the track's, and
        `_NEVER` if it belongs to another track.
        """
        if not tracks or not plates:
            return np.empty((len(tracks), len(plates)))
        unseen = np.minimum([self._time - track.known for track in tracks], GONE_AFTER)[:, None]
        speeds = np.array([_REACH_UNKNOWN if track.hits == 1 else _REACH_GROWTH for track in tracks])
        centres, heights, _ = zip(*map(_measures, plates), strict=True)
        heights_before = np.array([track.height for track in tracks])[:, None]
        steps = np.array([track.centre for track in tracks])[:, None] - np.array(centres)
        distance = np.hypot(steps[..., 0], steps[..., 1]) / np.sqrt(heights_before * heights)
        grown = np.abs(np.log(heights_before / heights))
        misfit = np.maximum(
            distance / (_REACH + speeds[:, None] * unseen),
            grown / (_SIZE + _SIZE_GROWTH * unseen),
        )
        agreement = self._agreement(tracks, views)
        by_text = np.where(agreement >= _LEAST_AGREEMENT, 2 - agreement, _NEVER)
        costs = np.where(misfit < 1, misfit * (1 - agreement / 2), by_text)
        for row, track in enumerate(tracks):
            if track.evidence.verdict.sure:
                for index, seen in enumerate(views):
                    if seen is not None and self._is_other(track.evidence.verdict.text, seen, agreement[row, index]):
                        costs[row, index] = _NEVER
        return np.asarray(costs, np.float64)

    def _agreement(self, tracks: Sequence[Track], views: Sequence[View | None]) -> NDArray[np.float64]:
        """The probability of each track's text in each plate's own logits: (T, P), 0 without a text or logits."""
        agreement = np.zeros((len(tracks), len(views)))
        rows = [row for row, track in enumerate(tracks) if track.evidence.verdict.text]
        columns = [column for column, seen in enumerate(views) if seen is not None]
        if rows and columns:
            texts = [tracks[row].evidence.verdict.text for row in rows]
            logp = np.stack([seen.logp for seen in views if seen is not None])
            agreement[np.ix_(rows, columns)] = np.exp(text_log_probabilities(logp, texts, self._scheme)).T
        return agreement

    def _is_other(self, text: str, view: View, agreement: float) -> bool:
        return view.probability - agreement >= _LEAST_AGREEMENT and Levenshtein.distance(text, view.best) >= _OTHER_CAR

    def _begin(self, plate: Plate, seen: View | None) -> None:
        evidence = Fusion(self._scheme, self._fusion)
        track = Track(self._count, evidence, self._time, self._time, plate, *_measures(plate))
        self._read(track, seen)
        self.tracks.append(track)
        self._count += 1

    def _see(self, track: Track, plate: Plate, seen: View | None) -> None:
        _correct(track, plate, self._time - track.last_seen)
        track.plate, track.last_seen, track.seen = plate, self._time, True
        self._read(track, seen)

    def _read(self, track: Track, seen: View | None) -> None:
        if seen is not None:
            track.evidence.add(seen)
            track.readings.add(track.box, self._time)


def _measures(plate: Plate) -> tuple[NDArray[np.float64], float, float]:
    box = plate.box
    height = max(box.height, 1.0)
    return np.array(box.centre), height, max(box.width, 1.0) / height


def _predict(track: Track, seconds: float) -> None:
    """Move the track forward in time. With z = z0 - s t, the height follows 1 / z and the centre's speed 1 / z²."""
    scale = 1 / (1 - float(np.clip(track.growth * seconds, -1, 0.5)))
    track.centre = track.centre + track.velocity * seconds * scale
    track.velocity = track.velocity * scale**2
    track.height *= scale
    track.growth *= scale


def _correct(track: Track, plate: Plate, seconds: float) -> None:
    """Correct the prediction by a plate that was seen ``seconds`` after the last time."""
    centre, height, aspect = _measures(plate)
    n = track.hits
    g = max(2 * (2 * n + 1) / ((n + 1) * (n + 2)), _LEAST_G)
    h = max(6 / ((n + 1) * (n + 2)), _LEAST_H)
    off, grown = centre - track.centre, math.log(height / track.height)
    track.centre = track.centre + g * off
    track.height *= math.exp(g * grown)
    track.aspect += g * (aspect - track.aspect)
    if seconds > 0:
        track.velocity = track.velocity + h * off / seconds
        track.growth += h * grown / (seconds + _HEIGHT_NOISE)
    track.hits += 1
