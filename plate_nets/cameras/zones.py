"""Named polygons of a camera: when a plate entered and left each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.cameras.regions import Polygon, contains
from plate_nets.events.event import ZoneVisit

_PAUSE = 1.0
"""Seconds outside a zone after which a plate has left it; a plate on its border does not enter again and again."""


@dataclass(frozen=True)
class Zone:
    """A named polygon, whose visits are recorded; points in shares of the picture's width and height, or in pixels."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    """Letters, digits, ``.``, ``_`` and ``-``."""
    polygon: Polygon

    def scaled(self, w: int, h: int) -> "Zone":
        return Zone(self.name, tuple((x * w, y * h) for x, y in self.polygon))


@dataclass
class _Visit:
    zone: str
    entered: float
    left: float | None = None


class ZoneVisits:
    """The visits of one plate, in the order of their beginnings. Times are Unix seconds."""

    def __init__(self, zones: Sequence[Zone]) -> None:
        self._zones = zones
        self._visits: list[_Visit] = []

    def __len__(self) -> int:
        return len(self._visits)

    def note(self, centre: NDArray[np.float64], time: float) -> None:
        """The plate's centre in a frame, x and y."""
        point = (float(centre[0]), float(centre[1]))
        for zone in self._zones:
            inside, last = contains(zone.polygon, point), self._last(zone.name)
            if inside and last is not None and (last.left is None or time - last.left < _PAUSE):
                last.left = None
            elif inside:
                self._visits.append(_Visit(zone.name, time))
            elif last is not None and last.left is None:
                last.left = time

    def join(self, later: "ZoneVisits", last_seen: float) -> None:
        """Add those of the same car when it was found again; it was lost at ``last_seen``."""
        for visit in self._visits:
            visit.left = last_seen if visit.left is None else visit.left
        for again in later._visits:
            before = self._last(again.zone)
            if before is not None and before.left is not None and again.entered - before.left < _PAUSE:
                before.left = again.left
            else:
                self._visits.append(again)

    def until(self, last_seen: float | None) -> tuple[ZoneVisit, ...]:
        """The visits for an event; a car that is gone left its zones when it was seen last."""
        ends = [last_seen if each.left is None else each.left for each in self._visits]
        return tuple(
            ZoneVisit(each.zone, _moment(each.entered), None if left is None else _moment(left))
            for each, left in zip(self._visits, ends, strict=True)
        )

    def _last(self, zone: str) -> _Visit | None:
        return next((each for each in reversed(self._visits) if each.zone == zone), None)


def _moment(time: float) -> datetime:
    return datetime.fromtimestamp(time, UTC)
