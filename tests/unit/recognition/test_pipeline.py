"""`PlateReader`: the order of steps, the early stop, chunks, rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from plate_nets.common.errors import ContractError
from plate_nets.contract import COUNTRY, CROP_DIMS
from plate_nets.countries import PlateScheme, load_scheme, load_schemes, main_scheme
from plate_nets.countries.designs import DESIGNS, GROUNDS, UNKNOWN
from plate_nets.recognition.appearance import Appearance
from plate_nets.recognition.decoding import DOUBTED
from plate_nets.recognition.geometry import clip
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.pipeline import CHUNK, PlateReader, join, take_rows
from plate_nets.recognition.quads import cut_at_one_end
from plate_nets.recognition.rectification import box_quads, quad_boxes
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.stages import Stages
from plate_nets.types import STEPS, Box, Crops, Frame, Lines, Logits, PlateCrops, Reading, Vehicle, VehicleRows

FRAME = np.zeros((4, 4, 3), np.uint8)
NO_VEHICLES = np.empty((0, 6), np.float32)
Found = tuple[PlateCrops[Crops], np.ndarray, np.ndarray, VehicleRows]


class NumberDecoder(SchemeDecoder):
    """Reads a row's first number, and records the lines of each call."""

    def __init__(self) -> None:
        super().__init__([main_scheme()])
        self.lines: list[list[int]] = []

    def candidates(
        self,
        name: str,
        logits: Logits,
        lines: Lines | None = None,
        schemes: Sequence[PlateScheme] = (),
        appearances: Sequence[Appearance] | None = None,
    ) -> list[list[Reading]]:
        self.lines += [] if lines is None else [lines.tolist()]
        return [[Reading(str(int(row[0, 0])), str(int(row[0, 0])), 0.5)] for row in logits]


class Chain:
    """Three steps over `count` crops, each filled with its row's number. It records the sizes of its calls."""

    def __init__(self, count: int, scores: list[float] | None = None) -> None:
        self.count = count
        self.scores = scores
        self.rectified: list[int] = []
        self.read: list[int] = []

    def reader(self, **changes: Any) -> PlateReader[Frame, Crops]:
        """A reader of these steps, some of them changed."""
        steps = {"detect": self.detect, "rectify": self.rectify, "readers": {"lprnet": self.recognise}}
        return PlateReader(**{**steps, "decoder": NumberDecoder(), "take": take_rows, **changes})

    def detect(self, frame: Frame, stages: Stages, vehicles: bool) -> Found:
        numbers = np.arange(self.count, dtype=np.float32)
        crops = np.broadcast_to(numbers[:, None, None, None], (self.count, *CROP_DIMS))
        scores = self.scores if self.scores is not None else np.linspace(1, 0.5, self.count)
        boxes = numbers[:, None] + np.array([0, 0, 94, 24], np.float32)
        corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]] + np.array([0.1] + [0] * 7, np.float32)
        crops = crops.astype(np.float32)
        return PlateCrops(crops, corners, crops[:0], crops), boxes, np.asarray(scores, np.float32), NO_VEHICLES

    def rectify(self, crops: Crops) -> Crops:
        self.rectified.append(len(crops))
        return crops + 1

    def recognise(self, crops: Crops) -> Logits:
        self.read.append(len(crops))
        return np.broadcast_to(crops[:, :1, :1, 0], (len(crops), 23, 18))


def blank(count: int) -> Crops:
    return np.zeros((count, *CROP_DIMS), np.float32)


def finding(corners: np.ndarray, as_one: Crops, upright: Crops) -> Callable[[Frame, Stages, bool], Found]:
    """A detector of plates with these corners, blank crops along them, and these other crops."""
    cut = PlateCrops(blank(len(corners)), corners, as_one, upright)
    found = cut, corners[:, [0, 1, 4, 5]] + 0.1, np.ones(len(corners), np.float32), NO_VEHICLES
    return lambda frame, stages, vehicles: found


def corners_of(*sizes: tuple[int, int]) -> np.ndarray:
    """The corners (N, 8) of upright plates with these widths and heights."""
    return box_quads(np.array([(0, 0, *size) for size in sizes], np.float32)).reshape(-1, 8)


