"""The second look: which plates get one, what it looks at, and how looks are combined."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from plate_nets.countries import main_scheme
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder, at_height, most_probable
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.pipeline import PlateReader, take_rows
from plate_nets.recognition.quads import line_heights
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.second_look import VARIANTS, looks_at
from plate_nets.recognition.stages import Stages
from plate_nets.types import Boxes, Crops, Frame, Logits, PlateCrops, Reading, Scores, VehicleRows
from tests.spelling import spell

RUSSIA = main_scheme()
DECODER = PlateDecoder(RUSSIA)
FRAME = np.zeros((20, 120, 3), np.uint8)


def undecided(text: str, other: str, share: float = 0.5) -> Logits:
    """Logits (1, C, 18) between two texts."""
    return share * spell(text) + (1 - share) * spell(other)


def test_looks_differ_from_their_crop_and_keep_its_range() -> None:
    crops = np.random.default_rng(0).uniform(-1, 1, (3, 3, 24, 94)).astype(np.float32)
    looks = looks_at(crops[[2, 0]])
    assert looks.shape == (2 * VARIANTS, 3, 24, 94) and looks.dtype == np.float32
    assert (looks[:VARIANTS] != crops[2]).any(axis=(1, 2, 3)).all()
    assert (looks[VARIANTS:] == looks_at(crops[:1])).all(), "in the order of the crops"
    assert np.abs(looks).max() < 2


def test_a_crop_without_contrast_gives_finite_looks() -> None:
    assert np.isfinite(looks_at(np.full((1, 3, 24, 94), 0.3, np.float32))).all()


def together(*looks: Logits) -> Reading:
    """Looks at one plate -> its reading."""
    return DECODER.read_together(DECODER.look(np.concatenate(looks)))


def test_agreeing_looks_are_certain_together() -> None:
    reading = together(*[spell("A123BC77")] * VARIANTS)
    assert reading.text == "A123BC77" and reading.confidence > 0.95


def test_disagreeing_looks_are_not_certain() -> None:
    """Three of five looks say one text and two another. The mean of their logarithms makes neither certain."""
    reading = together(*[spell("A123BC77")] * 3, *[spell("A128BC77")] * 2)
    assert reading.text == ""
    assert reading.confidence < 0.2


def test_the_order_of_the_other_looks_does_not_matter() -> None:
    first, *others = (undecided("A123BC77", "A128BC77", share) for share in (0.45, 0.55, 0.6, 0.52, 0.58))
    one, other = together(first, *others), together(first, *reversed(others))
    assert one.best == other.best == "A123BC77"
    assert one.confidence == pytest.approx(other.confidence)


def test_empty_looks_have_no_text() -> None:
    assert together(*[spell("", peak=10.0)] * VARIANTS) == Reading("", "", 0.0, (), "", "russia")


def test_texts_that_fit_no_format_lower_the_confidence() -> None:
    """Three fifths say that a digit is hidden, so it is no plate. Only one text remains that fits a format."""
    plates = {"A123BC77": 0.4}
    trusting, doubting = most_probable(plates), most_probable(plates, doubt=0.75)
    assert trusting is not None and trusting.confidence == 1
    assert doubting is not None and doubting.confidence == pytest.approx(0.4**0.75)


class Networks:
    """Reads a plate's number from the crop's first value: 1 is sure at once, 2 at the second look.

    ``upright``: the numbers of the upright crops.
    """

    def __init__(self, upright: tuple[int, int]) -> None:
        self.upright = upright
        self.again: list[int] = []

    def detect(
        self, frame: Frame, stages: Stages, vehicles: bool
    ) -> tuple[PlateCrops[Crops], Boxes, Scores, VehicleRows]:
        crops, upright = np.zeros((2, 2, 3, 24, 94), np.float32)
        crops[:, :, 12, 40] = [[1], [2]]
        upright[:, :, 12, 40] = [[number] for number in self.upright]
        boxes = np.array([[0, 0, 47, 12], [60, 0, 107, 12]], np.float32)
        corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]] + 0.1
        cut = PlateCrops(crops, corners, crops[:0], upright)
        return cut, boxes, np.array([0.9, 0.8], np.float32), np.empty((0, 6), np.float32)

    def look_again(self, crops: Crops) -> Crops:
        self.again += crops[:, 0, 12, 40].astype(int).tolist()
        return np.full((VARIANTS * len(crops), 3, 24, 94), 3, np.float32)

    def read(self, crops: Crops) -> Logits:
        answers = {1: spell("A123BC77"), 2: undecided("B126EK78", "B128EK78"), 3: spell("B126EK78"), 4: spell("77")}
        return np.concatenate([answers[int(number)] for number in crops[:, 0, 12, 40]])


def reader_of(networks: Networks) -> PlateReader[Frame, Crops]:
    decoder, readers = SchemeDecoder([RUSSIA]), {"lprnet": networks.read}
    return PlateReader(networks.detect, np.copy, readers, decoder, take_rows, look_again=networks.look_again)


@pytest.mark.parametrize(
    ("upright", "again"),
    [((4, 4), [2]), ((4, 3), [])],
    ids=["its upright crop is not read", "its upright crop is certain"],
)
def test_only_uncertain_readings_get_a_second_look(upright: tuple[int, int], again: list[int]) -> None:
    networks = Networks(upright)
    plates = reader_of(networks).scene(FRAME, ReadOptions(evidence=True)).plates
    assert networks.again == again
    assert [plate.reading.text for plate in plates] == ["A123BC77", "B126EK78"]
    best = np.full((1, 3, 24, 94), 2 if again else 3, np.float32)
    np.testing.assert_array_equal(np.asarray(plates[1].logits), networks.read(best)[0], "evidence is the first look's")


def test_plates_of_a_video_get_no_second_look() -> None:
    networks = Networks((4, 4))
    reader = reader_of(networks)
    plates = reader.read_found(networks.detect(FRAME, nullcontext, False)).plates
    assert networks.again == []
    assert [(plate.reading.text, plate.logits is None) for plate in plates] == [("A123BC77", False), ("", False)]


def test_low_lines_always_get_a_second_look() -> None:
    decoder = SchemeDecoder([RUSSIA])
    readings = [Reading("A123BC77", "A123BC77", confidence) for confidence in (0.99, 0.5, 0.01)]
    assert [decoder.is_unsure(reading, 20) for reading in readings] == [False, True, False]
    assert [decoder.is_unsure(reading, 10) for reading in readings] == [True, True, False]


def test_a_line_below_the_minimum_height_is_less_certain() -> None:
    settings = DecodingSettings()
    reading = Reading("A123BC77", "A123BC77", 0.88, (0.88,) * 8, "private", "russia")
    assert at_height(reading, settings.least_height, settings) is reading
    lower = at_height(reading, settings.least_height - 1, settings)
    assert lower.confidence == pytest.approx(0.88**2) and lower.characters == pytest.approx((0.88**2,) * 8)
    assert (lower.text, lower.format, lower.best) == ("", "", "A123BC77")
    assert at_height(replace(reading, confidence=0.99), settings.least_height - 1, settings).text == "A123BC77"


def test_a_plate_of_two_lines_has_lines_of_half_its_height() -> None:
    quads = np.array([[[0, 0], [46, 0], [46, 10], [0, 10]], [[0, 0], [29, 0], [29, 18], [0, 18]]], np.float32)
    assert line_heights(quads, np.array([1, 2])).tolist() == [10, 9]
    assert line_heights(np.full((1, 4, 2), np.inf, np.float32), np.array([1])).tolist() == [0]
