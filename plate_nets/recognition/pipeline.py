"""The chain from a frame to its plates, over injected callables.

The same class runs in one process (crops are numpy arrays) and inside the BLS model of Triton (crops are Triton
tensors, handed on without a copy to the host).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Generic, Protocol, TypeVar

import numpy as np

from plate_nets.contract import LPRNET, STN
from plate_nets.errors import ContractError
from plate_nets.recognition.stages import Stages
from plate_nets.types import Box, Boxes, Corners, Crops, Logits, Plate, Reading, Scores

CHUNK = min(STN.max_batch_size, LPRNET.max_batch_size)
"""Crops in one call of `stn` and `lprnet` at most."""

F = TypeVar("F")
T = TypeVar("T")


class Decoder(Protocol):
    """Logits (N, C, 18) -> N readings."""

    def decode(self, logits: Logits) -> Sequence[Reading]:
        """One reading a row."""
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
            readings = self._decoder.decode(logits)
        return join(boxes, scores, corners, readings, logits if evidence else None)

    def read_crops(self, crops: T) -> Sequence[Reading]:
        """Crops (N, 3, 24, 94), N above 0 -> their readings, in order."""
        return self._decoder.decode(self._logits(crops, nullcontext))

    def _logits(self, crops: T, stages: Stages) -> Logits:
        def ask(chunk: T) -> Logits:
            with stages("rectify"):
                straight = self._rectify(chunk)
            with stages("read"):
                return self._read(straight)

        return np.concatenate(list(self._each(ask, self._split(crops, CHUNK))))


def join(
    boxes: Boxes, scores: Scores, corners: Corners, readings: Sequence[Reading], logits: Logits | None = None
) -> list[Plate]:
    """Boxes (N, 4), scores (N,), corners (N, 8), N readings and, for plates that keep them, logits -> plates.

    They come highest score first.

    Raises:
        ContractError: not as many of each.
    """
    if not len(boxes) == len(scores) == len(corners) == len(readings):
        raise ContractError(
            "expected as many scores, corners and readings as boxes, "
            f"got {len(boxes)} boxes, {len(scores)} scores, {len(corners)} corners and {len(readings)} readings"
        )
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