def test_the_decoder_gets_the_lines_from_the_corners() -> None:
    decoder = NumberDecoder()
    detect = finding(corners_of((52, 11), (29, 17)), blank(1), blank(2))
    Chain(2).reader(detect=detect, decoder=decoder).scene(FRAME)
    assert decoder.lines[0] == [1, 2]


def spelling(alphabet: str, texts: Sequence[str], crops: Crops) -> Logits:
    """Crops filled with the number of their text -> logits of these texts."""
    logits = np.zeros((len(crops), len(alphabet) + 1, STEPS), np.float32)
    for row, number in zip(logits, crops[:, 0, 0, 0], strict=True):
        path = [step for symbol in texts[int(number)] for step in (alphabet.index(symbol), len(alphabet))]
        row[path + [len(alphabet)] * (STEPS - len(path)), np.arange(STEPS)] = 12
    return logits


SHORT = corners_of((40, 20))
"""Corners of a plate twice as wide as high: two lines in Russia, one in the USA."""


@pytest.mark.parametrize(
    ("schemes", "as_two", "as_one", "text", "country"),
    [
        ("united_states", "ABC1235", "ABC1234", "ABC1234", "united_states"),
        ("united_states,brazil", "X", "ABC1234", "ABC1234", "united_states"),
        ("united_states,brazil", "ABC1D23", "X", "ABC1D23", "brazil"),
        ("brazil", "ABC1D23", "ABC1234", "ABC1D23", "brazil"),
    ],
    ids=["one line alone", "one line", "two lines", "two lines alone"],
)
def test_the_requested_countries_decide_whether_a_short_plate_has_one_line(
    schemes: str, as_two: str, as_one: str, text: str, country: str
) -> None:
    asked = load_schemes(schemes)
    alphabet, spelt = asked[0].alphabet, (as_two, as_one)
    spell = partial(spelling, alphabet, spelt)
    detect, readers = finding(SHORT, blank(1) + 1, blank(1)), {"lprnet_latin": spell}
    reader = Chain(1).reader(detect=detect, rectify=np.copy, readers=readers, decoder=SchemeDecoder(asked))
    (plate,) = reader.scene(FRAME, ReadOptions(evidence=True)).plates
    assert (plate.reading.text, plate.reading.scheme) == (text, country) and plate.reading.format
    np.testing.assert_array_equal(np.asarray(plate.logits), spell(blank(1) + spelt.index(text))[0])


def test_short_plates_among_many_keep_their_own_crop_of_one_line() -> None:
    count, short = 2 * CHUNK + 9, slice(0, None, 2)
    corners = corners_of(*[(94, 20)] * count)
    corners[short] = SHORT
    texts = ["X", *(f"ABC{number:04}" for number in range(count))]
    crops, as_one = blank(count), blank(len(corners[short]))
    crops[1::2] = np.arange(2, count + 1, 2)[:, None, None, None]
    as_one += np.arange(1, count + 1, 2)[:, None, None, None]
    found = PlateCrops(crops, corners, as_one, blank(count))
    asked = load_schemes("united_states")
    spell = partial(spelling, asked[0].alphabet, texts)
    reader = Chain(count).reader(rectify=np.copy, readers={"lprnet_latin": spell}, decoder=SchemeDecoder(asked))
    assert [reading.text for reading in reader.read_crops(found)] == texts[1:]


@pytest.mark.parametrize(
    ("along_corners", "upright", "text"),
    [("A1", "A123BC77", "A123BC77"), ("A123BC77", "B126EK78", "A123BC77"), ("A1", "77", "")],
    ids=["corners leave out a part", "read along its corners", "not read at all"],
)
def test_a_plate_without_a_text_is_also_read_from_its_upright_crop(along_corners: str, upright: str, text: str) -> None:
    russia = main_scheme()
    spell = partial(spelling, russia.alphabet, (along_corners, upright))
    detect = finding(corners_of((94, 20)), blank(0), blank(1) + 1)
    reader = Chain(1).reader(detect=detect, rectify=np.copy, readers={"lprnet": spell}, decoder=SchemeDecoder([russia]))
    (plate,) = reader.scene(FRAME).plates
    assert plate.reading.text == text


