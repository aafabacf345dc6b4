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

from plate_nets.common.errors import ContractError
from plate_nets.contract import LPRNET, STN
from plate_nets.countries import PlateScheme
from plate_nets.recognition.appearance import Appearance, appearances
from plate_nets.recognition.decoding import at_height, nothing_seen, unsure
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


@dataclass
class _Seen(Generic[T]):
    """What was read of a plate in one way to cut it out.

    ``row``: the number of the plate. ``crops``, ``place``: its crop. ``height``: of a line, px. ``logits``: (C, 18) of
    the first look, by reader. ``unsure``: whether it needs a second look.
    """

    row: int
    crops: T
    place: int
    lines: int
    height: float
    plan: _Plan
    appearance: Appearance | None
    logits: dict[str, NDArray[np.float32]]
    reading: Reading
    unsure: bool

    @property
    def sureness(self) -> tuple[bool, float]:
        """The order of what was read of one plate: that with a text comes first."""
        return bool(self.reading.text), self.reading.confidence

    def take(self, reading: Reading) -> None:
        """Keep a reading, less certain if the plate is too low, with the country and the colour."""
        decoder = self.plan.decoder
        self.reading = at_height(reading, self.height, decoder.settings)
        if self.appearance is not None:
            schemes = [scheme.by_lines[self.lines] for scheme in self.plan.schemes]
            self.reading = self.appearance.describe(self.reading, schemes)


