"""Draws cars on a street, from the rear or the front: a side view extruded across the width, lamps and a plate.

A car is a polygon in its side view (distance from the bumper, height), drawn strip by strip from far to near. Each
strip is a small flat picture, so that glass, lamps and paint shade into each other.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Frame
from training.synthesis.drawing import Mask, Pinhole, Quad, blend, fill, paste, rounded

LevelOf = Callable[[float], int]
"""Height above the ground, m -> row of a face's picture."""

PLATE_WIDTH, PLATE_HEIGHT = 0.52, 0.112
_LOW = 0.2
"""Height of a bumper's lower edge, m above the ground."""
_BULGE = 0.02
"""How much a bumper sticks out on each side of the body, m."""
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
    points = outline_of(car)
    half = car.shape.width / 2
    _shadow(frame, camera, car)
    _wheels(frame, camera, car)
    _mirrors(frame, camera, car, paint)
    side = -np.sign(car.x) if abs(car.x) > half else 0.0
    if side:
        _side(frame, camera, car, points, float(side), paint)
    panes = _panes(car, points)
    for index in range(len(points) - 2, -1, -1):
        (z0, y0), (z1, y1) = points[index], points[index + 1]
        w0, w1 = half * _narrowing(car, y0), half * _narrowing(car, y1)
        quad = camera.project(
            (car.x - w1, y1, car.z + z1),
            (car.x + w1, y1, car.z + z1),
            (car.x + w0, y0, car.z + z0),
            (car.x - w0, y0, car.z + z0),
        )
        if quad[0, 1] > quad[3, 1]:  # faces away
            continue
        slope = np.arctan2(abs(z1 - z0), max(abs(y1 - y0), 1e-3))  # 0 upright, 1.57 level
        paste(frame, _panel(paint * (0.76 + 0.3 * np.sin(slope))), quad)
        if index in panes:
            pane = _pane(rng)
            inner = quad.mean(axis=0) + (quad - quad.mean(axis=0)) * np.array([0.88, 0.84], np.float32)
            paste(frame, pane, inner.astype(np.float32), rounded(pane.shape[0], pane.shape[1], 16))
    face, mask = _face(car, paint, rng, lamps_on=lamps_on)
    edge, top = half + _BULGE, points[1][1]
    paste(frame, face, camera.upright(car.x - edge, car.x + edge, top, _LOW, car.z), mask)


def _panes(car: Car, points: tuple[tuple[float, float], ...]) -> tuple[int, int]:
    near, far = car.shape.panes
    last = len(points) - 2
    return (last - far, last - near) if car.front else (near, far)


def _narrowing(car: Car, y: float) -> float:
    """The width of a car at a height, as a share of its full width: the cabin narrows."""
    top = max(v for _, v in car.shape.outline)
    waist = 0.68 * top
    return 1.0 if y <= waist else 1.0 - 0.24 * (y - waist) / (top - waist)


def _panel(colour: NDArray[np.float64]) -> Frame:
    """Painted sheet: darker towards its sides, a light streak across."""
    across = 1 - 0.22 * np.abs(np.linspace(-1, 1, 64)) ** 4
    down = 1.06 - 0.12 * np.linspace(0, 1, 24)
    shade = down[:, None, None] * across[None, :, None] * colour
    return np.asarray(np.clip(shade, 0, 255), np.uint8)


def _pane(rng: np.random.Generator) -> Frame:
    """Dark glass that mirrors the sky above, with the seats behind it."""
    pane = np.empty((90, 220, 3), np.float32)
    down = np.linspace(0, 1, 90, dtype=np.float32)[:, None, None]
    pane[:] = np.array((86, 78, 68), np.float32) * (1 - down) + np.array((34, 32, 30), np.float32) * down
    picture = pane.astype(np.uint8)
    for x in (62, 158):
        cv2.ellipse(picture, (x, 88), (26, 40), 0, 180, 360, (24, 24, 26), -1, cv2.LINE_AA)
        cv2.rectangle(picture, (x - 12, 36), (x + 12, 54), (24, 24, 26), -1)
    streak = int(rng.integers(20, 150))
    glow = picture.copy()
    cv2.fillPoly(
        glow,
        [np.array([[streak, 0], [streak + 34, 0], [streak + 4, 90], [streak - 30, 90]], np.int32)],
        (150, 146, 140),
    )
    return np.asarray(cv2.addWeighted(glow, 0.25, picture, 0.75, 0), np.uint8)