def test_russias_plates_of_two_lines_are_not_read_as_one_line() -> None:
    chain = Chain(1)
    chain.reader().read_crops(PlateCrops(blank(1), SHORT, blank(1), blank(1)))
    assert chain.read == [1]


def test_the_appearance_is_computed_for_several_schemes_or_on_request() -> None:
    asked: list[int] = []

    def look_at(crops: Crops) -> Logits:
        asked.append(len(crops))
        logits = np.zeros((len(crops), *COUNTRY.outputs[0].dims), np.float32)
        logits[:, len(DESIGNS) + GROUNDS.index("black")] = 9
        return logits

    one = Chain(CHUNK + 1).reader(country=look_at)
    readings = [plate.reading for plate in one.scene(FRAME).plates]
    assert asked == [] and {reading.country + reading.ground for reading in readings} == {""}
    plates = one.scene(FRAME, ReadOptions(appearance=True)).plates
    assert asked == [CHUNK, 1] and {(plate.country, plate.ground) for plate in plates} == {(UNKNOWN, "black")}
    assert plates[0].ground_confidence > 0.99 and plates[0].country_confidence == 0
    silent = np.zeros((1, load_scheme("latin").classes, STEPS), np.float32)
    readers = {"lprnet": lambda crops: np.zeros((len(crops), 23, STEPS), np.float32), "lprnet_latin": lambda _: silent}
    decoder = SchemeDecoder(load_schemes("russia,turkey"))
    several = Chain(1).reader(readers=readers, decoder=decoder, country=look_at)
    asked.clear()
    assert [plate.ground for plate in several.scene(FRAME).plates] == ["black"] and asked == [1], "it is unread"
    plates = several.scene(FRAME, ReadOptions(schemes="turkey")).plates
    assert [plate.ground for plate in plates] == [""] and asked == [1]


def test_a_reader_is_only_asked_about_plates_that_may_be_of_its_countries() -> None:
    asked: dict[str, list[float]] = {"russia": [], "turkey": []}
    texts = ("A123BC77", "34ABC123", "A124BC77", "A125BC77", "34ABC124")
    # Russia, Turkey, either, neither more than all others, and Turkey so likely that no Russian text could win
    likely = np.array([[9, 0], [0, 9], [9, 9], [0, 0], [5, 9]])

    def look_at(crops: Crops) -> Logits:
        logits = np.zeros((len(crops), *COUNTRY.outputs[0].dims), np.float32)
        logits[:, [DESIGNS.index("ru"), DESIGNS.index("tr")]] = likely[crops[:, 0, 0, 0].astype(int)]
        return logits

    def ask(scheme: PlateScheme, crops: Crops) -> Logits:
        asked[scheme.name] += crops[:, 0, 0, 0].tolist()
        return spelling(scheme.alphabet, texts, crops)

    russia, turkey = load_schemes("russia,turkey")
    readers = {"lprnet": partial(ask, russia), "lprnet_latin": partial(ask, turkey)}
    decoder = SchemeDecoder([russia, turkey])
    reader = Chain(len(texts)).reader(rectify=np.copy, readers=readers, decoder=decoder, country=look_at)
    plates = reader.scene(FRAME, ReadOptions(evidence=True)).plates
    assert tuple(plate.reading.text for plate in plates) == texts
    first = {name: sorted(set(numbers)) for name, numbers in asked.items()}
    assert first == {"russia": [0, 2, 3], "turkey": [1, 2, 3, 4]}
    assert all(plate.logits is not None and plate.logits.max() == 12 for plate in plates), "those of the reader asked"


