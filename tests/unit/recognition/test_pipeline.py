"""`PlateReader`: the order of steps, the early stop, chunks, rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plate_nets.contract import CROP_DIMS
from plate_nets.errors import ContractError
from plate_nets.recognition.pipeline import CHUNK, PlateReader, split_rows
from plate_nets.recognition.stages import Stages
from plate_nets.types import Box, Crops, Frame, Logits, Reading

FRAME = np.zeros((4, 4, 3), np.uint8)


class NumberDecoder:
    """Reads a row's first number."""

    def decode(self, logits: Logits) -> list[Reading]:
        return [Reading(str(int(row[0, 0])), str(int(row[0, 0])), 0.5) for row in logits]


class Chain:
    """Three steps over `count` crops, each crop filled with its row's number; remembers the sizes of its calls."""

    def __init__(self, count: int, scores: list[float] | None = None) -> None:
        self.count = count
        self.scores = scores
        self.rectified: list[int] = []
        self.read: list[int] = []

    def reader(self) -> PlateReader[Frame, Crops]:
        return PlateReader(self.detect, self.rectify, self.recognise, NumberDecoder(), split_rows)

    def detect(self, frame: Frame, stages: Stages) -> tuple[Crops, np.ndarray, np.ndarray, np.ndarray]:
        numbers = np.arange(self.count, dtype=np.float32)
        crops = np.broadcast_to(numbers[:, None, None, None], (self.count, *CROP_DIMS))
        scores = self.scores if self.scores is not None else np.linspace(1, 0.5, self.count)
        boxes, corners = (np.stack([numbers] * columns, 1) for columns in (4, 8))
        return crops.astype(np.float32), boxes, np.asarray(scores, np.float32), corners

    def rectify(self, crops: Crops) -> Crops:
        self.rectified.append(len(crops))
        return crops + 1

    def recognise(self, crops: Crops) -> Logits:
        self.read.append(len(crops))
        return np.broadcast_to(crops[:, :1, :1, 0], (len(crops), 23, 18))


def test_no_plate_stops_after_the_detector() -> None:
    chain = Chain(0)
    assert chain.reader().read(FRAME) == []
    assert chain.rectified == chain.read == []


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(1, [1]), (CHUNK, [CHUNK]), (CHUNK + 1, [CHUNK, 1]), (200, [CHUNK] * 6 + [8])],
)
def test_many_plates_go_in_chunks(count: int, sizes: list[int]) -> None:
    chain = Chain(count)
    plates = chain.reader().read(FRAME)
    assert chain.rectified == chain.read == sizes
    assert [plate.reading.text for plate in plates] == [str(number + 1) for number in range(count)]
    assert plates[0].box == Box(0, 0, 0, 0)


def test_rows_come_highest_score_first() -> None:
    plates = Chain(3, [0.2, 0.9, 0.5]).reader().read(FRAME)
    assert [plate.reading.text for plate in plates] == ["2", "3", "1"]
    assert [plate.score for plate in plates] == pytest.approx([0.9, 0.5, 0.2])
    assert [plate.corners for plate in plates] == [(1,) * 8, (2,) * 8, (0,) * 8]


def test_logits_stay_with_their_plates() -> None:
    plates = Chain(CHUNK + 3, [score / 100 for score in range(CHUNK + 3)]).reader().read(FRAME, evidence=True)
    assert [int(plate.logits[0, 0]) for plate in plates if plate.logits is not None] == list(range(CHUNK + 3, 0, -1))


def test_readings_that_are_not_as_many_as_boxes_are_refused() -> None:
    chain = Chain(3)
    reader = PlateReader(chain.detect, lambda crops: crops[:2], chain.recognise, NumberDecoder(), split_rows)
    with pytest.raises(ContractError, match="3 boxes, 3 scores, 3 corners and 2 readings"):
        reader.read(FRAME)


@given(st.integers(0, 100), st.integers(1, 40))
def test_chunks_are_the_rows_in_order(count: int, size: int) -> None:
    rows = np.arange(count, dtype=np.float32)
    chunks = list(split_rows(rows, size))
    assert all(1 <= len(chunk) <= size for chunk in chunks)
    assert all(np.shares_memory(chunk, rows) for chunk in chunks)
    np.testing.assert_array_equal(np.concatenate([rows[:0], *chunks]), rows)
