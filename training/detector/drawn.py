"""Draws training pictures, with the objects in them.

Three kinds: full-HD streets with traffic and plates of 4 to 40 px, coded as by a camera; streets without a plate; and
pictures without a car: plates of every kind, from distant to filling the picture, with look-alikes.
"""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import load_scheme, main_scheme
from plate_nets.recognition.geometry import clip
from plate_nets.recognition.overlap import inside
from plate_nets.recognition.quads import Quad
from plate_nets.recognition.rectification import box_quads, quad_boxes
from plate_nets.types import Boxes, Frame
from training.detector.objects import PLATE, Objects, kept
from training.detector.signs import draw_sign, put_sign, stamp_time, with_signs
from training.picture_file import save_picture
from training.synthesis import drawn_plate, placed, texts
from training.synthesis.camera import soften, spoil
from training.synthesis.drawing import Pinhole, paste, rounded
from training.synthesis.scene import FOREIGN, Scene, render_scene
from training.synthesis.street import draw_street, sample_weather

FULL_HD = (1920, 1080)
_MOST, _REACH = 12, 45.0
"""Maximum number of cars in a street, and distance of the farthest, m."""
_HIDDEN, _DOUBTED = 0.5, 0.3
"""Hidden share of a car from which on it is doubtful whether it is visible, and the score of such a car."""
_LONG_SIDE = 960
"""Of a picture without a car, px."""
NARROWEST, WIDEST = 0.03, 0.95
"""Widths of a plate, as shares of the picture's; the smallest is 15 px in full HD."""
CLOSE = 0.35
"""Share of the pictures with a close-up of a plate: 0.3 of the width and more."""
AT_EDGE = 0.25
"""Share of the plates that touch an edge or a corner of the picture."""
PLAIN = 0.15
"""Share of the pictures with a ground of one colour."""
_EDGES = [(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0) if (x, y) != (0.5, 0.5)]
_ABROAD, _TWO_LINES = 0.15, 0.45
_SEVERITY = 0.6