class PlateReader(Generic[F, T]):
    """Frame -> plates: detect, stop if there are none, rectify and read in chunks, decode.

    ``F`` is the type of the frame, which only ``detect`` looks into. ``T`` is the type of an array of crops
    (N, 3, 24, 94), see `types.Crops`. The stages are ``detect``, which may have its own stages, ``rectify``, ``read``,
    ``decode_text``.

    Each crop is rectified and read by the reader of its most probable design, and by another one if a text of its
    countries could win. Plates whose shape has two lines are also read as one line if a country may have such plates
    (`PlateScheme.any_shape`). Plates without a text are also read from their upright crops: corners may leave out the
    end of a plate. If nothing is certain, other looks at the surest crop are rectified and read too, in the stage
    ``look_again``; then, if there is still no text, at the next one. The most certain reading wins. If several schemes
    are read, or the caller asks for it, a network classifies the country and the colour from the crops before
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
        plan = self._plan(options, stages)
        with stages("detect"):
            found = self._detect(frame, stages, options.vehicles)
        return self._read(found, plan, options.evidence)

    def read_found(
        self,
        found: tuple[PlateCrops[T], Boxes, Scores, VehicleRows],
        options: ReadOptions = ReadOptions(),
        stages: Stages = nullcontext,
    ) -> Scene:
        """Like `scene`, for the plates that ``detect`` or the like found in a frame."""
        return self._read(found, self._plan(options, stages), options.evidence)

    def _plan(self, options: ReadOptions, stages: Stages) -> _Plan:
        schemes = self._decoder.choose(options.schemes)
        decoder = self._decoder
        if options.sure is not None and (asked := check_sure(options.sure)) != decoder.settings.sure:
            decoder = self._with_sure(asked)
        return _Plan(decoder, schemes, options.appearance or len(schemes) > 1, stages)

    def _read(self, found: tuple[PlateCrops[T], Boxes, Scores, VehicleRows], plan: _Plan, with_evidence: bool) -> Scene:
        crops, boxes, scores, rows = found
        vehicles = vehicles_of(rows)
        if len(boxes) == 0:
            return Scene([], vehicles)
        seen = self._read_all(crops, plan)
        readings = [plate.reading for plate in seen]
        evidence = None
        if with_evidence:
            logits = {
                name: np.stack([plate.logits.get(name, nothing_seen(1, use.classes)[0]) for plate in seen])
                for name, use in plan.decoder.readers(plan.schemes).items()
            }
            evidence = evidence_of(readings, logits, plan.schemes)
        plates = join(boxes, scores, crops.corners, readings, evidence)
        return Scene(with_vehicles(plates, vehicles), vehicles)

    def read_crops(self, crops: PlateCrops[T]) -> Sequence[Reading]:
        """The crops from `PlateFinder.cut`, N above 0 -> the readings of the N plates, in order."""
        schemes = self._decoder.schemes
        return [plate.reading for plate in self._read_all(crops, _Plan(self._decoder, schemes, len(schemes) > 1))]

    def _read_all(self, crops: PlateCrops[T], plan: _Plan) -> list[_Seen[T]]:
        """Crops -> the best of what was read of each plate.

        A second look takes as long as several first ones, so other ways to cut a plate out come before it.
        """
        decoder, quads = plan.decoder, crops.corners.reshape(-1, 4, 2)
        heights, lines = quad_size(quads)[0].tolist(), lines_of(quads)
        seen = [[plate] for plate in self._look(crops.crops, range(len(quads)), quads, lines, plan)]
        one = np.ones(len(quads), np.intp)
        two_lines = np.flatnonzero(lines == 2).tolist()
        of_any_shape = [scheme for scheme in plan.schemes if scheme.any_shape]
        if two_lines and of_any_shape:
            only_one = all(scheme.lines == 1 for scheme in plan.schemes)
            for plate in self._look(crops.as_one, two_lines, quads, one, replace(plan, schemes=of_any_shape)):
                seen[plate.row] = [plate] if only_one else [*seen[plate.row], plate]
        later, upright = replace(plan, stages=nullcontext), set[int]()
        while True:
            best = [max(ways, key=lambda plate: plate.sureness) for ways in seen]
            unread = [row for row in decoder.unread([plate.reading for plate in best], heights) if row not in upright]
            if unread:
                upright.update(unread)
                with plan.stages("look_again"):
                    # This cut shows less of the design; the first look has it for all plates, or for none
                    looks = [look for row in unread if (look := seen[row][0].appearance)]
                    for plate in self._look(self._take(crops.upright, unread), unread, quads, one, later, looks):
                        seen[plate.row].append(plate)
                continue
            again = [
                max((plate for plate in ways if plate.unsure), key=lambda plate: plate.sureness)
                for first, ways in zip(best, seen, strict=True)
                if (first.unsure or not first.reading.text) and any(plate.unsure for plate in ways)
            ]
            if not again or self._look_again is None:
                return best
            with plan.stages("look_again"):
                self._look_closer(again)

    def _look(
        self,
        crops: T,
        rows: Sequence[int],
        quads: Quads,
        lines: Lines,
        plan: _Plan,
        looks: Sequence[Appearance] = (),
    ) -> list[_Seen[T]]:
        """Crops, and the numbers of their plates in a picture -> what is read at the first look.

        ``quads``, ``lines``: of all plates of the picture. ``looks``: the appearance of each of these, if it is known.
        """
        lines = lines[list(rows)]
        heights = line_heights(quads[list(rows)], lines).tolist()
        looks = looks or self._appearances(crops, plan)
        logits, readings = self._first_look(crops, lines, looks, plan)
        unsure = set(plan.decoder.unsure(readings, heights))
        seen = []
        for place, (own, reading) in enumerate(zip(logits, readings, strict=True)):
            look = looks[place] if looks else None
            plate = _Seen(
                rows[place], crops, place, int(lines[place]), heights[place], plan, look, own, reading, place in unsure
            )
            plate.take(reading)
            seen.append(plate)
        return seen

    def _look_closer(self, plates: Sequence[_Seen[T]]) -> None:
        """A second look at plates, by the reader of their best text."""
        assert self._look_again is not None
        together: dict[tuple[int, str], list[_Seen[T]]] = {}
        for plate in plates:
            name = plate.plan.decoder.reader_of(plate.reading, plate.plan.schemes)
            together.setdefault((id(plate.crops), name), []).append(plate)
        for (_, name), group in together.items():
            looks = self._look_again(self._take(group[0].crops, [plate.place for plate in group]))
            logits = self._ask(looks, len(group) * LOOKS, name, nullcontext)
            for plate, others in zip(group, np.split(logits, len(group)), strict=True):
                evidence = np.concatenate((plate.logits[name][None], others))
                decoder, schemes = plate.plan.decoder, plate.plan.schemes
                plate.take(decoder.decode_looks(name, evidence, plate.lines, schemes, plate.appearance))
                plate.unsure = False

    def _appearances(self, crops: T, plan: _Plan) -> Sequence[Appearance]:
        """Crops -> the appearance of each plate, if the plan asks for it; otherwise nothing."""
        country = self._country
        if country is None or not plan.appearance:
            return []

        def ask(chunk: T) -> _Outputs:
            with plan.stages("tell_country"):
                return (country(chunk),)

        return appearances(np.concatenate([outputs for (outputs,) in self._map_chunks(ask, self._split(crops, CHUNK))]))

    def _first_look(
        self, crops: T, lines: Lines, looks: Sequence[Appearance], plan: _Plan
    ) -> tuple[list[dict[str, NDArray[np.float32]]], list[Reading]]:
        """Crops -> of each plate the logits (C, 18) of the readers that were asked, by name, and the reading.

        ``looks``: the appearance of each plate, or none. The reader of its most probable design is asked first; another
        one if its text could win.
        """
        decoder, schemes = plan.decoder, plan.schemes
        known: Sequence[Appearance | None] = looks or [None] * len(lines)
        turns = [decoder.turns(schemes, look) for look in known]
        logits: list[dict[str, NDArray[np.float32]]] = [{} for _ in known]
        candidates: list[list[Reading]] = [[] for _ in known]
        readings = [Reading("", "", 0.0)] * len(lines)
        for turn in range(max(map(len, turns))):
            rows_of: dict[str, list[int]] = {}
            for row, names in enumerate(turns):
                if turn < len(names) and decoder.may_win(names[turn], readings[row], schemes, known[row]):
                    rows_of.setdefault(names[turn], []).append(row)
            for name, rows in rows_of.items():
                asked = crops if len(rows) == len(lines) else self._take(crops, rows)
                found = self._ask(asked, len(rows), name, plan.stages)
                with plan.stages("decode_text"):
                    own = [looks[row] for row in rows] if looks else None
                    better = decoder.candidates(name, found, lines[rows], schemes, own)
                    for row, seen, more in zip(rows, found, better, strict=True):
                        logits[row][name] = seen
                        candidates[row] += more
                        readings[row] = decoder.best_of(candidates[row], int(lines[row]), schemes, known[row])
        return logits, readings

    def _ask(self, crops: T, count: int, name: str, stages: Stages) -> Logits:
        """This number of crops -> the logits of the reader of this name."""

        def ask(chunk: T) -> _Outputs:
            with stages("rectify"):
                straight = self._rectify(chunk)
            with stages("read"):
                return (self._readers[name](straight),)

        logits = np.concatenate([found for (found,) in self._map_chunks(ask, self._split(crops, CHUNK))])
        if len(logits) != count:
            raise ContractError(f"{name}: expected the logits of {count} crops, got {len(logits)}")
        return logits


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
