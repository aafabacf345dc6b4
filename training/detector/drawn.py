"""Draws pictures without a car: plates of every kind, from distant to filling the picture, with look-alikes."""

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import main_scheme
from plate_nets.recognition.quads import Quad
from plate_nets.recognition.rectification import quad_boxes
from plate_nets.types import Boxes, Frame
from training.detector.signs import draw_sign, put_sign, stamp_time, with_signs
from training.synthesis import drawn_plate, placed, texts
from training.synthesis.camera import take_photo
from training.synthesis.drawing import Pinhole, paste, rounded
from training.synthesis.scene import foreign_plate
from training.synthesis.street import draw_street, sample_weather

NARROWEST, WIDEST = 0.03, 0.95
"""Widths of a plate, as shares of the picture's; the smallest is 15 px in full HD."""
CLOSE = 0.35
"""Share of the pictures with a close-up of a plate: 0.3 of the width and more."""
AT_EDGE = 0.25
"""Share of the plates that touch an edge or a corner of the picture."""
PLAIN = 0.15
"""Share of the pictures with a ground of one colour."""
_EDGES = [(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0) if (x, y) != (0.5, 0.5)]
_FOREIGN = 0.15
_TWO_LINES = 0.45
_SEVERITY = 0.6


def draw_picture(rng: np.random.Generator, size: tuple[int, int], plates: int) -> tuple[Frame, Boxes]:
    """A generator -> a picture of ``size`` (w, h) px and the boxes (N, 4) xyxy of the plates in it, N <= ``plates``.

    A plate that finds no room is not drawn.
    """
    frame = ground(rng, size)
    quads: list[Quad] = []
    near = plates > 0 and rng.random() < CLOSE
    for number in range(1 if near else plates):
        share = rng.uniform(0.3, WIDEST) if near else NARROWEST * (0.3 / NARROWEST) ** rng.random()
        picture, corners, quad = _plate(rng, float(share * size[0]))
        margin = np.ptp(quad, axis=0) * (0.02 if number == 0 else 0.2)
        room = np.array(size) - np.ptp(quad, axis=0)
        if (room <= 2).any():
            continue
        quad = quad - quad.min(axis=0) + (_place(rng) * room).astype(np.float32)
        others = quad_boxes(np.array(quads, np.float32).reshape(-1, 4, 2))
        low, high = quad.min(axis=0) - margin, quad.max(axis=0) + margin
        if ((others[:, :2] < high) & (others[:, 2:] > low)).all(axis=1).any():
            continue
        _hang(frame, picture, corners, quad, rng)
        quads.append(quad.astype(np.float32))
    boxes = quad_boxes(np.array(quads, np.float32).reshape(-1, 4, 2))
    if rng.random() < 0.8:
        frame = with_signs(rng, frame, boxes, max_signs=4)
    if not quads and rng.random() < 0.5:  # close-up lettering, as on a poster or the side of a lorry
        put_sign(rng, frame, boxes, draw_sign(rng), int(size[0] * rng.uniform(0.3, 0.95)))
    if rng.random() < 0.25:
        stamp_time(rng, frame)
    seen = min(quads, key=lambda quad: float(np.ptp(quad[:, 1])), default=_middle(size))
    return take_photo(frame, seen, seen, size, rng, _SEVERITY), boxes


def draw_any_picture(rng: np.random.Generator, long_side: int) -> tuple[Frame, Boxes]:
    """As `draw_picture`, of any shape, two in five without a plate."""
    plates = 0 if rng.random() < 0.4 else int(rng.integers(1, 5))
    return draw_picture(rng, picture_size(rng, long_side), plates)


def picture_size(rng: np.random.Generator, long_side: int) -> tuple[int, int]:
    """Width and height of a drawn picture, px: one in five is upright."""
    narrow = round(long_side * rng.uniform(0.55, 1.0))
    return (narrow, long_side) if rng.random() < 0.2 else (long_side, narrow)


def _place(rng: np.random.Generator) -> NDArray[np.float64]:
    """Where a plate lies in the room that it has: (x, y), 0..1."""
    place = rng.random(2)
    if rng.random() < AT_EDGE:
        place = np.array(_EDGES[int(rng.integers(len(_EDGES)))])
    return place


