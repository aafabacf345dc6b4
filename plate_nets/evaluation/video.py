"""How well cars of clips are told: events against truth, tracks against truth, and fused frames against single ones."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path

import av
import cv2
import motmetrics
import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import DatasetError, InputError
from plate_nets.evaluation.dataset import csv_rows
from plate_nets.evaluation.event_scores import LastWord
from plate_nets.evaluation.evidence import ReadFrame
from plate_nets.evaluation.video_truth import TrueFrame, TruePlate, load_truth
from plate_nets.events import Heading, PlateEvent
from plate_nets.intake.video import open_video
from plate_nets.plates import PlateScheme
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.reader import FrameLimits, Reader
from plate_nets.types import Box, Frame, Plate
from plate_nets.video.cars import Camera, CarEvents, CarSettings
from plate_nets.video.cuts import Cuts
from plate_nets.video.fusion import Fusion, Verdict, view
from plate_nets.video.regions import Regions

SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".ts")

LEAST_HEIGHT = 12.0
"""px; below it nobody reads a plate (`training.synthesis.camera`), and no system is asked to."""
LEAST_VISIBLE = 0.9
LEAST_SECONDS = 0.2
"""For so long a plate must be at least so high and so visible in a clip, for its car to be asked for."""
_GROWN = 1.25
"""Times that a true plate grows or shrinks from first to last sight, from which on its car surely comes or goes."""
LEAST_IOU = 0.3
"""Of a box with the true one, from which on it is of this plate."""


@dataclass(frozen=True)
class Clip:
    """A clip and what is known of it: each frame (``truth``), or the texts of its cars alone.

    ``doubtful``: those of the texts that no person is sure of; their cars are not asked for.
    """

    path: Path
    truth: tuple[TrueFrame, ...]
    texts: frozenset[str]
    doubtful: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Told:
    """An event and when it was told, seconds of the clip."""

    event: PlateEvent
    time: float


@dataclass
class VideoOutcome:
    """Counts over clips. Times are seconds, one a car."""

    cars: int = 0
    """That could be read."""
    exact: int = 0
    """With an event of their text."""
    once: int = 0
    """With exactly one event, and this of their text."""
    missed: int = 0
    """Without an event of their text."""
    events: int = 0
    wrong: int = 0
    """Events with a text that their car has not, or without a car."""
    duplicate: int = 0
    """Events of a car beyond its first."""
    to_first: list[float] = field(default_factory=list)
    """From the moment that a plate could be read to its first event."""
    to_final: list[float] = field(default_factory=list)
    """From the last sight by the tracker to the final event."""
    provisional: int = 0
    """Cars that a text was told of while they were in sight."""
    changed: int = 0
    """Those of them whose last event has another text, or none."""
    headed: int = 0
    """Cars with an event of their text whose true plates grow or shrink: such a car shows its front, or its rear."""
    heading_told: int = 0
    """Those of them of which the event says one or the other."""
    heading_right: int = 0
    """And the right one."""
    words: list[LastWord] = field(default_factory=list)
    """What was thought of each car at last, told or not."""
    tracks: list[motmetrics.MOTAccumulator] = field(default_factory=list)
    wrong_texts: list[str] = field(default_factory=list)

    def idf1(self) -> float | None:
        """Ristani et al., "Performance Measures for Multi-Target, Multi-Camera Tracking", 2016; None without boxes."""
        if not self.tracks:
            return None
        summary = motmetrics.metrics.create().compute_many(self.tracks, metrics=["idf1"], generate_overall=True)
        return float(summary["idf1"]["OVERALL"])


def find_clips(video: Path, truth: Path | None) -> list[Clip]:
    """A clip with its file of truth, or a folder of clips -> the clips with what is known of them.

    In a folder the truth is beside each clip, *.jsonl, or a row ``file,text`` of its labels.csv; where it has a column
    ``sure``, a car with 0 in it is not asked for.

    Raises:
        DatasetError: there is no clip, or nothing is known of one.
    """
    if not video.is_dir():
        return [_labelled(video, load_truth(truth or video.with_suffix(".jsonl")))]
    texts: defaultdict[str, set[str]] = defaultdict(set)
    sure: defaultdict[str, set[str]] = defaultdict(set)
    labels = video / "labels.csv"
    if labels.is_file():
        for _, row in csv_rows(labels, ("file", "text")):
            texts[row["file"]].add(row["text"])
            if row.get("sure") != "0":
                sure[row["file"]].add(row["text"])
    clips = []
    for path in sorted(each for each in video.iterdir() if each.suffix.lower() in SUFFIXES):
        if path.name in texts:
            known = frozenset(texts[path.name])
            clips.append(Clip(path, (), known, known - sure[path.name]))
        else:
            clips.append(_labelled(path, load_truth(path.with_suffix(".jsonl"))))
    if not clips:
        raise DatasetError(f"{video}: no clip in it; expected {', '.join(SUFFIXES)}")
    return clips


def read_clip(path: Path, reader: Reader, every: int = 1) -> Iterator[ReadFrame]:
    """A clip -> the plates of each of its frames, or of one of ``every`` so many.

    Raises:
        InputError: it does not open as a video.
    """
    cuts = Cuts()
    for time, frame in islice(_frames(path), None, None, every):
        h, w = frame.shape[:2]
        plates = tuple(Regions().select(reader.read(frame, evidence=True), (h, w)))
        yield ReadFrame(time, plates, cuts.at(np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), np.uint8)))


def count_frames(path: Path) -> int | None:
    """How many frames a clip says that it has; None where it does not say."""
    try:
        with open_video(path, FrameLimits().max_pixels) as container:
            return container.streams.video[0].frames or None
    except (OSError, IndexError, av.error.FFmpegError) as error:
        raise InputError(f"{path}: expected a video, got {error}") from error


def at_rate(frames: Sequence[ReadFrame], rate: float) -> list[int]:
    """The numbers of the frames that a reader at so many frames a second takes: the next one when it is free."""
    taken, due = [], -np.inf
    for index, frame in enumerate(frames):
        if frame.time >= due - 1e-6:
            taken.append(index)
            due = max(due, frame.time) + 1 / rate
    return taken


def judge(
    clip: Clip,
    frames: Sequence[ReadFrame],
    numbers: Sequence[int],
    scheme: PlateScheme,
    outcome: VideoOutcome,
    settings: CarSettings = CarSettings(),
) -> list[Told]:
    """Tells the cars of a clip from some of its frames, and adds to an outcome how right that was."""
    cars = CarEvents(Camera(clip.path.name), replace(settings, unread=True), scheme)
    told: list[Told] = []
    seen: list[list[tuple[str, Box]]] = []
    for before, number in pairwise((-1, *numbers)):
        frame = frames[number]
        if any(each.cut for each in frames[before + 1 : number + 1]):
            told += [Told(event, frame.time) for event in cars.cut()]
        told += [Told(event, frame.time) for event in cars.update(frame.plates, frame.time)]
        seen.append([(car.id, car.box) for car in cars.cars if car.seen])
    told += [Told(event, frames[numbers[-1]].time) for event in cars.finish()]
    superseded = {each.event.supersedes for each in told}
    last = {each.event.id: each for each in told if each.event.id not in superseded}
    for each in last.values():
        best = each.event.candidates[0]
        is_right = _text_of(each.event, best.plate, clip) == best.plate
        outcome.words.append(LastWord(best.score, is_right, each.event.box.height))
    early = {each.event.id: each.event.plate for each in reversed(told) if each.event.stage != "final"}
    outcome.provisional += len(early)
    outcome.changed += sum(id in last and last[id].event.plate != text for id, text in early.items())
    last = {id: each for id, each in last.items() if each.event.plate}
    told = [each for each in told if each.event.plate]
    asked = _asked(clip)
    outcome.cars += len(asked)
    outcome.events += len(last)
    found: Counter[str] = Counter()
    for each in last.values():
        text = _text_of(each.event, each.event.plate, clip)
        if text is None or text != each.event.plate:
            outcome.wrong += 1
            outcome.wrong_texts.append(f"{clip.path.name}: {each.event.plate} (really {text})")
        if text is not None:
            found[text] += 1
    right = {each.event.plate for each in last.values()} & asked.keys()
    outcome.exact += len(right)
    outcome.missed += len(asked) - len(right)
    outcome.once += sum(found[text] == 1 for text in right)
    outcome.duplicate += sum(count - 1 for count in found.values())
    for text in right:
        first = min(each.time for each in told if each.event.plate == text)
        if (since := asked[text]) is not None:
            outcome.to_first.append(first - since)
    outcome.to_final += [each.time - each.event.last_seen.timestamp() for each in told if each.event.stage == "final"]
    headings = _headings(clip)
    for text in right & headings.keys():
        heading = next(each.event.heading for each in last.values() if each.event.plate == text)
        outcome.headed += 1
        outcome.heading_told += heading is not None
        outcome.heading_right += heading == headings[text]
    if clip.truth:
        outcome.tracks.append(_tracks(clip, numbers, seen, {car: index for index, car in enumerate(last)}))
    return told


def _headings(clip: Clip) -> dict[str, Heading]:
    """By text, the cars of a clip that surely come nearer or go away, by their true plates."""
    heights: defaultdict[str, list[float]] = defaultdict(list)
    for frame in clip.truth:
        for plate in frame.plates:
            if plate.visible >= LEAST_VISIBLE:
                heights[plate.text].append(plate.height)
    grown = {text: each[-1] / max(each[0], 1e-6) for text, each in heights.items()}
    return {
        text: "towards" if times > 1 else "away" for text, times in grown.items() if max(times, 1 / times) >= _GROWN
    }


@dataclass(frozen=True)
class FusedShare:
    """Of draws of so many frames of a track, the share read exactly by each method.

    ``told``: the share whose fused text is sure enough for an event; ``wrong``: of these, the share of wrong texts.
    """

    heights: str
    frames: int
    draws: int
    exact: dict[str, float]
    told: float
    wrong: float


def fused_shares(
    clips: Sequence[tuple[Clip, Sequence[ReadFrame]]],
    scheme: PlateScheme,
    counts: Sequence[int] = (1, 3, 5, 10),
    bands: Sequence[tuple[float, float]] = ((12, 18), (18, 1000)),
    draws: int = 20,
) -> list[FusedShare]:
    """Random frames of each car, by plate height -> how often the best single frame, a vote and their fusion read it.

    A car counts in a row where that many of its readings lie in the band.
    """
    rng = np.random.default_rng(0)
    rows = []
    for low, high in bands:
        sightings = [each for clip, frames in clips for each in _sightings(clip, frames, low, high)]
        for count in counts:
            hits: Counter[str] = Counter()
            told = wrong = 0
            usable = [(text, plates) for text, plates in sightings if len(plates) >= count]
            for text, plates in usable:
                for _ in range(draws):
                    chosen = [plates[index] for index in rng.choice(len(plates), count, replace=False)]
                    hits.update(method for method, read in _SINGLE.items() if read(chosen) == text)
                    verdict = _fused(chosen, scheme)
                    hits[_FUSED] += verdict.text == text
                    told += verdict.sure
                    wrong += verdict.sure and verdict.text != text
            if total := draws * len(usable):
                name = f"{low:g} to {high:g} px" if high < 1000 else f"from {low:g} px"
                exact = {method: hits[method] / total for method in (*_SINGLE, _FUSED)}
                rows.append(FusedShare(name, count, total, exact, told / total, wrong / max(1, told)))
    return rows


def _best_frame(plates: Sequence[Plate]) -> str:
    return max(plates, key=lambda plate: plate.reading.confidence).reading.best


def _vote(plates: Sequence[Plate]) -> str:
    return Counter(plate.reading.best for plate in plates).most_common(1)[0][0]


def _fused(plates: Sequence[Plate], scheme: PlateScheme) -> Verdict:
    fusion = Fusion(scheme)
    for plate in plates:
        assert plate.logits is not None, "_sightings leaves out plates without evidence"
        fusion.add(view(plate.logits, scheme, fusion.settings.beam_width, plate.box, plate.reading.scheme))
    return fusion.verdict


_SINGLE: dict[str, Callable[[Sequence[Plate]], str]] = {"best confidence": _best_frame, "majority": _vote}
"""Methods that choose one of the frames' own readings."""
_FUSED = "fused"