def _face(car: Car, paint: NDArray[np.float64], rng: np.random.Generator, *, lamps_on: bool) -> tuple[Frame, Mask]:
    """The flat picture of a car's rear or front from its top edge to the bumper's lower edge, and its outline."""
    points = outline_of(car)
    top = points[1][1]
    scale = 200.0  # px/m
    width, height = round((car.shape.width + 2 * _BULGE) * scale), round((top - _LOW) * scale)
    across = 1 - 0.3 * np.abs(np.linspace(-1, 1, width)) ** 5
    down = np.interp(np.linspace(0, 1, height), (0, 0.12, 0.45, 0.55, 0.8, 1), (1.08, 1.0, 0.86, 0.98, 0.84, 0.6))
    face = np.clip(down[:, None, None] * across[None, :, None] * paint, 0, 255).astype(np.uint8)

    def y_of(level: float) -> int:
        return round((top - level) * scale)

    seam = tuple(float(v) for v in paint * 0.45)
    black = (30.0, 30.0, 30.0)
    if car.front:
        _front(face, y_of, width, lamps_on, rng)
    else:
        _rear(face, y_of, width, top, lamps_on, rng)
    line = y_of(0.5) if car.front else y_of(0.53 if top < 1.1 else 0.6)
    cv2.line(face, (round(width * 0.02), line), (round(width * 0.98), line), seam, 2, cv2.LINE_AA)
    cv2.rectangle(face, (0, y_of(0.3)), (width, height), black, -1)
    return face, rounded(height, width, round(0.11 * scale))


