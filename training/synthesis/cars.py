"""Draws cars on a street, from the rear or the front: a side view extruded across the width, lamps and a plate.

A car is a polygon in its side view (distance from the bumper, height), drawn strip by strip from far to near. Each
strip is a small flat picture, so that glass, lamps and paint shade into each other.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame
from training.synthesis.drawing import Mask, Pinhole, blend, fill, paste, rounded

PLATE_WIDTH, PLATE_HEIGHT = 0.52, 0.112
_LOW = 0.2
"""Height of a bumper's lower edge, m above the ground."""
_BULGE = 0.02
"""How much a bumper sticks out on each side of the body, m."""
_FINE = 200.0
"""Scale at which a car's rear or front is drawn, px/m."""
PAINTS = (
    (38, 38, 40), (60, 58, 56), (120, 118, 116), (176, 176, 174), (226, 226, 224), (228, 230, 230), (44, 34, 150),
    (30, 26, 96), (120, 62, 28), (86, 50, 22), (58, 84, 44), (92, 130, 150), (150, 110, 60), (70, 120, 190),
    (40, 30, 170), (200, 200, 196),
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A side view: points (distance from the visible bumper, height) from bumper to bumper over the roof, m."""

    outline: tuple[tuple[float, float], ...]
    panes: tuple[int, int]
    """Which strips of the outline are the rear window and the windscreen."""
    width: float
    length: float


SEDAN = Shape(
    ((0.0, 0.62), (0.06, 0.98), (0.55, 1.03), (1.15, 1.42), (2.45, 1.44), (3.25, 1.0), (4.35, 0.78), (4.5, 0.5)),
    (2, 4),
    1.78,
    4.5,
)
HATCH = Shape(
    ((0.0, 0.66), (0.08, 1.02), (0.45, 1.46), (0.8, 1.5), (2.5, 1.5), (3.3, 1.02), (3.95, 0.8), (4.05, 0.5)),
    (1, 4),
    1.72,
    4.05,
)
SUV = Shape(
    ((0.0, 0.8), (0.07, 1.14), (0.42, 1.62), (0.7, 1.7), (2.7, 1.7), (3.45, 1.18), (4.45, 1.0), (4.6, 0.6)),
    (1, 4),
    1.88,
    4.6,
)


@dataclass(frozen=True)
class Car:
    """A car in space: its shape, middle of its visible bumper, paint; front: whether it is seen from the front."""

    shape: Shape
    x: float
    z: float
    paint: tuple[int, int, int]
    front: bool


def outline_of(car: Car) -> tuple[tuple[float, float], ...]:
    """The side view, starting at the visible bumper: reversed if the front is visible."""
    points = car.shape.outline
    if not car.front:
        return points
    length = max(x for x, _ in points)
    return tuple((length - x, y) for x, y in reversed(points))


def plate_quad(car: Car, camera: Pinhole, size: tuple[float, float] = (PLATE_WIDTH, PLATE_HEIGHT)) -> Quad:
    """The car's plate, of a width and height in m, in the picture: corners (4, 2), clockwise from top left."""
    middle = 0.46 if car.front else min(0.62, outline_of(car)[0][1] * 0.5 + 0.3) + 0.12
    half_w, half_h = size[0] / 2, size[1] / 2
    return camera.upright(car.x - half_w, car.x + half_w, middle + half_h, middle - half_h, car.z - 0.04)


def extent(car: Car, camera: Pinhole) -> tuple[float, float, float, float]:
    """The upright box (xmin, ymin, xmax, ymax) of the whole car, px."""
    half, high = car.shape.width / 2 + 0.1, max(y for _, y in car.shape.outline)
    ends = (camera.upright(car.x - half, car.x + half, high, 0.0, car.z + depth) for depth in (0.0, car.shape.length))
    corners = np.concatenate(list(ends))
    (xmin, ymin), (xmax, ymax) = corners.min(axis=0), corners.max(axis=0)
    return float(xmin), float(ymin), float(xmax), float(ymax)


def draw_car(frame: Frame, camera: Pinhole, car: Car, rng: np.random.Generator, *, lamps_on: bool = False) -> None:
    """Draw a car without its plate, in place."""
    paint = np.array(car.paint, np.float64)
    points, half = outline_of(car), car.shape.width / 2
    ground = camera.level(car.x - half - 0.12, car.x + half + 0.12, 0, car.z + car.shape.length + 0.2, car.z - 0.15)
    blend(frame, ground, (18, 18, 20), 0.8, float(camera.focal * 0.07 / car.z))
    for x in (car.x - half + 0.14, car.x + half - 0.14):  # the tyres seen below the bumper
        for z in (car.z + car.shape.length - 0.9, car.z + 0.75):
            fill(frame, camera.upright(x - 0.11, x + 0.11, 0.5, 0.0, z), (22, 22, 22))
    fill(frame, camera.upright(car.x - half + 0.1, car.x + half - 0.1, 0.35, 0.14, car.z + 0.4), (26, 26, 26))
    if abs(car.x) > half:
        _side(frame, camera, car, points, float(-np.sign(car.x)), paint)
    near, far, last = *car.shape.panes, len(points) - 2
    panes = (last - far, last - near) if car.front else (near, far)
    for index in range(last, -1, -1):
        (z0, y0), (z1, y1) = points[index], points[index + 1]
        w0, w1 = half * _narrowing(car, y0), half * _narrowing(car, y1)
        far_edge = camera.project((car.x - w1, y1, car.z + z1), (car.x + w1, y1, car.z + z1))
        near_edge = camera.project((car.x + w0, y0, car.z + z0), (car.x - w0, y0, car.z + z0))
        quad = np.concatenate((far_edge, near_edge))
        if quad[0, 1] > quad[3, 1]:  # faces away
            continue
        slope = np.arctan2(abs(z1 - z0), max(abs(y1 - y0), 1e-3))  # 0 upright, 1.57 level
        paste(frame, _sheet(64, 24, paint * (0.76 + 0.3 * np.sin(slope)), (1.06, 0.94)), quad)
        if index in panes:
            pane = _pane(rng)
            inner = quad.mean(axis=0) + (quad - quad.mean(axis=0)) * np.array([0.88, 0.84], np.float32)
            paste(frame, pane, inner.astype(np.float32), rounded(pane.shape[0], pane.shape[1], 16))
    face, mask = _face(car, paint, rng, lamps_on=lamps_on)
    edge = half + _BULGE
    paste(frame, face, camera.upright(car.x - edge, car.x + edge, points[1][1], _LOW, car.z), mask)


def _narrowing(car: Car, y: float) -> float:
    """The width of a car at a height, as a share of its full width: the cabin narrows."""
    top = max(v for _, v in car.shape.outline)
    waist = 0.68 * top
    return 1.0 if y <= waist else 1.0 - 0.24 * (y - waist) / (top - waist)


def _sheet(width: int, height: int, colour: NDArray[np.float64], down: tuple[float, ...]) -> Frame:
    """Painted sheet: darker towards its sides, and from the top down as these factors say."""
    across = 1 - 0.25 * np.abs(np.linspace(-1, 1, width)) ** 4
    shades = np.interp(np.linspace(0, 1, height), np.linspace(0, 1, len(down)), down)
    return np.asarray(np.clip(shades[:, None, None] * across[None, :, None] * colour, 0, 255), np.uint8)


def _pane(rng: np.random.Generator) -> Frame:
    """Dark glass that mirrors the sky above, with a streak of light."""
    down = np.linspace(0, 1, 90)[:, None, None]
    shades = np.array((86, 78, 68)) * (1 - down) + np.array((34, 32, 30)) * down
    pane: Frame = np.repeat(shades, 220, axis=1).astype(np.uint8)
    streak = int(rng.integers(20, 150))
    corners = np.array([[streak, 0], [streak + 34, 0], [streak + 4, 90], [streak - 30, 90]], np.float32)
    blend(pane, corners, (150, 146, 140), 0.25)
    return pane


def _face(car: Car, paint: NDArray[np.float64], rng: np.random.Generator, *, lamps_on: bool) -> tuple[Frame, Mask]:
    """The flat picture of a car's rear or front from its top edge to the bumper's lower edge, and its outline."""
    top = outline_of(car)[1][1]
    width, height = round((car.shape.width + 2 * _BULGE) * _FINE), round((top - _LOW) * _FINE)
    face = _sheet(width, height, paint, (1.08, 1.0, 0.93, 0.86, 0.98, 0.84, 0.6))

    def box(left: float, level: float, wide: float, high: float, colour: tuple[float, ...]) -> None:
        """A box and its mirror image: its left edge and width in widths of the face, its top and height in m."""
        y = round((top - level) * _FINE)
        for x in (left, 1 - left - wide):
            corners = (round(x * width), y), (round((x + wide) * width), y + round(high * _FINE))
            cv2.rectangle(face, *corners, colour, -1)

    black, badge = (30.0, 30.0, 30.0), (190.0, 190.0, 190.0)
    if car.front:  # headlamps, the grille, the lower air intake
        wide, high = rng.uniform(0.16, 0.22), rng.uniform(22, 34) / _FINE
        half = float(rng.uniform(0.2, 0.27))
        box(0.02, 0.74, wide, high, (60, 60, 60))
        box(0.05, 0.74 - 0.15 * high, wide - 0.06, 0.7 * high, (235, 246, 255) if lamps_on else (206, 204, 200))
        box(0.5 - half, 0.75, 2 * half, 0.18, black)
        for bar in range(4):
            box(0.51 - half, 0.72 - 0.04 * bar, 2 * half - 0.02, 0.01, (96, 96, 96))
        box(0.2, 0.38, 0.6, 0.1, black)
    else:  # lamps at the sides, reflectors
        wide, high = rng.uniform(0.15, 0.21), rng.uniform(24, 46) / _FINE
        box(0.02, top - 0.1, wide, high, (16, 12, 60))
        box(0.03, top - 0.115, wide - 0.02, high - 0.03, (50, 40, 225) if lamps_on else (36, 30, 150))
        box(0.05, top - 0.1 - 0.5 * high, 0.3 * wide, 0.3 * high, (190, 196, 210))
        box(0.1, 0.42, 0.08, 0.04, (40, 36, 170))
    box(0.48, 0.68 if car.front else top - 0.14, 0.04, 0.08, badge)
    box(0.02, 0.5 if car.front else 0.56, 0.96, 0.01, tuple(paint * 0.45))
    box(0.0, 0.3, 1.0, 0.1, black)
    return face, rounded(height, width, round(0.11 * _FINE))


def _side(
    frame: Frame,
    camera: Pinhole,
    car: Car,
    points: tuple[tuple[float, float], ...],
    side: float,
    paint: NDArray[np.float64],
) -> None:
    """The flank that the camera sees: body, windows, a door seam, wheels."""

    def area(*corners: tuple[float, float]) -> Quad:
        half = (side * car.shape.width / 2 * _narrowing(car, y) for _, y in corners)
        return camera.project(*((car.x + x, y, car.z + z) for x, (z, y) in zip(half, corners, strict=True)))

    length, roof = max(z for z, _ in points), max(y for _, y in points)
    fill(frame, area(*points, (length, 0.25), (0.0, 0.25)), paint * 0.72)
    fill(frame, area((0, 0.5), (length, 0.5), (length, 0.22), (0, 0.22)), paint * 0.5)
    cabin = [z for z, y in points if y > 0.66 * roof]
    first, last, low, high = cabin[0], cabin[-1], 0.70 * roof, 0.94 * roof
    fill(frame, area((first + 0.4, low), (first + 0.75, high), (last - 0.85, high), (last - 0.3, low)), (52, 48, 44))
    door = (first + last) / 2
    fill(frame, area((door - 0.05, low), (door - 0.05, high), (door + 0.05, high), (door + 0.05, low)), paint * 0.55)
    angles = np.linspace(0, 2 * np.pi, 28, endpoint=False)
    for z in (0.8, length - 0.85):
        for radius, colour in ((0.36, (20, 20, 20)), (0.2, (150, 150, 150)), (0.07, (70, 70, 70))):
            ring = zip(z + radius * np.cos(angles), 0.32 + radius * np.sin(angles), strict=True)
            fill(frame, area(*((float(a), float(b)) for a, b in ring)), colour)