def draw(folder: Path, streets: int, others: int, seed: int) -> dict[str, Objects]:
    """Draw the training pictures of a folder, each a function of (seed, number) -> their objects, by file name."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    draws = {f"street_{number:04d}.jpg": (traffic, (seed, 0, number)) for number in range(streets)}
    draws |= {f"alone_{number:04d}.jpg": (alone, (seed, 1, number)) for number in range(others)}

    def drawn(name: str) -> Objects:
        make, seeds = draws[name]
        frame, objects = make(np.random.default_rng(seeds))
        save_picture(images / name, frame)
        return objects

    return kept(folder / "objects.json", list(draws), drawn)


def traffic(rng: np.random.Generator) -> tuple[Frame, Objects]:
    """A generator -> a full-HD street with cars far and near, coded, with its plates and cars."""
    count = 0 if rng.random() < 0.15 else int(rng.integers(2, _MOST + 1))
    scene = render_scene(main_scheme(), rng, FULL_HD, count, foreign=1 / 3, reach=_REACH)
    return soften(scene.frame, rng), objects_of(scene)


def objects_of(scene: Scene) -> Objects:
    """A street -> its plates and cars; a car that is largely hidden has a low score."""
    hw = (scene.frame.shape[0], scene.frame.shape[1])
    cars: Boxes = clip(np.array([p.car.sides for p in scene.plates], np.float32).reshape(-1, 4), hw)
    behind = np.triu(inside(cars, cars), 1).max(axis=1, initial=0)  # the nearest is the last
    scores = np.where(behind > _HIDDEN, _DOUBTED, 1.0).tolist()
    plates = [(PLATE, box, 1.0) for box in scene.boxes.tolist()]
    return Objects.of([*plates, *(("car", box, score) for box, score in zip(cars.tolist(), scores, strict=True))])


def alone(rng: np.random.Generator) -> tuple[Frame, Objects]:
    """A generator -> a picture without a car, one in five upright, two in five without a plate, and its plates."""
    plates = 0 if rng.random() < 0.4 else int(rng.integers(1, 5))
    narrow = round(_LONG_SIDE * rng.uniform(0.55, 1.0))
    size = (narrow, _LONG_SIDE) if rng.random() < 0.2 else (_LONG_SIDE, narrow)
    frame, boxes = draw_picture(rng, size, plates)
    return frame, Objects.of((PLATE, box, 1.0) for box in boxes.tolist())


def draw_picture(rng: np.random.Generator, size: tuple[int, int], plates: int) -> tuple[Frame, Boxes]:
    """A generator -> a picture of ``size`` (w, h) px and the boxes (N, 4) xyxy of the plates in it, N <= ``plates``.

    A plate that finds no room is not drawn.
    """
    frame = ground(rng, size)
    boxes: Boxes = np.empty((0, 4), np.float32)
    near = plates > 0 and rng.random() < CLOSE
    for number in range(1 if near else plates):
        share = rng.uniform(0.3, WIDEST) if near else NARROWEST * (0.3 / NARROWEST) ** rng.random()
        picture, corners, quad = _plate(rng, float(share * size[0]))
        margin = np.ptp(quad, axis=0) * (0.02 if number == 0 else 0.2)
        room = np.array(size) - np.ptp(quad, axis=0)
        if (room <= 2).any():
            continue
        place = _EDGES[int(rng.integers(len(_EDGES)))] if rng.random() < AT_EDGE else rng.random(2)
        quad = (quad - quad.min(axis=0) + place * room).astype(np.float32)
        low, high = quad.min(axis=0) - margin, quad.max(axis=0) + margin
        if ((boxes[:, :2] < high) & (boxes[:, 2:] > low)).all(axis=1).any():
            continue
        _hang(frame, picture, corners, quad, rng)
        boxes = np.concatenate((boxes, quad_boxes(quad[None])))
    if rng.random() < 0.8:
        frame = with_signs(rng, frame, boxes, max_signs=4)
    if not len(boxes) and rng.random() < 0.5:  # close-up lettering, as on a poster or the side of a lorry
        put_sign(rng, frame, boxes, draw_sign(rng), int(size[0] * rng.uniform(0.3, 0.95)))
    if rng.random() < 0.25:
        stamp_time(rng, frame)
    return spoilt(frame, boxes, rng, _SEVERITY), boxes


def spoilt(frame: Frame, boxes: Boxes, rng: np.random.Generator, severity: float) -> Frame:
    """A frame with plates (N, 4) as a camera shows it, so that the lowest plate can still be recognised."""
    height, width = frame.shape[:2]
    middle = np.array([[0.45 * width, 0.5 * height, 0.55 * width, 0.5 * height + 0.022 * width]], np.float32)
    lowest = boxes[[(boxes[:, 3] - boxes[:, 1]).argmin()]] if len(boxes) else middle
    return spoil(frame, box_quads(lowest)[0], rng, severity)


def ground(rng: np.random.Generator, size: tuple[int, int]) -> Frame:
    """A wall, paint, gravel or a part of a street, without a plate."""
    if rng.random() < PLAIN:
        plain = rng.uniform(20, 235, 3 if rng.random() < 0.5 else 1) + rng.normal(0, 4, (size[1], size[0], 3))
        return np.clip(plain, 0, 255).astype(np.uint8)
    if rng.random() < 0.45:
        zoom = float(rng.uniform(1, 3))
        full = (round(size[0] * zoom), round(size[1] * zoom))
        street = np.zeros((full[1], full[0], 3), np.uint8)
        horizon = float(full[1] * rng.uniform(0.3, 0.5))
        camera = Pinhole(full[0] * float(rng.uniform(0.9, 1.5)), full[0] / 2, horizon, float(rng.uniform(1, 2.1)))
        draw_street(street, camera, sample_weather(rng), rng)
        left, top = (int(rng.integers(0, more - part + 1)) for more, part in zip(full, size, strict=True))
        return np.ascontiguousarray(street[top : top + size[1], left : left + size[0]])
    picture = np.full((size[1], size[0], 3), rng.uniform(20, 235, 3 if rng.random() < 0.3 else 1), np.float32)
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
    slope, top, turn = float(rng.normal(0, 0.1)), float(rng.uniform(0, height)), rng.random() < 0.5
    for row in range(int(rng.integers(1, 4)) if turn else 40):
        for column in range(-1, int(width / block) + 2):
            x, y = (column + 0.5 * (row % 2)) * block, top + row * tall * 1.05
            corners = np.array([[x, y], [x + block * 0.96, y], [x + block * 0.96, y + tall], [x, y + tall]])
            corners[:, 1] += slope * corners[:, 0]
            shade = shades[(column + row) % 2 if turn else 0] + rng.normal(0, 8)
            cv2.fillPoly(frame, [corners.astype(np.int32)], tuple(np.clip(shade, 0, 255).tolist()), cv2.LINE_AA)


def _plate(rng: np.random.Generator, width: float) -> tuple[Frame, Quad, Quad]:
    """A plate about ``width`` px wide: its picture with surroundings, its corners in it and, around (0, 0), in the
    photo."""
    if rng.random() < _ABROAD:
        scheme = load_scheme(FOREIGN).by_lines[1]
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
    style = rng.random()
    if style < 0.5:
        around: NDArray[np.float32] = box_quads(np.array([[0, 0, *picture.shape[1::-1]]], np.float32))
        matrix = cv2.getPerspectiveTransform(corners, quad)
        paste(frame, picture, np.asarray(cv2.perspectiveTransform(around, matrix)[0], np.float32))
        return
    (x0, y0), (x1, y1) = corners.min(axis=0).astype(int), corners.max(axis=0).astype(int)
    flat = picture[y0:y1, x0:x1]
    if style < 0.75:
        rim = (quad - quad.mean(axis=0)) * np.float32(rng.uniform(1.02, 1.15)) + quad.mean(axis=0)
        paste(frame, np.full((60, 260, 3), int(rng.uniform(8, 90)), np.uint8), rim, rounded(60, 260, 6))
    paste(frame, flat, quad, rounded(flat.shape[0], flat.shape[1], max(2, round(flat.shape[0] * 0.06))))
