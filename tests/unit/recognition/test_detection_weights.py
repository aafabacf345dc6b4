"""The committed detector on rendered scenes, on pictures without a plate and, if available, on real photos."""

from collections.abc import Iterable
from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.contract import YOLO
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.networks.runtimes.networks import load_network, released
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.types import Box, Boxes, Frame
from tests.paths import PHOTOS, needs_photos
from training.synthesis.scene import render_scene

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def detector(model_repository: Path) -> PlateDetector:
    """As users run it. tests/unit/networks/runtimes/test_detector.py compares it with the committed network."""
    return PlateDetector(load_network(YOLO.name, released(model_repository, YOLO.name), None, threads=1))


def are_found(true: Iterable[Box], boxes: Boxes) -> list[bool]:
    """Of each true box, whether it is among those found."""
    found: list[bool] = (iou(stacked(true), boxes).max(axis=1, initial=0.0) >= 0.5).tolist()
    return found


@pytest.mark.parametrize("size", [(960, 540), (640, 480), (480, 640)])
def test_plates_of_rendered_scenes_are_found(detector: PlateDetector, size: tuple[int, int]) -> None:
    hit: list[bool] = []
    for seed in range(8):
        scene = render_scene(main_scheme(), np.random.default_rng(1000 + seed), size, plates=2)
        boxes, scores = detector.detect(scene.frame)
        hit += are_found((plate.box for plate in scene.plates), boxes)
        assert (np.diff(scores) <= 0).all()
        assert (boxes >= 0).all()
        assert (boxes[:, 2:] <= size).all()
    assert len(hit) >= 12
    assert sum(hit) >= 0.85 * len(hit)


def test_no_sign_of_a_street_without_plates_gets_a_text(reader: LocalReader) -> None:
    for seed in range(4):
        street = render_scene(main_scheme(), np.random.default_rng(seed), (640, 400), plates=0).frame
        assert [plate.reading.text for plate in reader.read(street) if plate.reading.text] == []


NOISE = np.random.default_rng(0).integers(0, 256, (360, 640, 3), np.uint8)
RAMP = np.broadcast_to(np.linspace(0, 255, 640).astype(np.uint8)[None, :, None], (400, 640, 3))
PLATE_FREE = {
    "black": np.zeros((480, 640, 3), np.uint8),
    "white": np.full((480, 640, 3), 255, np.uint8),
    "noise": NOISE,
    "blurred noise": cv2.GaussianBlur(NOISE, (0, 0), 5),
    "ramp": np.ascontiguousarray(RAMP),
}


@pytest.mark.parametrize("frame", PLATE_FREE.values(), ids=PLATE_FREE)
def test_no_plate_is_found_in_plate_free_pictures(detector: PlateDetector, frame: Frame) -> None:
    assert len(detector.detect(frame)[0]) == 0


@needs_photos
def test_plates_of_real_photos_are_found(detector: PlateDetector) -> None:
    hit: list[bool] = []
    for photo, labels in list(load_dataset(PHOTOS).photos())[::4]:
        hit += are_found((label.box for label in labels), detector.detect(read_photo(photo))[0])
    assert len(hit) >= 50
    assert sum(hit) >= 0.96 * len(hit)
