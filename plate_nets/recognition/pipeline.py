"""The chain from a frame to its plates, over injected callables.

The same class runs in one process, where crops are numpy arrays, and inside the BLS model of Triton, where crops are
Triton tensors that are passed on without a copy to the host.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import LPRNET, STN
from plate_nets.errors import ContractError
from plate_nets.plates import PlateScheme
from plate_nets.plates.designs import UNKNOWN
from plate_nets.recognition.appearance import Appearance, appearances
from plate_nets.recognition.decoding import at_height, nothing_seen
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.quads import Quads, doubtful, line_heights, lines_of, quad_size
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
"""The maximum number of crops per call of `stn` and `lprnet`."""

_CACHED = 8
"""The number of decoders to keep for callers who set their own minimum confidence."""

DOUBTED = 0.5
"""The maximum confidence if a symbol may be missing, see `quads.doubtful`: too low for a text."""

_Outputs = tuple[NDArray[np.float32], ...]
"""The outputs of networks for one chunk."""

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
    """Frame -> plates: detect, stop if there are none, rectify and read in chunks, decode.

    ``F`` is the type of the frame, which only ``detect`` looks into. ``T`` is the type of an array of crops
    (N, 3, 24, 94), see `types.Crops`. The stages are ``detect``, which may have its own stages, ``rectify``, ``read``,
    ``decode_text``.

    Each crop is rectified once and read by every reader that its schemes need. If the reading is not certain, other
    looks at the crop are rectified and read too, in the stage ``look_again``. Plates whose shape has two lines are also
    read as one line if a country may have such plates (`PlateScheme.any_shape`). Plates without a text are also read
    from their upright crops: corners may leave out the end of a plate. The most certain reading wins. If several
    schemes are read, or the caller asks for it, a network classifies the country and the colour from the crops before
    rectification, in the stage ``tell_country``. No reader is asked about plates that look like none of its countries.

    Args:
        detect: frame, stages, and whether to find vehicles -> the output of `PlateFinder.find`.
        rectify: at most `CHUNK` crops -> straightened crops.
        readers: by name, straightened crops -> logits (N, C, 18).
        decoder: logits -> readings, for all schemes that can be read.
        split: crops and a size -> the same crops in chunks of at most this size, in order.
        take: crops and row numbers -> these rows.
        map_chunks: applies a function to chunks and returns its results in order, by default ``map``; another may
            process chunks in parallel.
        look_again: crops -> `LOOKS` looks at each, see `second_look.looks_at`. Without it there is no second look.
        country: at most `CHUNK` crops -> logits (N, K + G), see `contract.COUNTRY`. Without it, no country or colour is
            known.
    """

    def __init__(
        self,
        detect: Callable[[F, Stages, bool], tuple[PlateCrops[T], Boxes, Scores, VehicleRows]],
        rectify: Callable[[T], T],
        readers: Mapping[str, Callable[[T], Logits]],
        decoder: SchemeDecoder,
        split: Callable[[T, int], Iterable[T]],
        take: Callable[[T, Sequence[int]], T],
        map_chunks: Callable[[Callable[[T], _Outputs], Iterable[T]], Iterable[_Outputs]] = map,
        look_again: Callable[[T], T] | None = None,
        country: Callable[[T], NDArray[np.float32]] | None = None,
    ) -> None:
        self._detect = detect
        self._rectify = rectify
        self._readers = readers
        self._decoder = decoder
        self._with_sure = lru_cache(_CACHED)(decoder.with_sure)
        self._split = split
        self._take = take
        self._map_chunks = map_chunks
        self._look_again = look_again
        self._country = country

    def scene(self, frame: F, options: ReadOptions = ReadOptions(), stages: Stages = nullcontext) -> Scene:
        """A frame, as ``detect`` takes it -> its plates, highest detector score first, and its vehicles if requested.

        Raises:
            InputError: a scheme that cannot be read, or ``sure`` is not a probability.
            ContractError: the networks did not return one reading per box.
        """
        schemes = self._decoder.choose(options.schemes)
        decoder = self._decoder
        if options.sure is not None and (asked := check_sure(options.sure)) != decoder.settings.sure:
            decoder = self._with_sure(asked)
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
        """The crops from `PlateFinder.cut`, N above 0 -> the readings of the N plates, in order."""
        schemes = self._decoder.schemes
        return self._read_all(crops, _Plan(self._decoder, schemes, len(schemes) > 1))[1]

    def _read_all(self, crops: PlateCrops[T], plan: _Plan) -> tuple[dict[str, Logits], list[Reading]]:
        """Crops -> the logits that the readings are based on, by reader, and the readings."""
        quads = crops.corners.reshape(-1, 4, 2)
        lines = lines_of(quads)
        logits, readings = self._read_cut(crops.crops, quads, lines, plan)

        def read_too(other: T, rows: Sequence[int], plan: _Plan, certain: bool = False) -> None:
            """Also read some of the plates from other crops, as one line; the more certain reading wins."""
            one_line = np.ones(len(rows), np.intp)
            other_logits, other_readings = self._read_cut(other, quads[list(rows)], one_line, plan)
            for place, (row, reading) in enumerate(zip(rows, other_readings, strict=True)):
                if certain or _sureness(reading) > _sureness(readings[row]):
                    readings[row] = reading
                    for name, rows_of_reader in other_logits.items():
                        logits[name][row] = rows_of_reader[place]

        two_lines = np.flatnonzero(lines == 2).tolist()
        of_any_shape = [scheme for scheme in plan.schemes if scheme.any_shape]
        if two_lines and of_any_shape:
            certain = all(scheme.lines == 1 for scheme in plan.schemes)
            read_too(crops.as_one, two_lines, replace(plan, schemes=of_any_shape), certain)
        unread = plan.decoder.unread(readings, quad_size(quads)[0].tolist())
        if unread:
            with plan.stages("look_again"):
                read_too(self._take(crops.upright, unread), unread, replace(plan, stages=nullcontext))
        return logits, readings

    def _read_cut(self, crops: T, quads: Quads, lines: Lines, plan: _Plan) -> tuple[dict[str, Logits], list[Reading]]:
        """Crops -> the logits of the first look, by reader, and the readings, after a second look if needed."""
        decoder, schemes = plan.decoder, plan.schemes
        looks = self._appearances(crops, plan)
        logits = self._logits(crops, looks, plan, plan.stages)
        with plan.stages("decode_text"):
            readings = decoder.decode(logits, lines, schemes, looks)
        heights = line_heights(quads, lines).tolist()
        rows = decoder.unsure(readings, heights)
        if self._look_again and rows:
            with plan.stages("look_again"):
                same = [looks[row] for row in rows for _ in range(LOOKS)] if looks else None
                again = self._logits(self._look_again(self._take(crops, rows)), same, plan, nullcontext)
                for place, row in enumerate(rows):
                    own = slice(place * LOOKS, (place + 1) * LOOKS)
                    own_logits = {name: rows_of_reader[own] for name, rows_of_reader in again.items()}
                    look = looks[row] if looks else None
                    readings[row] = decoder.decode_looks(own_logits, int(lines[row]), schemes, look)
        settings = decoder.settings
        readings = [at_height(reading, high, settings) for reading, high in zip(readings, heights, strict=False)]
        return logits, decoder.describe(readings, looks, lines, schemes) if looks else readings

    def _appearances(self, crops: T, plan: _Plan) -> list[Appearance] | None:
        """Crops -> the appearance of each plate, if the plan asks for it."""
        country = self._country
        if country is None or not plan.appearance:
            return None

        def ask(chunk: T) -> _Outputs:
            with plan.stages("tell_country"):
                return (country(chunk),)

        return appearances(np.concatenate([outputs for (outputs,) in self._map_chunks(ask, self._split(crops, CHUNK))]))

    def _logits(self, crops: T, looks: Sequence[Appearance] | None, plan: _Plan, stages: Stages) -> dict[str, Logits]:
        """Crops -> the logits of each reader that the schemes need, by its name.

        ``looks``: the appearance of each plate. A reader sees nothing of plates that look like none of its countries.
        """
        readers = plan.decoder.readers(plan.schemes)
        if looks is None or len(readers) == 1:
            return self._ask(crops, tuple(readers), stages)
        rows_of: dict[tuple[str, ...], list[int]] = {}
        for row, look in enumerate(looks):
            names = tuple(name for name, use in readers.items() if look.possible(use.designs))
            rows_of.setdefault(names or tuple(readers), []).append(row)
        logits = {name: nothing_seen(len(looks), use.classes) for name, use in readers.items()}
        for names, rows in rows_of.items():
            asked = crops if len(rows_of) == 1 else self._take(crops, rows)
            for name, found in self._ask(asked, names, stages).items():
                if len(found) != len(rows):
                    raise ContractError(f"{name}: expected the logits of {len(rows)} crops, got {len(found)}")
                logits[name][rows] = found
        return logits

    def _ask(self, crops: T, names: tuple[str, ...], stages: Stages) -> dict[str, Logits]:
        """Crops -> the logits of these readers, by name."""

        def ask(chunk: T) -> _Outputs:
            with stages("rectify"):
                straight = self._rectify(chunk)
            with stages("read"):
                return tuple(self._readers[name](straight) for name in names)

        outputs = zip(*self._map_chunks(ask, self._split(crops, CHUNK)), strict=True)
        return {name: np.concatenate(chunks) for name, chunks in zip(names, outputs, strict=True)}


def _sureness(reading: Reading) -> tuple[bool, float]:
    """The order of readings of one plate: those with a text come first."""
    return bool(reading.text), reading.confidence


def unsure(reading: Reading) -> Reading:
    """The same reading without a text, and with a confidence of at most `DOUBTED`."""
    known = replace(reading, country=UNKNOWN, country_confidence=0.0) if reading.country else reading
    return replace(known, text="", format="", schemes=(), confidence=min(reading.confidence, DOUBTED))


def join(
    boxes: Boxes, scores: Scores, corners: Corners, readings: Sequence[Reading], logits: Logits | None = None
) -> list[Plate]:
    """Boxes (N, 4), scores (N,), corners (N, 8), N readings and, if plates keep them, logits -> plates.

    The plates come highest score first. If a symbol may be missing, see `quads.doubtful`, a plate has no text.

    Raises:
        ContractError: the numbers of rows differ.
    """
    if not len(boxes) == len(scores) == len(corners) == len(readings):
        raise ContractError(
            "expected as many scores, corners and readings as boxes, "
            f"got {len(boxes)} boxes, {len(scores)} scores, {len(corners)} corners and {len(readings)} readings"
        )
    doubts = doubtful(corners.reshape(-1, 4, 2), boxes)
    readings = [unsure(reading) if doubt else reading for reading, doubt in zip(readings, doubts, strict=True)]
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
