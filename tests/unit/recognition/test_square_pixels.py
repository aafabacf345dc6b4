"""Photos whose pixels are not square are read as well as others if their shape is told."""

import cv2
import numpy as np
import pytest

from plate_nets.countries import main_scheme
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import VehicleReader
from plate_nets.recognition.square_pixels import AspectReader, Stretch, parse_aspect
from plate_nets.types import Box, Frame, Plate, Reading, Scene, Vehicle
from tests.frames import Placed, compose, encode
from training.synthesis.texts import sample_text

SIZE = (720, 1280)
WIDTHS = (72, 80, 90, 100)


def photo(number: int) -> list[Placed]:
    """Ten plates."""
    rng = np.random.default_rng(number)
    scheme = main_scheme()
    return [
        Placed(
            sample_text(scheme, rng, scheme.formats[0].name)[1],
            40 + 240 * (place % 5),
            150 + 300 * (place // 5),
            int(rng.choice(WIDTHS)),
        )
        for place in range(10)
    ]


def lower(frame: Frame) -> Frame:
    """A frame at half height."""
    h, w = frame.shape[:2]
    return np.asarray(cv2.resize(frame, (w, h // 2), interpolation=cv2.INTER_AREA), np.uint8)


def right(reader: VehicleReader, number: int) -> int:
    placed = photo(number)
    plates: list[Plate] = reader.read(encode(lower(compose(*SIZE, placed, seed=number))))
    by_text = {plate.reading.text: plate.box for plate in plates}
    for each in placed:
        if box := by_text.get(each.text):
            (x, y), (true_x, true_y) = box.centre, each.box.centre
            assert x == pytest.approx(true_x, abs=6)
            assert y == pytest.approx(true_y / 2, abs=4)
    return sum(each.text in by_text for each in placed)


def test_photos_at_half_height_are_read_if_their_shape_is_told(reader: LocalReader) -> None:
    told = AspectReader(reader, parse_aspect("16:9"))
    assert right(reader, 0) <= 5
    assert sum(right(told, number) for number in range(10)) >= 94


def test_all_places_are_in_the_pixels_of_the_picture() -> None:
    stretch = Stretch.of_aspect((360, 1280), parse_aspect("16:9"))
    assert stretch.square == (720, 1280)
    car = Vehicle(Box(10, 20, 30, 40), "car", 0.9)
    plate = Plate(Box(1, 2, 3, 4), 0.9, Reading("", "", 0), corners=(1, 2, 3, 2, 3, 4, 1, 4), vehicle=car)
    found = stretch.to_own(Scene([plate], (car,)))
    assert found.plates[0].box == Box(1, 1, 3, 2) and list(found.plates[0].corners) == [1, 1, 3, 1, 3, 2, 1, 2]
    assert found.plates[0].vehicle == found.vehicles[0] == Vehicle(Box(10, 10, 30, 20), "car", 0.9)
    assert stretch.to_square(found) == Scene([plate], (car,))
