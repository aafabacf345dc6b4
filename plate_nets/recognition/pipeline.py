"""The chain from a frame to its plates, over injected callables.

The same class runs in one process (crops are numpy arrays) and inside the BLS model of Triton (crops are Triton
tensors, handed on without a copy to the host).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from plate_nets.contract import LPRNET, STN
from plate_nets.errors import ContractError
from plate_nets.recognition.quads import doubtful, lines_of
from plate_nets.recognition.stages import Stages
from plate_nets.types import Box, Boxes, Corners, Crops, Lines, Logits, Plate, Reading, Scores

CHUNK = min(STN.max_batch_size, LPRNET.max_batch_size)
"""Crops in one call of `stn` and `lprnet` at most."""

DOUBTED = 0.5
"""The highest confidence where a symbol may be missing, see `quads.doubtful`: too low for a text."""

F = TypeVar("F")
T = TypeVar("T")


class Decoder(Protocol):
    """Logits (N, C, 18) -> N readings."""

    def decode(self, logits: Logits, lines: Lines | None = None) -> Sequence[Reading]:
        """One reading a row, of plates of so many lines; by default of one."""
        ...


class PlateReader(Generic[F, T]):
    """Frame -> plates: detect, stop where there is none, rectify and read in chunks, decode.

    ``F`` is what holds the frame, for ``detect`` alone; ``T`` the kind of array that holds crops: (N, 3, 24, 94), see
    `types.Crops`. Its stages are ``detect``, which may have stages of its own, ``rectify``, ``read``, ``decode_text``.

    Args:
        detect: frame and stages -> crops, boxes (N, 4), scores (N,) and corners (N, 8).
        rectify: at most `CHUNK` crops -> straightened crops.
        read: straightened crops -> logits (N, C, 18).
        decoder: logits -> readings.
        split: crops and a number -> the same crops in chunks of at most so many, in order.
        each: a function and chunks -> its answers in order, as ``map`` gives them; another may have chunks in flight
            at once.
    """

    def __init__(
        self,
        detect: Callable[[F, Stages], tuple[T, Boxes, Scores, Corners]],
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

    def read(self, frame: F, *, evidence: bool = False, stages: Stages = nullcontext) -> list[Plate]:
        """A frame, as ``detect`` takes it -> its plates, highest detector score first; none: an empty list.

        Args:
            frame: what ``detect`` takes.
            evidence: the plates have their logits.
            stages: what is entered around each stage, see `recognition.stages`.

        Raises:
            ContractError: the networks did not answer one reading a box.
        """
        with stages("detect"):
            crops, boxes, scores, corners = self._detect(frame, stages)
        if len(boxes) == 0:
            return []
        logits = self._logits(crops, stages)
        with stages("decode_text"):
            readings = self._decoder.decode(logits, lines_of(corners.reshape(-1, 4, 2)))
        return join(boxes, scores, corners, readings, logits if evidence else None)

    def read_crops(self, crops: T, corners: Corners | None = None) -> Sequence[Reading]:
        """Crops (N, 3, 24, 94), N above 0, and the corners (N, 8) that they were cut along -> their readings, in order.

        Without corners they are of plates of one line.
        """
        lines = None if corners is None else lines_of(corners.reshape(-1, 4, 2))
        return self._decoder.decode(self._logits(crops, nullcontext), lines)

    def _logits(self, crops: T, stages: Stages) -> Logits:
        def ask(chunk: T) -> Logits:
            with stages("rectify"):
                straight = self._rectify(chunk)
            with stages("read"):
                return self._read(straight)

        return np.concatenate(list(self._each(ask, self._split(crops, CHUNK))))


def unsure(reading: Reading) -> Reading:
    """The same without a text, its confidence `DOUBTED` at most."""
    return replace(reading, text="", format="", confidence=min(reading.confidence, DOUBTED))


def join(
    boxes: Boxes, scores: Scores, corners: Corners, readings: Sequence[Reading], logits: Logits | None = None
) -> list[Plate]:
    """Boxes (N, 4), scores (N,), corners (N, 8), N readings and, for plates that keep them, logits -> plates.

    They come highest score first. Where a symbol may be missing, see `quads.doubtful`, a plate has no text.

    Raises:
        ContractError: not as many of each.
    """
    if not len(boxes) == len(scores) == len(corners) == len(readings):
        raise ContractError(
            "expected as many scores, corners and readings as boxes, "
            f"got {len(boxes)} boxes, {len(scores)} scores, {len(corners)} corners and {len(readings)} readings"
        )
    doubts = doubtful(corners.reshape(-1, 4, 2), boxes)
    readings = [unsure(each) if doubt else each for each, doubt in zip(readings, doubts, strict=True)]
    evidence = [None] * len(boxes) if logits is None else logits
    plates = [
        Plate(Box(*map(float, box)), float(score), reading, own, corners=tuple(map(float, points)))
        for box, score, points, reading, own in zip(boxes, scores, corners, readings, evidence, strict=True)
    ]
    return sorted(plates, key=lambda plate: plate.score, reverse=True)


def split_rows(crops: Crops, size: int) -> Iterator[Crops]:
    """Rows (N, ...) -> views of at most ``size`` rows, in order."""
    for start in range(0, len(crops), size):
        yield crops[start : start + size]
