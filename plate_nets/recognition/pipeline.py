"""The chain from a frame to its plates, over injected callables.

The same class runs in one process (crops are numpy arrays) and inside the BLS model of Triton (crops are Triton
tensors, handed on without a copy to the host).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import LPRNET, STN, reader_of
from plate_nets.errors import ContractError
from plate_nets.plates import PlateScheme
from plate_nets.plates.designs import UNKNOWN
from plate_nets.recognition.appearance import Appearance, appearances
from plate_nets.recognition.decoding import at_height
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.quads import Quads, doubtful, line_heights, lines_of
from plate_nets.recognition.reader import check_sure
from plate_nets.recognition.schemes import SchemeDecoder, evidence_of
from plate_nets.recognition.second_look import LOOKS
from plate_nets.recognition.stages import Stages
from plate_nets.recognition.vehicles import vehicles_of, with_vehicles
from plate_nets.types import (
    Box,
    Boxes,
    Corners,
    Crops,
    Lines,
    Logits,
    Plate,
    PlateCrops,
    Reading,
    Scene,
    Scores,
    VehicleRows,
)

CHUNK = min(STN.max_batch_size, LPRNET.max_batch_size)
"""Crops in one call of `stn` and `lprnet` at most."""

_ASKED = 8
"""Decoders that are kept for callers who say how sure a text must be."""

DOUBTED = 0.5
"""The highest confidence where a symbol may be missing, see `quads.doubtful`: too low for a text."""

_Told = tuple[NDArray[np.float32], ...]
"""What networks answer for one chunk."""

F = TypeVar("F")
T = TypeVar("T")


@dataclass(frozen=True)
class _Plan:
    """How to read the plates of one picture."""

    decoder: SchemeDecoder
    schemes: Sequence[PlateScheme]
    appearance: bool
    stages: Stages = nullcontext


class PlateReader(Generic[F, T]):
    """Frame -> plates: detect, stop where there is none, rectify and read in chunks, decode.

    ``F`` is what holds the frame, for ``detect`` alone; ``T`` the kind of array that holds crops: (N, 3, 24, 94), see
    `types.Crops`. Its stages are ``detect``, which may have stages of its own, ``rectify``, ``read``, ``decode_text``.

    Each crop is rectified once, and read by every reader that its schemes need. Where it is not read surely, other
    looks at it are rectified and read too, in the stage ``look_again``. Plates of two lines by their shape are read as
    of one, too, where `PlateScheme.any_shape` says that those of a country may be; the surer reading counts. A plate
    without a text is read from its upright crop, too: corners may leave out its end, or its lines be too many. Where
    several schemes are asked for, or the caller wants it, the crops as they were cut tell what a plate looks like, in
    the stage ``tell_country``.

    Args:
        detect: frame, stages, and whether vehicles are asked for -> what `PlateFinder.find` gives.
        rectify: at most `CHUNK` crops -> straightened crops.
        readers: by name, straightened crops -> logits (N, C, 18).
        decoder: logits -> readings, of the schemes that can be read.
        split: crops and a number -> the same crops in chunks of at most so many, in order.
        each: a function and chunks -> its answers in order, as ``map`` gives them; another may have chunks in flight
            at once.
        take: crops and the numbers of some rows -> these rows.
        look_again: crops -> `LOOKS` looks at each, see `second_look.looks_at`; without it there is no second look.
        look_at: at most `CHUNK` crops -> logits (N, K + G) as those of `contract.COUNTRY`; without it no plate says of
            which country and colour it is.
    """

    def __init__(
        self,
        detect: Callable[[F, Stages, bool], tuple[PlateCrops[T], Boxes, Scores, VehicleRows]],
        rectify: Callable[[T], T],
        readers: Mapping[str, Callable[[T], Logits]],
        decoder: SchemeDecoder,
        split: Callable[[T, int], Iterable[T]],
        take: Callable[[T, Sequence[int]], T],
        each: Callable[[Callable[[T], _Told], Iterable[T]], Iterable[_Told]] = map,
        look_again: Callable[[T], T] | None = None,
        look_at: Callable[[T], NDArray[np.float32]] | None = None,
    ) -> None:
        self._detect = detect
        self._rectify = rectify
        self._readers = readers
        self._decoder = decoder
        self._asking = lru_cache(_ASKED)(decoder.asking)
        self._split = split
        self._take = take
        self._each = each
        self._look_again = look_again
        self._look_at = look_at

    def scene(self, frame: F, options: ReadOptions = ReadOptions(), stages: Stages = nullcontext) -> Scene:
        """A frame, as ``detect`` takes it -> its plates, highest detector score first, and its vehicles if asked for.

        Args:
            frame: what ``detect`` takes.
            options: what to find out about the plates.
            stages: what is entered around each stage, see `recognition.stages`.

        Raises:
            InputError: a scheme that cannot be read, or ``sure`` is no probability.
            ContractError: the networks did not answer one reading a box.
        """
        schemes = self._decoder.choose(options.schemes)
        decoder = self._decoder
        if options.sure is not None and (asked := check_sure(options.sure)) != decoder.settings.sure:
            decoder = self._asking(asked)
        plan = _Plan(decoder, schemes, options.appearance or len(schemes) > 1, stages)
        with stages("detect"):
            crops, boxes, scores, rows = self._detect(frame, stages, options.vehicles)
        vehicles = vehicles_of(rows)
        if len(boxes) == 0:
            return Scene([], vehicles)
        logits, readings = self._read_all(crops, plan)
        evidence = evidence_of(readings, logits, schemes) if options.evidence else None
        plates = join(boxes, scores, crops.corners, readings, evidence)
        return Scene(with_vehicles(plates, vehicles), vehicles)

    def read_crops(self, crops: PlateCrops[T]) -> Sequence[Reading]:
        """What `PlateFinder.cut` gives, N above 0 -> the readings of the N plates, in order."""
        schemes = self._decoder.schemes
        return self._read_all(crops, _Plan(self._decoder, schemes, len(schemes) > 1))[1]

    def _read_all(self, crops: PlateCrops[T], plan: _Plan) -> tuple[dict[str, Logits], list[Reading]]:
        """What was cut -> each reader's logits at first sight of what the readings rest on, and the readings."""
        quads = crops.corners.reshape(-1, 4, 2)
        lines = lines_of(quads)
        logits, readings = self._read_cut(crops.crops, quads, lines, plan)

        def read_too(other: T, rows: Sequence[int], plan: _Plan, certain: bool = False) -> None:
            """Read some of the plates from other crops, as one line; these readings count where they are surer."""
            one_line = np.ones(len(rows), np.intp)
            own_logits, own_readings = self._read_cut(other, quads[list(rows)], one_line, plan)
            for place, (row, reading) in enumerate(zip(rows, own_readings, strict=True)):
                if certain or _sureness(reading) > _sureness(readings[row]):
                    readings[row] = reading
                    for name, rows_of_reader in own_logits.items():
                        logits[name][row] = rows_of_reader[place]

        two_lines = np.flatnonzero(lines == 2).tolist()
        of_any_shape = [scheme for scheme in plan.schemes if scheme.any_shape]
        if two_lines and of_any_shape:
            certain = all(scheme.lines == 1 for scheme in plan.schemes)
            read_too(crops.as_one, two_lines, replace(plan, schemes=of_any_shape), certain)
        unread = [row for row, reading in enumerate(readings) if not reading.text]
        if unread:
            read_too(self._take(crops.upright, unread), unread, plan)
        return logits, readings

    def _read_cut(self, crops: T, quads: Quads, lines: Lines, plan: _Plan) -> tuple[dict[str, Logits], list[Reading]]:
        """Crops -> each reader's logits at first sight, and the readings, with a second look where it is needed."""
        decoder, schemes = plan.decoder, plan.schemes
        logits = self._logits(crops, schemes, plan.stages)
        looks = self._appearances(crops, plan.stages) if plan.appearance else None
        with plan.stages("decode_text"):
            readings = decoder.decode(logits, lines, schemes, looks)
        heights = line_heights(quads, lines).tolist()
        rows = decoder.unsure(readings, heights)
        if self._look_again and rows:
            with plan.stages("look_again"):
                again = self._logits(self._look_again(self._take(crops, rows)), schemes, nullcontext)
                for place, row in enumerate(rows):
                    own = slice(place * LOOKS, (place + 1) * LOOKS)
                    told = {name: each[own] for name, each in again.items()}
                    look = looks[row] if looks else None
                    readings[row] = decoder.decode_looks(told, int(lines[row]), schemes, look)
        settings = decoder.settings
        readings = [at_height(reading, high, settings) for reading, high in zip(readings, heights, strict=False)]
        return logits, decoder.tell(readings, looks, lines, schemes) if looks else readings

    def _appearances(self, crops: T, stages: Stages) -> list[Appearance] | None:
        """Crops -> what each plate looks like."""
        if self._look_at is None:
            return None
        look_at = self._look_at

        def ask(chunk: T) -> _Told:
            with stages("tell_country"):
                return (look_at(chunk),)

        return appearances(np.concatenate([told for (told,) in self._each(ask, self._split(crops, CHUNK))]))

    def _logits(self, crops: T, schemes: Sequence[PlateScheme], stages: Stages) -> dict[str, Logits]:
        """Crops -> the logits of each reader that the schemes need, by its name."""
        names = tuple(dict.fromkeys(reader_of(scheme).name for scheme in schemes))

        def ask(chunk: T) -> _Told:
            with stages("rectify"):
                straight = self._rectify(chunk)
            with stages("read"):
                return tuple(self._readers[name](straight) for name in names)

        told = zip(*self._each(ask, self._split(crops, CHUNK)), strict=True)
        return {name: np.concatenate(chunks) for name, chunks in zip(names, told, strict=True)}


def _sureness(reading: Reading) -> tuple[bool, float]:
    """By what readings of one plate are compared: those with a text come first."""
    return bool(reading.text), reading.confidence


def unsure(reading: Reading) -> Reading:
    """The same without a text, its confidence `DOUBTED` at most."""
    known = replace(reading, country=UNKNOWN, country_confidence=0.0) if reading.country else reading
    return replace(known, text="", format="", schemes=(), confidence=min(reading.confidence, DOUBTED))


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


def take_rows(crops: Crops, rows: Sequence[int]) -> Crops:
    """Crops (N, ...) and row numbers -> these rows."""
    return crops[list(rows)]
