"""Draws training pictures, with a list of the objects in them.

Three kinds: full-HD streets with traffic and plates of 4 to 40 px, coded as by a camera; streets without a plate; and
plates of every size and look-alikes, without a car (`training.detector.drawn`).
"""

from pathlib import Path

import numpy as np

from plate_nets.countries import main_scheme
from plate_nets.evaluation.coding import code_h264, code_jpeg
from plate_nets.recognition.geometry import clip
from plate_nets.recognition.overlap import inside
from plate_nets.types import Boxes, Frame
from training.detector.drawn import draw_any_picture
from training.detector.objects import PLATE, Objects, kept
from training.picture_file import save_picture
from training.synthesis.scene import Scene, render_scene

FULL_HD = (1920, 1080)
_CAR = "car"
_MOST, _REACH = 12, 45.0
"""Maximum number of cars in a street, and distance of the farthest, m."""
_HIDDEN = 0.5
"""Hidden share of a car from which on it is doubtful whether it is visible."""
_DOUBTED = 0.3
"""The score of such a car."""


def traffic(rng: np.random.Generator) -> tuple[Frame, Objects]:
    """A generator -> a full-HD street with cars far and near, coded, with its plates and cars."""
    count = 0 if rng.random() < 0.15 else int(rng.integers(2, _MOST + 1))
    scene = render_scene(main_scheme(), rng, FULL_HD, count, foreign=1 / 3, reach=_REACH)
    return coded(scene.frame, rng), objects_of(scene)


def objects_of(scene: Scene) -> Objects:
    """A street -> its plates and cars; a car that is largely hidden has a low score."""
    hw = (scene.frame.shape[0], scene.frame.shape[1])
    edges = [p.car.sides for p in scene.plates]
    cars: Boxes = clip(np.array(edges, np.float32).reshape(-1, 4), hw)
    behind = np.triu(inside(cars, cars), 1).max(axis=1, initial=0)  # the nearest is the last
    scores = np.where(behind > _HIDDEN, _DOUBTED, 1.0).tolist()
    return Objects.of((PLATE, box, 1.0) for box in scene.boxes.tolist()) + Objects.of(
        (_CAR, box, score) for box, score in zip(cars.tolist(), scores, strict=True)
    )


def coded(frame: Frame, rng: np.random.Generator) -> Frame:
    """A frame as delivered by a camera: JPEG or H.264, good or coarse."""
    if rng.random() < 0.5:
        return code_jpeg(frame, int(rng.integers(35, 96)))
    return code_h264([frame], crf=int(rng.integers(20, 36)))[-1]


def alone(rng: np.random.Generator) -> tuple[Frame, Objects]:
    """A generator -> a picture without a car, and its plates."""
    frame, plates = draw_any_picture(rng, 960)
    return frame, Objects.of((PLATE, box, 1.0) for box in plates.tolist())


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
