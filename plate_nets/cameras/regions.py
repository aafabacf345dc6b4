"""Regions of interest and masks, as polygons in shares of the picture's width and height."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.cameras.frames import LUMA_SIZE
from plate_nets.recognition.reasons import EDGE, from_edge
from plate_nets.types import Box, Plate, Vehicle

Point = tuple[float, float]
Polygon = tuple[Point, ...]
"""Corners x, y in shares of the picture's width and height, 0..1, independent of the resolution."""
_Place = Point | NDArray[np.float64]


@dataclass(frozen=True)
class Regions:
    include: tuple[Polygon, ...] = ()
    """A plate counts if its centre is in one of these; empty: everywhere."""
    masks: tuple[Polygon, ...] = ()
    """Areas where nothing counts, such as the clock that a camera writes into its picture, or a street behind the
    fence."""
    least_height: float = 0.0
    """Minimum height of a plate's box in pixels."""

    def select(self, plates: Sequence[Plate], size: tuple[int, int]) -> list[Plate]:
        """The plates of a frame of this height and width that count.

        A plate that is cut by the picture's edge loses its evidence, because the rest of its text reads as another one.
        """
        counted = (plate for plate in plates if plate.box.height >= self.least_height and self._holds(plate.box, size))
        return [replace(plate, logits=None) if from_edge(plate.box, size) < EDGE else plate for plate in counted]

    def watched(self) -> NDArray[np.uint8]:
        """The pixels that count, in a picture of `LUMA_SIZE`: (180, 320), 255 or 0."""
        mask = np.full(LUMA_SIZE, 0 if self.include else 255, np.uint8)
        for polygons, value in ((self.include, 255), (self.masks, 0)):
            if polygons:
                corners = [(np.array(polygon) * LUMA_SIZE[::-1]).astype(np.int32) for polygon in polygons]
                cv2.fillPoly(mask, corners, (value,))
        return mask

    def select_vehicles(
        self, vehicles: Sequence[Vehicle], plates: Sequence[Plate], size: tuple[int, int]
    ) -> list[Vehicle]:
        """Vehicles of a frame of this size, and the plates that count -> the vehicles that count by place or plate."""
        own = {plate.vehicle for plate in plates}
        return [vehicle for vehicle in vehicles if vehicle in own or self._holds(vehicle.box, size)]

    def _holds(self, box: Box, size: tuple[int, int]) -> bool:
        (x, y), (h, w) = box.centre, size
        centre = (x / w, y / h)
        return (not self.include or _within(self.include, centre)) and not _within(self.masks, centre)


def _within(polygons: Sequence[Polygon], point: tuple[float, float]) -> bool:
    return any(contains(polygon, point) for polygon in polygons)


def contains(polygon: Polygon, point: tuple[float, float]) -> bool:
    """Whether a point is in a polygon or on its border, both in the same unit."""
    return cv2.pointPolygonTest(np.array(polygon, np.float32), point, False) >= 0


def crosses_itself(polygon: Polygon) -> bool:
    """Whether two sides of a polygon cross; sides may touch."""
    sides = list(zip(polygon, (*polygon[1:], polygon[0]), strict=True))
    return any(_cross(*one, *other) for one, other in combinations(sides, 2))


def _cross(start: Point, end: Point, other_start: Point, other_end: Point) -> bool:
    """Whether each of two lines has the ends of the other on different sides."""
    return (
        turn(start, end, other_start) * turn(start, end, other_end) < 0
        and turn(other_start, other_end, start) * turn(other_start, other_end, end) < 0
    )


def turn(start: _Place, end: _Place, point: _Place) -> float:
    """Above 0, below 0 or 0, as the way from start to end and on to a point turns right, left or not: y points down."""
    return float((end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0]))
