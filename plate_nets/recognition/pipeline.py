"""The chain from a frame to its plates, over injected callables.

The same class runs in one process (crops are numpy arrays) and inside the BLS model of Triton (crops are Triton
tensors, handed on without a copy to the host).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, ParamSpec, Protocol, TypeVar

from plate_nets.contract import LPRNET, STN
from plate_nets.errors import ContractError
from plate_nets.types import Box, Boxes, Crops, Logits, Plate, Reading, Scores

CHUNK = min(STN.max_batch_size, LPRNET.max_batch_size)
"""Crops in one call of `stn` and `lprnet` at most."""

F = TypeVar("F")
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Decoder(Protocol):
    """Logits (N, C, 18) -> N readings."""

    def decode(self, logits: Logits) -> Sequence[Reading]:
        """One reading a row."""
        ...


class Stage(Protocol):
    """Puts a step of the pipeline through something, under the step's name: `serving.course.Course.stage` times it."""

    def __call__(self, name: str, function: Callable[P, R], /) -> Callable[P, R]:
        """A step -> one that takes and gives the same."""
        ...


@dataclass(frozen=True)
class _StagedDecoder:
    decode: Callable[[Logits], Sequence[Reading]]


class PlateReader(Generic[F, T]):
    """Frame -> plates: detect, stop where there is none, rectify and read in chunks, decode.

    ``F`` is what holds the frame, for ``detect`` alone; ``T`` the kind of array that holds crops: (N, 3, 24, 94), see
    `types.Crops`.

    Args:
        detect: frame -> crops, boxes (N, 4) and scores (N,).
        rectify: at most `CHUNK` crops -> straightened crops.
        read: straightened crops -> logits (N, C, 18).
        decoder: logits -> readings.
        split: crops and a number -> the same crops in chunks of at most so many, in order.
        each: a function and chunks -> its answers in order, as ``map`` gives them; another may have chunks in flight
            at once.
    """

    def __init__(
        self,
        detect: Callable[[F], tuple[T, Boxes, Scores]],
        rectify: Callable[[T], T],
        read: Callable[[T], Logits],
        decoder: Decoder,
        split: Callable[[T, int], Iterable[T]],
        each: Callable[[Callable[[T], Logits], Iterable[T]], Iterable[Logits]] = map,
    ) -> None:
        self._detect = detect
        self._rectify = rectify
        self._read = read
        self._decoder = decoder
        self._split = split
        self._each = each

    def staged(self, stage: Stage) -> "PlateReader[F, T]":
        """The same pipeline with its steps put through ``stage``."""
        return PlateReader(
            stage("detect", self._detect),
            stage("rectify", self._rectify),
            stage("read", self._read),
            _StagedDecoder(stage("decode_text", self._decoder.decode)),
            self._split,
            self._each,
        )

    def read(self, frame: F) -> list[Plate]:
        """A frame, as ``detect`` takes it -> its plates, highest detector score first; none: an empty list.

        Raises:
            ContractError: the networks did not answer one reading a box.
        """
        crops, boxes, scores = self._detect(frame)
        if len(boxes) == 0:
            return []
        return join(boxes, scores, self.read_crops(crops))

    def read_crops(self, crops: T) -> list[Reading]:
        """Crops (N, 3, 24, 94), N above 0 -> their readings, in order."""
        readings: list[Reading] = []
        for logits in self._each(lambda chunk: self._read(self._rectify(chunk)), self._split(crops, CHUNK)):
            readings.extend(self._decoder.decode(logits))
        return readings


def join(boxes: Boxes, scores: Scores, readings: Sequence[Reading]) -> list[Plate]:
    """Boxes (N, 4), scores (N,) and N readings -> plates, highest detector score first.

    Raises:
        ContractError: not as many of each.
    """
    if not len(boxes) == len(scores) == len(readings):
        raise ContractError(
            "expected as many scores and readings as boxes, "
            f"got {len(boxes)} boxes, {len(scores)} scores and {len(readings)} readings"
        )
    plates = [
        Plate(Box(*map(float, box)), float(score), reading.text, reading.best, reading.confidence)
        for box, score, reading in zip(boxes, scores, readings, strict=True)
    ]
    return sorted(plates, key=lambda plate: plate.score, reverse=True)


def split_rows(crops: Crops, size: int) -> Iterator[Crops]:
    """Rows (N, ...) -> views of at most ``size`` rows, in order."""
    for start in range(0, len(crops), size):
        yield crops[start : start + size]
