"""Plates and vehicles of one picture -> the vehicle of each plate, or none if it is unclear.

It depends on where the plate lies in the vehicle, and on how large it is. Clients import this, so it works without
OpenCV.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.overlap import inside, iou, stacked
from plate_nets.types import VEHICLES, Box, Plate, Vehicle, VehicleRows

_INSIDE = 0.8
"""The minimum share of a plate that lies in the box of its vehicle."""
_LOWER, _LOWEST = 0.25, 0.97
"""The range of the height of the plate's centre, 0 at the top of the vehicle's box and 1 at its bottom. What lies lower
is on the road."""
_NARROWEST, _WIDEST = 0.03, 0.65
"""The range of the plate's width as a share of the vehicle's. A car from the front has 0.3, a truck from the side 0.03,
a motorcycle 0.5."""
_HIGHEST = 0.3
"""The maximum share of the heights."""
_ALIKE = 1.5
"""A plate is unclear if it may also belong to another vehicle that is at most this many times as large."""
_SAME, _WEAK = 0.4, 0.5
"""A vehicle that overlaps a better one by at least the first (IoU), and has at most the second of its score, is the
same vehicle, framed less well, and does not count."""
_CARRIED = 0.1
"""A vehicle is carried by another (as on a transporter) or pictured on it (as on a bus) if it lies inside and its
bottom is higher by at least this share of the other's height. A vehicle that stands in front reaches lower."""


def vehicles_of(rows: VehicleRows) -> tuple[Vehicle, ...]:
    """The detector's rows (N, 6) -> vehicles, in order."""
    return tuple(Vehicle(Box(*sides), VEHICLES[int(kind)], score) for *sides, score, kind in rows.tolist())


def rows_of(vehicles: Sequence[Vehicle]) -> VehicleRows:
    """Vehicles -> rows (N, 6), in order: the inverse of `vehicles_of`."""
    rows = [(*vehicle.box.sides, vehicle.score, VEHICLES.index(vehicle.type)) for vehicle in vehicles]
    return np.array(rows, np.float32).reshape(-1, 6)


def with_vehicles(plates: Sequence[Plate], vehicles: Sequence[Vehicle]) -> list[Plate]:
    """Plates and vehicles of a picture -> the same plates, each with its vehicle or None.

    A plate belongs to the smallest vehicle around it, so a car on a transporter has its own plate. It is None if
    another vehicle of about that size is possible too, if the smallest is a picture on a bus, and if two plates would
    share a vehicle.
    """
    assigned = belonging(stacked(plate.box for plate in plates), vehicles)
    return [
        replace(plate, vehicle=vehicles[index] if index >= 0 else None)
        for plate, index in zip(plates, assigned.tolist(), strict=True)
    ]


def belonging(plates: NDArray[np.floating[Any]], vehicles: Sequence[Vehicle]) -> NDArray[np.intp]:
    """Boxes (N, 4) xyxy of plates -> the index of the vehicle of each (N,), as in `with_vehicles`, or -1."""
    if not len(plates) or not vehicles:
        return np.full(len(plates), -1, np.intp)
    others = stacked(vehicle.box for vehicle in vehicles)
    assigned = _chosen(_plausible(plates.astype(np.float64), others), others, vehicles)
    claims = np.bincount(assigned[assigned >= 0], minlength=len(vehicles))
    return np.where((assigned >= 0) & (claims[assigned] == 1), assigned, -1)


def _plausible(plates: NDArray[np.float64], vehicles: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Boxes (N, 4) of plates and (M, 4) of vehicles -> whether each plate may belong to each vehicle (N, M)."""
    (width, height), (own_width, own_height) = _size(vehicles), _size(plates)
    wide, high = own_width[:, None] / width, own_height[:, None] / height
    down = ((plates[:, 1] + plates[:, 3])[:, None] / 2 - vehicles[:, 1]) / height
    fits: NDArray[np.bool_] = (
        (inside(plates, vehicles) >= _INSIDE)
        & (down >= _LOWER)
        & (down <= _LOWEST)
        & (wide >= _NARROWEST)
        & (wide <= _WIDEST)
        & (high <= _HIGHEST)
    )
    return fits


def _chosen(plausible: NDArray[np.bool_], boxes: NDArray[np.float64], vehicles: Sequence[Vehicle]) -> NDArray[np.intp]:
    """Whether each plate may belong to each vehicle (N, M) -> the index of its vehicle (N,), or -1."""
    areas, scores = _areas(boxes), np.array([vehicle.score for vehicle in vehicles])
    buses = np.array([vehicle.type == "bus" for vehicle in vehicles])
    pictured = _carried(boxes, boxes[buses]).any(axis=1)
    assigned = np.full(len(plausible), -1, np.intp)
    for row, may in enumerate(plausible):
        candidates = np.flatnonzero(may)
        if len(candidates) > 1:
            candidates = candidates[~_outdone(boxes[candidates], scores[candidates])]
        if not len(candidates):
            continue
        best = candidates[areas[candidates].argmin()]
        alike = areas[candidates] < _ALIKE * areas[best]
        if np.count_nonzero(alike) <= 1 and not pictured[best]:
            assigned[row] = best
    return assigned


def _carried(boxes: NDArray[np.float64], carriers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Boxes (N, 4) and (M, 4) of vehicles -> whether each of the first is carried by, or pictured on, each of the
    second: (N, M)."""
    above = carriers[:, 3] - boxes[:, None, 3] >= _CARRIED * _size(carriers)[1]
    carried: NDArray[np.bool_] = (inside(boxes, carriers) >= _INSIDE) & above
    return carried


def _outdone(boxes: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Boxes (N, 4) of vehicles and their scores (N,) -> which are better framed by another of them."""
    better = (iou(boxes, boxes) >= _SAME) & (scores[:, None] <= _WEAK * scores)
    outdone: NDArray[np.bool_] = better.any(axis=1)
    return outdone


def _size(boxes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes (N, 4) -> their widths and heights."""
    return np.maximum(boxes[:, 2] - boxes[:, 0], 1e-6), np.maximum(boxes[:, 3] - boxes[:, 1], 1e-6)


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    width, height = _size(boxes)
    return width * height
