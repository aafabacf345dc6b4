"""Whose plate is it: plates and vehicles of one picture -> the vehicle of each plate, or none rather than a wrong one.

By where a plate lies in its vehicle, and how large it is beside it. A client does it too, so nothing here needs OpenCV.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.overlap import inside, stacked
from plate_nets.types import VEHICLES, Box, Plate, Vehicle, VehicleRows


@dataclass(frozen=True)
class BelongingSettings:
    """When a plate may be that of a vehicle.

    ``inside``: least share of the plate that lies in the vehicle's box.
    ``lower``: from where down the plate's centre lies, 0 the top of the vehicle's box and 1 its bottom; ``lowest``: to
    where: what lies below is on the road.
    ``narrowest``, ``widest``: the plate's width as a share of the vehicle's. A car seen from ahead has 0.3, a lorry
    seen from its side 0.03, a motorcycle 0.5. ``highest``: the same of the heights.
    ``alike``: how many times as large another vehicle is at most that the plate may be of just as well.
    ``carried``: how far a vehicle ends above the one that it lies in, as a share of that one's height, to be carried by
    it, as on a transporter, or pictured on it, as on a bus. One that stands before it ends lower.
    """

    inside: float = 0.8
    lower: float = 0.25
    lowest: float = 0.97
    narrowest: float = 0.03
    widest: float = 0.65
    highest: float = 0.3
    alike: float = 1.5
    carried: float = 0.1


def vehicles_of(rows: VehicleRows) -> tuple[Vehicle, ...]:
    """The detector's rows (N, 6) -> vehicles, in order."""
    return tuple(Vehicle(Box(*sides), VEHICLES[int(kind)], score) for *sides, score, kind in rows.tolist())


def rows_of(vehicles: Sequence[Vehicle]) -> VehicleRows:
    """Vehicles -> rows (N, 6), in order: the inverse of `vehicles_of`."""
    rows = [(*each.box.sides, each.score, VEHICLES.index(each.type)) for each in vehicles]
    return np.array(rows, np.float32).reshape(-1, 6)


def with_vehicles(
    plates: Sequence[Plate], vehicles: Sequence[Vehicle], settings: BelongingSettings = BelongingSettings()
) -> list[Plate]:
    """Plates and vehicles of a picture -> the same plates, each with its vehicle or None.

    Of several that it may be of, the smallest: a car on a transporter has its own plate. None where another vehicle of
    about that size may have it as well, where the smallest is a picture on a bus, and of two plates that may be of the
    same vehicle alone.
    """
    if not plates or not vehicles:
        return list(plates)
    boxes, others = stacked(plate.box for plate in plates), stacked(vehicle.box for vehicle in vehicles)
    own = _chosen(_plausible(boxes, others, settings), others, vehicles, settings)
    claims = np.bincount(own[own >= 0], minlength=len(vehicles))
    return [
        replace(plate, vehicle=vehicles[index] if index >= 0 and claims[index] == 1 else None)
        for plate, index in zip(plates, own.tolist(), strict=True)
    ]


def _plausible(
    plates: NDArray[np.float64], vehicles: NDArray[np.float64], settings: BelongingSettings
) -> NDArray[np.bool_]:
    """Boxes (N, 4) of plates and (M, 4) of vehicles -> (N, M) whether a plate may be that vehicle's."""
    (width, height), (own_width, own_height) = _size(vehicles), _size(plates)
    wide, high = own_width[:, None] / width, own_height[:, None] / height
    down = ((plates[:, 1] + plates[:, 3])[:, None] / 2 - vehicles[:, 1]) / height
    fits: NDArray[np.bool_] = (
        (inside(plates, vehicles) >= settings.inside)
        & (down >= settings.lower)
        & (down <= settings.lowest)
        & (wide >= settings.narrowest)
        & (wide <= settings.widest)
        & (high <= settings.highest)
    )
    return fits


def _chosen(
    plausible: NDArray[np.bool_],
    boxes: NDArray[np.float64],
    vehicles: Sequence[Vehicle],
    settings: BelongingSettings,
) -> NDArray[np.intp]:
    """(N, M) whether a plate may be a vehicle's -> (N,) the number of its vehicle, -1: none."""
    areas = _areas(boxes)
    within = inside(boxes, boxes) >= settings.inside
    above = boxes[None, :, 3] - boxes[:, None, 3] >= settings.carried * _size(boxes)[1]
    carried = within & above
    own = np.full(len(plausible), -1, np.intp)
    for row, may in enumerate(plausible):
        candidates = np.flatnonzero(may)
        if not len(candidates):
            continue
        best = candidates[areas[candidates].argmin()]
        alike = [each for each in candidates if each != best and areas[each] < settings.alike * areas[best]]
        pictured = any(carried[best, each] and vehicles[each].type == "bus" for each in range(len(vehicles)))
        if not alike and not pictured:
            own[row] = best
    return own


def _size(boxes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes (N, 4) -> their widths and heights."""
    return np.maximum(boxes[:, 2] - boxes[:, 0], 1e-6), np.maximum(boxes[:, 3] - boxes[:, 1], 1e-6)


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    width, height = _size(boxes)
    return width * height