def test_vehicles_are_returned_if_requested() -> None:
    chain, asked = Chain(1), list[bool]()

    def detect(frame: Frame, stages: Stages, vehicles: bool) -> Found:
        asked.append(vehicles)
        rows = np.array([[-100, -200, 200, 40, 0.75, 2]] if vehicles else NO_VEHICLES, np.float32)
        return *chain.detect(frame, stages, vehicles)[:3], rows

    reader = chain.reader(detect=detect)
    (plate,) = reader.scene(FRAME).plates
    scene = reader.scene(FRAME, ReadOptions(vehicles=True))
    assert asked == [False, True] and plate.vehicle is None
    assert scene.vehicles == (Vehicle(Box(-100, -200, 200, 40), "bus", 0.75),)
    assert [each.vehicle for each in scene.plates] == [scene.vehicles[0]]
    chain.count = 0
    assert reader.scene(FRAME, ReadOptions(vehicles=True)).vehicles == scene.vehicles, "and where there is no plate"


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, []), (1, [1]), (CHUNK, [CHUNK]), (CHUNK + 1, [CHUNK, 1]), (200, [CHUNK] * 6 + [8])]
)
def test_many_plates_go_in_chunks(count: int, sizes: list[int]) -> None:
    chain = Chain(count)
    plates = chain.reader().scene(FRAME).plates
    assert chain.rectified == chain.read == sizes
    assert [plate.reading.text for plate in plates] == [str(number + 1) for number in range(count)]


def test_rows_come_highest_score_first() -> None:
    plates = Chain(3, [0.2, 0.9, 0.5]).reader().scene(FRAME).plates
    assert [plate.reading.text for plate in plates] == ["2", "3", "1"]
    assert [plate.score for plate in plates] == pytest.approx([0.9, 0.5, 0.2])
    assert [plate.corners[3] for plate in plates] == [1, 2, 0]
    assert [plate.box for plate in plates] == [Box(n, n, 94 + n, 24 + n) for n in (1, 2, 0)]


def test_logits_stay_with_their_plates() -> None:
    reader = Chain(CHUNK + 3, [score / 100 for score in range(CHUNK + 3)]).reader()
    plates = reader.scene(FRAME, ReadOptions(evidence=True)).plates
    assert [int(np.asarray(plate.logits)[0, 0]) for plate in plates] == list(range(CHUNK + 3, 0, -1))


def test_logits_that_are_not_as_many_as_crops_are_refused() -> None:
    with pytest.raises(ContractError, match="lprnet: expected the logits of 3 crops, got 2"):
        Chain(3).reader(rectify=lambda crops: crops[:2]).scene(FRAME)


UPRIGHT = box_quads(np.array([[10, 20, 114, 44]], np.float32))
"""Corners of a plate of 104 x 24 px."""


@pytest.mark.parametrize(
    ("shift", "trusted"),
    [((0.0, 0.0), True), ((-15.0, 0.0), True), ((-17.0, 0.0), False), ((30.0, 0.0), False), ((0.0, 30.0), False)],
    ids=["inside", "at the border", "cut on the left", "cut on the right", "cut below"],
)
def test_a_plate_that_the_border_cuts_has_no_text(shift: tuple[float, float], trusted: bool) -> None:
    quads = (UPRIGHT + np.array(shift, np.float32)) + np.array([[0, 1], [0, 0], [0, 0], [0, 0]], np.float32)
    boxes = clip(quad_boxes(quads), (50, 130))
    reading = Reading("A123BC77", "A123BC77", 0.99, (), "private", "russia")
    (plate,) = join(boxes, np.ones(1, np.float32), quads.reshape(-1, 8), [reading])
    expected = reading if trusted else Reading("", "A123BC77", DOUBTED, (), "", "russia")
    assert plate.reading == expected


@pytest.mark.parametrize(
    ("shift", "width", "is_cut"),
    [(0, 130, False), (-10, 130, False), (-11, 130, True), (16, 130, False), (17, 130, True), (-14, 92, False)],
    ids=["inside", "at the left", "cut on the left", "at the right", "cut on the right", "close crop"],
)
def test_a_plate_is_cut_at_one_end(shift: float, width: int, is_cut: bool) -> None:
    assert cut_at_one_end(UPRIGHT + np.array([shift, 0], np.float32), width).tolist() == [is_cut]
    assert cut_at_one_end(UPRIGHT[:0], width).shape == (0,)


def test_a_plate_whose_corners_were_not_found_has_no_text() -> None:
    reading = Reading("A123BC77", "A123BC77", 0.3)
    (plate,) = join(quad_boxes(UPRIGHT), np.ones(1, np.float32), UPRIGHT.reshape(-1, 8), [reading])
    assert plate.reading == Reading("", "A123BC77", 0.3)