def ground(rng: np.random.Generator, size: tuple[int, int]) -> Frame:
    """A wall, paint, gravel or a part of a street, without a plate."""
    if rng.random() < PLAIN:
        plain = rng.uniform(20, 235, 3 if rng.random() < 0.5 else 1) + rng.normal(0, 4, (size[1], size[0], 3))
        return np.clip(plain, 0, 255).astype(np.uint8)
    kind = rng.random()
    if kind < 0.45:
        zoom = float(rng.uniform(1, 3))
        full = (round(size[0] * zoom), round(size[1] * zoom))
        street = np.zeros((full[1], full[0], 3), np.uint8)
        horizon = float(full[1] * rng.uniform(0.3, 0.5))
        camera = Pinhole(full[0] * float(rng.uniform(0.9, 1.5)), full[0] / 2, horizon, float(rng.uniform(1, 2.1)))
        draw_street(street, camera, sample_weather(rng), rng)
        left, top = (int(rng.integers(0, more - part + 1)) for more, part in zip(full, size, strict=True))
        return np.ascontiguousarray(street[top : top + size[1], left : left + size[0]])
    picture = np.full(
        (size[1], size[0], 3), rng.uniform(20, 235, 3) if kind < 0.6 else rng.uniform(20, 235), np.float32
    )
    for cells in (2, 5, 12, 60, 200):  # uneven paint, stains, gravel
        coarse = rng.standard_normal((cells, cells, 3 if rng.random() < 0.3 else 1)).astype(np.float32)
        fine = cv2.resize(coarse, size, interpolation=cv2.INTER_CUBIC).reshape(size[1], size[0], -1)
        picture += fine * np.float32(rng.exponential(10))
    frame = np.clip(picture, 0, 255).astype(np.uint8)
    if rng.random() < 0.6:
        _rows(frame, rng)
    return frame


def _rows(frame: Frame, rng: np.random.Generator) -> None:
    """Draw rows of blocks, alternating or alike: kerb stones, bricks, tiles, bars; in place."""
    height, width = frame.shape[:2]
    block = float(width * rng.uniform(0.02, 0.4))
    tall = block * float(rng.uniform(0.15, 0.6))
    shades = rng.uniform(15, 245, (2, 1)) + rng.normal(0, 12, (2, 3))
    slope = float(rng.normal(0, 0.1))
    turn = rng.random() < 0.5
    top = float(rng.uniform(0, height))
    for row in range(int(rng.integers(1, 4)) if turn else 40):
        y = top + row * tall * 1.05
        for column in range(-1, int(width / block) + 2):
            x = (column + 0.5 * (row % 2)) * block
            corners = np.array([[x, y], [x + block * 0.96, y], [x + block * 0.96, y + tall], [x, y + tall]])
            corners[:, 1] += slope * corners[:, 0]
            shade = shades[(column + row) % 2 if turn else 0] + rng.normal(0, 8)
            cv2.fillPoly(frame, [corners.astype(np.int32)], tuple(np.clip(shade, 0, 255).tolist()), cv2.LINE_AA)


def _plate(rng: np.random.Generator, width: float) -> tuple[Frame, Quad, Quad]:
    """A plate about ``width`` px wide: its picture with surroundings, its corners in it and, around (0, 0), in the
    photo."""
    if rng.random() < _FOREIGN:
        picture = foreign_plate(rng)
        h, w = picture.shape[:2]
        corners = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
    else:
        scheme = main_scheme().by_lines[2 if rng.random() < _TWO_LINES else 1]
        kind = scheme.formats[int(rng.integers(len(scheme.formats)))].name if rng.random() < 0.5 else None
        kind, text = texts.sample_text(scheme, rng, kind)
        picture, corners = drawn_plate(scheme, kind, text, width / 3, rng)
    across, down = np.ptp(corners, axis=0)
    quad = placed(corners, width * float(down / across), rng, largest_box=4.0)
    return picture, corners, np.asarray(quad * (width / np.ptp(quad[:, 0])), np.float32)


def _hang(frame: Frame, picture: Frame, corners: Quad, quad: Quad, rng: np.random.Generator) -> None:
    """Draw a plate into a frame, with its surroundings, in a holder or bare, in the frame's light, in place."""
    light = float(np.clip(frame.mean() / 120 + rng.uniform(-0.2, 0.5), 0.2, 1.05))
    picture = np.asarray(np.clip(picture * light, 0, 255), np.uint8)
    around = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32) * picture.shape[1::-1]
    style = rng.random()
    if style < 0.5:
        matrix = cv2.getPerspectiveTransform(corners, quad)
        paste(frame, picture, cv2.perspectiveTransform(around[None].astype(np.float32), matrix)[0])
        return
    (x0, y0), (x1, y1) = corners.min(axis=0).astype(int), corners.max(axis=0).astype(int)
    flat = picture[y0:y1, x0:x1]
    if style < 0.75:
        rim = (quad - quad.mean(axis=0)) * np.float32(rng.uniform(1.02, 1.15)) + quad.mean(axis=0)
        paste(frame, np.full((60, 260, 3), int(rng.uniform(8, 90)), np.uint8), rim, rounded(60, 260, 6))
    paste(frame, flat, quad, rounded(flat.shape[0], flat.shape[1], max(2, round(flat.shape[0] * 0.06))))


def _middle(size: tuple[int, int]) -> Quad:
    """Corners of a plate of a tenth of the width in the middle, by which the camera's faults are scaled."""
    unit = np.array([[-0.5, -0.11], [0.5, -0.11], [0.5, 0.11], [-0.5, 0.11]], np.float32)
    return np.asarray(unit * size[0] * 0.1 + np.array(size) / 2, np.float32)
