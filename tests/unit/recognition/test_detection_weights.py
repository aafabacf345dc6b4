"""The committed detector on rendered scenes, on pictures without a plate and, if available, on real photos."""

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
from plate_nets.recognition.overlap import iou
from plate_nets.types import Frame
from tests.paths import PHOTOS, needs_photos
from training.synthesis.scene import render_scene


@pytest.fixture(scope="module")
def detector(model_repository: Path) -> PlateDetector:
    """As users run it. tests/unit/networks/runtimes/test_detector.py compares it with the committed network."""
    return PlateDetector(load_network(YOLO.name, released(model_repository, YOLO.name), None, threads=1))


@pytest.mark.parametrize("size", [(960, 540), (640, 480), (480, 640)])
def test_plates_of_rendered_scenes_are_found(detector: PlateDetector, size: tuple[int, int]) -> None:
    labelled = hit = 0
    for seed in range(8):
        scene = render_scene(main_scheme(), np.random.default_rng(1000 + seed), size, plates=2)
        truth = np.array([(p.box.xmin, p.box.ymin, p.box.xmax, p.box.ymax) for p in scene.plates], np.float32)
        truth = truth.reshape(-1, 4)
        boxes, scores = detector.detect(scene.frame)
        labelled += len(truth)
        hit += int((iou(truth, boxes).max(axis=1, initial=0.0) >= 0.5).sum())
        assert (np.diff(scores) <= 0).all()
        assert (boxes >= 0).all()
        assert (boxes[:, 2:] <= size).all()
    assert labelled >= 12
    assert hit >= 0.85 * labelled


def plate_free() -> list[Frame]:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (360, 640, 3), np.uint8)
    return [
        np.zeros((480, 640, 3), np.uint8),
        np.full((480, 640, 3), 255, np.uint8),
        noise,
        np.asarray(cv2.GaussianBlur(noise, (0, 0), 5), np.uint8),
        np.ascontiguousarray(np.broadcast_to(np.linspace(0, 255, 640).astype(np.uint8)[None, :, None], (400, 640, 3))),
    ]


def test_no_sign_of_a_street_without_plates_gets_a_text(reader: LocalReader) -> None:
    for seed in range(4):
        street = render_scene(main_scheme(), np.random.default_rng(seed), (640, 400), plates=0).frame
        assert [plate.reading.text for plate in reader.read(street) if plate.reading.text] == []


def test_no_plate_is_found_in_plate_free_pictures(detector: PlateDetector) -> None:
    assert [len(detector.detect(frame)[0]) for frame in plate_free()] == [0] * len(plate_free())


@pytest.mark.slow
@needs_photos
def test_plates_of_real_photos_are_found(detector: PlateDetector) -> None:
    photos = list(load_dataset(PHOTOS).photos())[::4]
    labelled = hit = 0
    for photo, labels in photos:
        truth = np.array([(b.xmin, b.ymin, b.xmax, b.ymax) for b in (label.box for label in labels)], np.float32)
        boxes, _ = detector.detect(read_photo(photo))
        labelled += len(truth)
        hit += int((iou(truth, boxes).max(axis=1, initial=0.0) >= 0.5).sum())
    assert labelled >= 50
    assert hit >= 0.96 * labelled
