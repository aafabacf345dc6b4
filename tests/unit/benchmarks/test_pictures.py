"""The pictures of a benchmark: the served detector finds exactly as many plates as they declare."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from benchmarks.callers.pictures import FULL_HD, HD, MOST_PLATES, drawn_picture, folder_pictures
from plate_nets.common.errors import InputError
from plate_nets.contract import YOLO
from plate_nets.networks.runtimes.networks import load_network, released
from plate_nets.recognition.detection import PlateDetector


@pytest.fixture(scope="module")
def detector(model_repository: Path) -> PlateDetector:
    return PlateDetector(load_network(YOLO.name, released(model_repository, YOLO.name), None, threads=1))


@pytest.mark.parametrize("hw", [HD, FULL_HD])
@pytest.mark.parametrize("plates", [0, 1, 4, 16, MOST_PLATES])
def test_the_detector_finds_as_many_plates_as_promised(
    detector: PlateDetector, plates: int, hw: tuple[int, int]
) -> None:
    picture = drawn_picture(plates, hw)
    assert picture.frame.shape == (*hw, 3)
    assert len(detector.detect(picture.frame)[0]) == plates == picture.plates


def test_raw_and_encoded_are_the_same_picture() -> None:
    picture = drawn_picture(1)
    decoded = cv2.imdecode(np.frombuffer(picture.encoded, np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(decoded, picture.frame)


@pytest.mark.parametrize("plates", [-1, MOST_PLATES + 1])
def test_a_number_out_of_range_is_refused(plates: int) -> None:
    with pytest.raises(InputError, match=f"expected 0 to {MOST_PLATES}"):
        drawn_picture(plates)


def test_pictures_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no picture"):
        folder_pictures(tmp_path)
    (tmp_path / "b.jpg").write_bytes(drawn_picture(1).encoded)
    (tmp_path / "notes.txt").touch()
    (found,) = folder_pictures(tmp_path)
    assert (found.name, found.frame.shape, found.plates) == ("b.jpg", (*HD, 3), None)
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"a\.png: cannot be opened"):
        folder_pictures(tmp_path)