def _labelled(path: Path, truth: Sequence[TrueFrame]) -> Clip:
    return Clip(path, tuple(truth), frozenset(plate.text for frame in truth for plate in frame.plates))


def _frames(path: Path) -> Iterator[tuple[float, Frame]]:
    try:
        with open_video(path, FrameLimits().max_pixels) as container:
            for frame in container.decode(video=0):
                yield float(frame.time or 0.0), np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
    except (OSError, IndexError, av.error.FFmpegError) as error:
        raise InputError(f"{path}: expected a video, got {error}") from error


def _readable(plate: TruePlate) -> bool:
    return plate.visible >= LEAST_VISIBLE and plate.height >= LEAST_HEIGHT


def _asked(clip: Clip) -> dict[str, float | None]:
    """The texts of the cars that can be read -> since when; None where that is not known."""
    if not clip.truth:
        return dict.fromkeys(clip.texts - clip.doubtful)
    times: defaultdict[str, list[float]] = defaultdict(list)
    for frame in clip.truth:
        for plate in filter(_readable, frame.plates):
            times[plate.text].append(frame.time)
    step = clip.truth[-1].time / max(len(clip.truth) - 1, 1)
    return {text: found[0] for text, found in times.items() if len(found) * step >= LEAST_SECONDS}


def _text_of(event: PlateEvent, told: str, clip: Clip) -> str | None:
    """The true text of the plate that an event is of, by what it tells and its best frame; None: there is no plate."""
    if not clip.truth:
        return told if told in clip.texts else None
    time = event.timestamp.timestamp()
    frame = min(clip.truth, key=lambda each: abs(each.time - time))
    if any(plate.text == told for plate in frame.plates):
        return told  # its box may be cut by the picture's edge
    plate = _plate_at(event.box, frame)
    return plate.text if plate else None