def _rear(face: Frame, y_of: LevelOf, width: int, top: float, lamps_on: bool, rng: np.random.Generator) -> None:
    """Lamps at the sides, a recess for the plate, a badge, reflectors."""
    middle = width // 2
    lamp_w, lamp_h = round(width * rng.uniform(0.15, 0.21)), round(rng.uniform(24, 46))
    lamp_top = y_of(top - 0.1)
    red = (50.0, 40.0, 225.0) if lamps_on else (36.0, 30.0, 150.0)
    for left in (6, width - 6 - lamp_w):
        cv2.rectangle(face, (left, lamp_top), (left + lamp_w, lamp_top + lamp_h), (16, 12, 60), -1)
        cv2.rectangle(face, (left + 3, lamp_top + 3), (left + lamp_w - 3, lamp_top + lamp_h - 3), red, -1)
        inner = left + lamp_w // 2 if left < middle else left + 8
        cv2.rectangle(
            face, (inner, lamp_top + lamp_h // 2), (inner + lamp_w // 2 - 8, lamp_top + lamp_h - 8), (190, 196, 210), -1
        )
        cv2.line(face, (left + 6, lamp_top + 7), (left + lamp_w - 8, lamp_top + 7), (120, 110, 250), 2, cv2.LINE_AA)
    cv2.circle(face, (middle, lamp_top + 12), 10, (190, 190, 190), -1, cv2.LINE_AA)
    cv2.circle(face, (middle, lamp_top + 12), 6, (90, 90, 90), -1, cv2.LINE_AA)
    for x in (round(width * 0.14), round(width * 0.86)):
        cv2.rectangle(face, (x - 16, y_of(0.4) - 4), (x + 16, y_of(0.4) + 4), (40, 36, 170), -1)


def _front(face: Frame, y_of: LevelOf, width: int, lamps_on: bool, rng: np.random.Generator) -> None:
    """Headlamps, the grille with a badge, the lower air intake, fog lamps."""
    middle = width // 2
    lamp_w, lamp_h = round(width * rng.uniform(0.16, 0.22)), round(rng.uniform(22, 34))
    lamp_top = y_of(0.74)
    for mirrored in (False, True):
        shape = np.array([[6, 0], [lamp_w, 6], [lamp_w - 8, lamp_h], [10, lamp_h - 4]], np.int32)
        if mirrored:
            shape[:, 0] = width - shape[:, 0]
        shape[:, 1] += lamp_top
        cv2.fillPoly(face, [shape], (60, 60, 60), cv2.LINE_AA)
        x = width - lamp_w // 2 if mirrored else lamp_w // 2
        bright = (235, 246, 255) if lamps_on else (206, 204, 200)
        cv2.circle(face, (x, lamp_top + lamp_h // 2), lamp_h // 2 - 3, bright, -1, cv2.LINE_AA)
    half = round(width * rng.uniform(0.2, 0.27))
    grille_top, grille_low = lamp_top - 2, y_of(0.57)
    cv2.rectangle(face, (middle - half, grille_top), (middle + half, grille_low), (26, 26, 26), -1)
    for y in range(grille_top + 6, grille_low - 2, 8):
        cv2.line(face, (middle - half + 4, y), (middle + half - 4, y), (96, 96, 96), 2)
    cv2.circle(face, (middle, (grille_top + grille_low) // 2), 10, (200, 200, 200), -1, cv2.LINE_AA)
    cv2.rectangle(face, (round(width * 0.2), y_of(0.38)), (round(width * 0.8), y_of(0.28)), (24, 24, 24), -1)
    for x in (round(width * 0.12), round(width * 0.88)):
        cv2.circle(face, (x, y_of(0.38)), 11, (40, 40, 40), -1, cv2.LINE_AA)
        cv2.circle(face, (x, y_of(0.38)), 7, (180, 180, 176), -1, cv2.LINE_AA)


def _side(
    frame: Frame,
    camera: Pinhole,
    car: Car,
    points: tuple[tuple[float, float], ...],
    side: float,
    paint: NDArray[np.float64],
) -> None:
    """The flank that the camera sees: body, windows, door seams, wheels."""
    x = car.x + side * car.shape.width / 2

    def at(z: float, y: float) -> tuple[float, float, float]:
        return (car.x + side * car.shape.width / 2 * _narrowing(car, y), y, car.z + z)

    length = max(z for z, _ in points)
    body = camera.project(*[at(z, y) for z, y in points], at(length, 0.25), at(0.0, 0.25))
    fill(frame, body, paint * 0.72)
    lower = camera.project((x, 0.5, car.z), (x, 0.5, car.z + length), (x, 0.22, car.z + length), (x, 0.22, car.z))
    fill(frame, lower, paint * 0.5)
    roof = max(y for _, y in points)
    cabin = [(z, y) for z, y in points if y > 0.66 * roof]
    first, last = cabin[0][0], cabin[-1][0]
    low, high = 0.70 * roof, 0.94 * roof
    windows = camera.project(at(first + 0.4, low), at(first + 0.75, high), at(last - 0.85, high), at(last - 0.3, low))
    fill(frame, windows, (52, 48, 44))
    middle = (first + last) / 2
    fill(
        frame,
        camera.project(
            at(middle - 0.05, low), at(middle - 0.05, high), at(middle + 0.05, high), at(middle + 0.05, low)
        ),
        paint * 0.55,
    )
    for z in (0.8, length - 0.85):
        _wheel(frame, camera, x, car.z + z)


def _wheel(frame: Frame, camera: Pinhole, x: float, z: float) -> None:
    angles = np.linspace(0, 2 * np.pi, 28, endpoint=False)
    for radius, colour in ((0.36, (20, 20, 20)), (0.31, (26, 26, 27)), (0.2, (150, 150, 150)), (0.07, (70, 70, 70))):
        ring = [(x, 0.32 + radius * float(np.sin(a)), z + radius * float(np.cos(a))) for a in angles]
        fill(frame, camera.project(*ring), colour)


def _wheels(frame: Frame, camera: Pinhole, car: Car) -> None:
    """The tyres seen below the bumper."""
    half = car.shape.width / 2
    for x in (car.x - half + 0.14, car.x + half - 0.14):
        for z in (car.z + car.shape.length - 0.9, car.z + 0.75):
            fill(frame, camera.upright(x - 0.11, x + 0.11, 0.5, 0.0, z), (22, 22, 22))
    dark = camera.upright(car.x - half + 0.1, car.x + half - 0.1, 0.35, 0.14, car.z + 0.4)
    fill(frame, dark, (26, 26, 26))


def _shadow(frame: Frame, camera: Pinhole, car: Car) -> None:
    half = car.shape.width / 2 + 0.12
    ground = camera.level(car.x - half, car.x + half, 0, car.z + car.shape.length + 0.2, car.z - 0.15)
    blend(frame, ground, (18, 18, 20), 0.8, float(camera.focal * 0.07 / car.z))


def _mirrors(frame: Frame, camera: Pinhole, car: Car, paint: NDArray[np.float64]) -> None:
    top = max(y for _, y in car.shape.outline)
    z = car.z + (1.3 if car.front else 2.7)
    for side in (-1, 1):
        x = car.x + side * (car.shape.width / 2 + 0.08)
        quad = camera.project(
            (x - 0.1, 0.74 * top, z), (x + 0.1, 0.74 * top, z), (x + 0.08, 0.65 * top, z), (x - 0.08, 0.65 * top, z)
        )
        fill(frame, quad, paint * 0.6)
