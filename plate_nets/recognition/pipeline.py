"""The chain from a frame to its plates, over injected callables.

The same class runs in one process, where crops are numpy arrays, and inside the BLS model of Triton, where crops are
Triton tensors that are passed on without a copy to the host.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import ContractError
from plate_nets.contract import LPRNET, STN
from plate_nets.recognition.appearance import Appearance, appearances
from plate_nets.recognition.ctc import nothing_seen
from plate_nets.recognition.decoding import unsure
from plate_nets.recognition.looking import LOOKS, Look, Plan, Seen, SightedPlate
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.quads import doubtful, line_heights, lines_of, quad_size
from plate_nets.recognition.reader import check_sure
from plate_nets.recognition.schemes import SchemeDecoder, evidence_of
from plate_nets.recognition.second_look import VARIANTS
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
"""The maximum number of crops per call of a network."""

_CACHED = 8
"""The number of decoders to keep for callers who set their own minimum confidence."""

F = TypeVar("F")
T = TypeVar("T")


class PlateReader(Generic[F, T]):
    """Frame -> plates: detect, stop if there are none, rectify, read, decode.

    ``F`` is the type of the frame, which only ``detect`` looks into. ``T`` is the type of an array of crops
    (N, 3, 24, 94), see `types.Crops`. The stages are ``detect``, which may have its own stages, ``rectify``, ``read``,
    ``decode_text``.

    `looking.LOOKS` says how each plate is looked at, and when again; the most certain reading wins. In a look, crops of
    at most `CHUNK` plates are rectified, and read by the reader of their most probable design, and by another one if a
    text of its countries could win. If several schemes are read, or the caller asks for it, a network classifies the
    country and the colour from the crops before rectification, in the stage ``tell_country``. No reader is asked about
    plates that look like none of its countries.

    Args:
        detect: frame, stages, and whether to find vehicles -> the output of `PlateFinder.find`.
        rectify: at most `CHUNK` crops -> straightened crops.
        readers: by name, straightened crops -> logits (N, C, 18).
        decoder: logits -> readings, for all schemes that can be read.
        take: crops and row numbers -> these rows.
        look_again: crops -> variants of each, see `second_look.looks_at`. Without it there is no closer look.
        country: at most `CHUNK` crops -> logits (N, K + G), see `contract.COUNTRY`. Without it, no country or colour is
            known.
    """

    def __init__(
        self,
        detect: Callable[[F, Stages, bool], tuple[PlateCrops[T], Boxes, Scores, VehicleRows]],
        rectify: Callable[[T], T],
        readers: Mapping[str, Callable[[T], Logits]],
        decoder: SchemeDecoder,
        take: Callable[[T, Sequence[int]], T],
        look_again: Callable[[T], T] | None = None,
        country: Callable[[T], NDArray[np.float32]] | None = None,
    ) -> None:
        self._detect = detect
        self._rectify = rectify
        self._readers = readers
        self._decoder = decoder
        self._with_sure = lru_cache(_CACHED)(decoder.with_sure)
        self._take = take
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
        self, found: tuple[PlateCrops[T], Boxes, Scores, VehicleRows], stages: Stages = nullcontext
    ) -> Scene:
        """Like `scene` with evidence, for the plates that ``detect`` or the like found in a frame of a video.

        No plate gets a closer look, which takes the most time and adds nothing to the logits.
        """
        plan = self._plan(ReadOptions(), stages)
        return self._read(found, replace(plan, closer=False), with_evidence=True)

    def _plan(self, options: ReadOptions, stages: Stages) -> Plan:
        schemes = self._decoder.choose(options.schemes)
        decoder = self._decoder
        if options.sure is not None and (asked := check_sure(options.sure)) != decoder.settings.sure:
            decoder = self._with_sure(asked)
        return Plan(decoder, schemes, options.appearance or len(schemes) > 1, stages)

    def _read(self, found: tuple[PlateCrops[T], Boxes, Scores, VehicleRows], plan: Plan, with_evidence: bool) -> Scene:
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
        return [plate.reading for plate in self._read_all(crops, Plan(self._decoder, schemes, len(schemes) > 1))]

    def _read_all(self, crops: PlateCrops[T], plan: Plan) -> list[Seen[T]]:
        """Crops -> the best of what was read of each plate, after all looks of `LOOKS` that it needs."""
        quads = crops.corners.reshape(-1, 4, 2)
        sizes = zip(quads, lines_of(quads).tolist(), quad_size(quads)[0].tolist(), strict=True)
        plates: list[SightedPlate[T]] = [SightedPlate(row, *size) for row, size in enumerate(sizes)]
        looks = [look for look in LOOKS if look.cut or (self._look_again and plan.closer)]
        while True:
            for look in looks:
                if due := [plate for plate in plates if look.is_due(plate, plan)]:
                    self._take_look(look, crops, due[: CHUNK if look.cut else CHUNK // VARIANTS], plan)
                    break
            else:
                return [plate.best for plate in plates]

    def _take_look(self, look: Look, crops: PlateCrops[T], plates: Sequence[SightedPlate[T]], plan: Plan) -> None:
        if not look.again:
            return self._look(look, crops, plates, plan)
        with plan.stages("look_again"):
            if look.cut:
                self._look(look, crops, plates, replace(plan, stages=nullcontext))
            else:
                self._look_closer([plate.doubted for plate in plates if plate.doubted])

    def _look(self, look: Look, crops: PlateCrops[T], plates: Sequence[SightedPlate[T]], plan: Plan) -> None:
        """Read a crop of each of these plates."""
        having: Sequence[int] = range(len(crops.corners))  # the plates that have such a crop
        if look.cut == "as_one":
            having = np.flatnonzero(lines_of(crops.corners.reshape(-1, 4, 2)) == 2).tolist()
            plan = replace(plan, schemes=plan.of_any_shape)
        own = self._rows(getattr(crops, look.cut), [having.index(plate.row) for plate in plates], len(having))
        lines = np.array([1 if look.one_line else plate.lines for plate in plates], np.intp)
        heights = line_heights(np.stack([plate.quad for plate in plates]), lines).tolist()
        # An upright crop shows less of the design; the first look has it for all plates, or for none
        known = [first for plate in plates if (first := plate.seen[0].appearance)] if look.again else []
        told = known or self._appearances(own, plan)
        with plan.stages("rectify"):
            straight = self._rectify(own)
        logits, readings = self._first_look(straight, lines, told, plan)
        for place, (plate, seen, reading) in enumerate(zip(plates, logits, readings, strict=True)):
            unsure = plan.decoder.is_unsure(reading, heights[place])
            appearance = told[place] if told else None
            found = Seen(own, place, int(lines[place]), heights[place], plan, appearance, seen, reading, unsure)
            found.take(reading)
            plate.seen.append(found)
            plate.cuts.add(look.cut)

    def _look_closer(self, doubted: Sequence[Seen[T]]) -> None:
        """Read variants of crops, by the reader of their best text."""
        assert self._look_again is not None
        together: dict[tuple[int, str], list[Seen[T]]] = {}
        for seen in doubted:
            name = seen.plan.decoder.reader_of(seen.reading, seen.plan.schemes)
            together.setdefault((id(seen.crops), name), []).append(seen)
        for (_, name), group in together.items():
            variants = self._look_again(self._take(group[0].crops, [seen.place for seen in group]))
            logits = self._ask(name, self._rectify(variants), len(group) * VARIANTS, nullcontext)
            for seen, others in zip(group, np.split(logits, len(group)), strict=True):
                evidence = np.concatenate((seen.logits[name][None], others))
                decoder, schemes = seen.plan.decoder, seen.plan.schemes
                seen.take(decoder.decode_looks(name, evidence, seen.lines, schemes, seen.appearance))
                seen.unsure = False

    def _appearances(self, crops: T, plan: Plan) -> Sequence[Appearance]:
        """Crops -> the appearance of each plate, if the plan asks for it; otherwise nothing."""
        if self._country is None or not plan.appearance:
            return []
        with plan.stages("tell_country"):
            return appearances(self._country(crops))

    def _first_look(
        self, straight: T, lines: Lines, looks: Sequence[Appearance], plan: Plan
    ) -> tuple[list[dict[str, NDArray[np.float32]]], list[Reading]]:
        """Straightened crops -> of each plate the logits (C, 18) of the readers that were asked, by name, and the
        reading.

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
                found = self._ask(name, self._rows(straight, rows, len(lines)), len(rows), plan.stages)
                with plan.stages("decode_text"):
                    own = [looks[row] for row in rows] if looks else None
                    better = decoder.candidates(name, found, lines[rows], schemes, own)
                    for row, seen, more in zip(rows, found, better, strict=True):
                        logits[row][name] = seen
                        candidates[row] += more
                        readings[row] = decoder.best_of(candidates[row], int(lines[row]), schemes, known[row])
        return logits, readings

    def _rows(self, crops: T, rows: Sequence[int], count: int) -> T:
        """This number of crops -> some of their rows, in order; all of them as they are."""
        return crops if len(rows) == count else self._take(crops, rows)

    def _ask(self, name: str, straight: T, count: int, stages: Stages) -> Logits:
        """This number of straightened crops -> the logits of the reader of this name."""
        with stages("read"):
            logits = self._readers[name](straight)
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


def take_rows(crops: Crops, rows: Sequence[int]) -> Crops:
    """Crops (N, ...) and row numbers -> these rows."""
    return crops[list(rows)]