def _plate_at(box: Box, frame: TrueFrame) -> TruePlate | None:
    overlaps = _overlaps([box], [plate.box for plate in frame.plates])[0]
    return frame.plates[int(overlaps.argmax())] if len(overlaps) and overlaps.max() >= LEAST_IOU else None


def _overlaps(boxes: Sequence[Box], others: Sequence[tuple[float, ...]]) -> NDArray[np.float64]:
    one = np.array([box.sides for box in boxes], np.float32).reshape(-1, 4)
    return iou(one, np.array(others, np.float32).reshape(-1, 4))


def _tracks(
    clip: Clip, numbers: Sequence[int], seen: Sequence[list[tuple[str, Box]]], told: Mapping[str, int]
) -> motmetrics.MOTAccumulator:
    """The tracks of told cars against the true ones; boxes of plates that are not asked for are left out."""
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    for number, boxes in zip(numbers, seen, strict=True):
        frame = clip.truth[number]
        asked = [plate for plate in frame.plates if _readable(plate)]
        given = [(told[car], box) for car, box in boxes if car in told]  # motmetrics wants numbers
        given = [each for each in given if (at := _plate_at(each[1], frame)) is None or _readable(at)]
        overlaps = _overlaps([box for _, box in given], [plate.box for plate in asked]).T
        distances = np.where(overlaps >= LEAST_IOU, 1 - overlaps, np.nan)
        accumulator.update([plate.car for plate in asked], [car for car, _ in given], distances)
    return accumulator


def _sightings(clip: Clip, frames: Sequence[ReadFrame], low: float, high: float) -> Iterator[tuple[str, list[Plate]]]:
    """Each car of a clip: its text, and the plates found of it where it is so high, but for those that an edge cuts."""
    found: defaultdict[str, list[Plate]] = defaultdict(list)
    for frame, true in zip(frames, clip.truth, strict=False):
        for plate in frame.plates:
            at = None if plate.logits is None else _plate_at(plate.box, true)
            if at and at.visible >= LEAST_VISIBLE and low <= at.height < high:
                found[at.text].append(plate)
    yield from found.items()
