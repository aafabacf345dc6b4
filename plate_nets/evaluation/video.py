"""Judges events and tracks of clips against the truth."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import motmetrics
import numpy as np
from numpy.typing import NDArray

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.stay import CarSettings
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.clips import Clip
from plate_nets.evaluation.evidence import ReadFrame
from plate_nets.evaluation.video_truth import TrueFrame, TruePlate
from plate_nets.events.event import Heading, PlateEvent
from plate_nets.recognition.overlap import iou
from plate_nets.types import Box

LEAST_HEIGHT = 12.0
"""px; plates below it are unreadable (`training.synthesis.camera`), and no system is expected to read them."""
LEAST_VISIBLE = 0.9
LEAST_SECONDS = 0.2
"""How long a plate must be at least this high and this visible in a clip for its car to count."""
_GROWN = 1.25
"""Factor by which a true plate must grow or shrink from first to last sight for its heading to be certain."""
LEAST_IOU = 0.3
"""Minimum overlap with the true box for a box to belong to this plate."""


@dataclass(frozen=True)
class FinalText:
    """The final result for a car: the probability of the best text, reported or not, and whether it is right."""

    probability: float
    right: bool


@dataclass(frozen=True)
class TimedEvent:
    """An event and when it was reported, seconds of the clip."""

    event: PlateEvent
    time: float


@dataclass
class VideoOutcome:
    """Counts over clips. Times are in seconds, one per car."""

    cars: int = 0
    """Readable cars."""
    exact: int = 0
    """Cars with an event of their text."""
    once: int = 0
    """Cars with exactly one event, which has their text."""
    missed: int = 0
    """Cars without an event of their text."""
    most_probable_right: int = 0
    """Cars whose text is the most probable one at the end, reported or not."""
    events: int = 0
    wrong: int = 0
    """Events with the wrong text for their car, or without a car."""
    duplicate: int = 0
    """Events of a car beyond its first."""
    to_first: list[float] = field(default_factory=list)
    """From the moment when a plate became readable to its first event."""
    distances: list[float] = field(default_factory=list)
    """How far a car that comes closer was at its first event, as a share of its distance when its plate was first in
    sight; 0 without an event of its text."""
    to_final: list[float] = field(default_factory=list)
    """From the last sight by the tracker to the final event."""
    provisional: int = 0
    """Cars with a text reported while they were in sight."""
    changed: int = 0
    """Those of them whose last event has another text, or none."""
    headed: int = 0
    """Cars with an event of their text whose true plates grow or shrink, so that they show front or rear."""
    heading_reported: int = 0
    """Those of them whose event has a heading."""
    heading_right: int = 0
    """Those of them whose event has the right heading."""
    final_texts: list[FinalText] = field(default_factory=list)
    """The final result for each car, reported or not."""
    tracks: list[motmetrics.MOTAccumulator] = field(default_factory=list)
    wrong_texts: list[str] = field(default_factory=list)

    def idf1(self) -> float | None:
        """Ristani et al., "Performance Measures for Multi-Target, Multi-Camera Tracking", 2016; None without boxes."""
        if not self.tracks:
            return None
        summary = motmetrics.metrics.create().compute_many(self.tracks, metrics=["idf1"], generate_overall=True)
        return float(summary["idf1"]["OVERALL"])


def judge(
    clip: Clip,
    frames: Sequence[ReadFrame],
    numbers: Sequence[int],
    scheme: PlateScheme,
    outcome: VideoOutcome,
    settings: CarSettings = CarSettings(),
) -> list[TimedEvent]:
    """Derive the events of a clip from some of its frames, and add to an outcome how right they are."""
    cars = CarEvents(Camera(clip.path.name), replace(settings, unread=True), scheme)
    reported: list[TimedEvent] = []
    seen: list[list[tuple[str, Box]]] = []
    for before, number in pairwise((-1, *numbers)):
        frame = frames[number]
        if any(each.cut for each in frames[before + 1 : number + 1]):
            reported += [TimedEvent(event, frame.time) for event in cars.cut()]
        reported += [TimedEvent(event, frame.time) for event in cars.update(frame.plates, frame.time)]
        seen.append([(car.id, car.box) for car in cars.cars if car.seen])
    reported += [TimedEvent(event, frames[numbers[-1]].time) for event in cars.finish()]
    last = judge_events(clip, reported, outcome)
    if clip.truth:
        outcome.tracks.append(_tracks(clip, numbers, seen, {car: index for index, car in enumerate(last)}))
    return [each for each in reported if each.event.plate]


def judge_events(clip: Clip, reported: Sequence[TimedEvent], outcome: VideoOutcome) -> list[str]:
    """Add to an outcome how right the events of a clip are -> the ids of the cars that have a text in the end.

    The events include those of cars without a certain text, see `CarSettings.unread`.
    """
    superseded = {each.event.supersedes for each in reported}
    last = {each.event.id: each for each in reported if each.event.id not in superseded}
    for each in last.values():
        best = each.event.candidates[0]
        is_right = _text_of(each.event, best.plate, clip) == best.plate
        outcome.final_texts.append(FinalText(best.score, is_right))
    expected = expected_texts(clip)
    outcome.most_probable_right += len(expected.keys() & {each.event.candidates[0].plate for each in last.values()})
    early = {each.event.id: each.event.plate for each in reversed(reported) if each.event.stage != "final"}
    outcome.provisional += len(early)
    outcome.changed += sum(id in last and last[id].event.plate != text for id, text in early.items())
    last = {id: each for id, each in last.items() if each.event.plate}
    reported = [each for each in reported if each.event.plate]
    outcome.cars += len(expected)
    outcome.events += len(last)
    found: Counter[str] = Counter()
    for each in last.values():
        text = _text_of(each.event, each.event.plate, clip)
        if text is None or text != each.event.plate:
            outcome.wrong += 1
            outcome.wrong_texts.append(f"{clip.path.name}: {each.event.plate} (really {text})")
        if text is not None:
            found[text] += 1
    right = {each.event.plate for each in last.values()} & expected.keys()
    outcome.exact += len(right)
    outcome.missed += len(expected) - len(right)
    outcome.once += sum(found[text] == 1 for text in right)
    outcome.duplicate += sum(count - 1 for count in found.values())
    first = {each.event.plate: each.time for each in reversed(reported)}
    outcome.to_first += [first[text] - since for text in right if (since := expected[text]) is not None]
    outcome.to_final += [
        each.time - each.event.last_seen.timestamp() for each in reported if each.event.stage == "final"
    ]
    for text, heights in _heights(clip).items():
        if heading := _heading(heights):
            if heading == "towards" and text in expected:
                outcome.distances.append(_distance(heights, first.get(text)))
            if text in right:
                told = next(each.event.heading for each in last.values() if each.event.plate == text)
                outcome.headed += 1
                outcome.heading_reported += told is not None
                outcome.heading_right += told == heading
    return list(last)


def _heights(clip: Clip) -> dict[str, list[tuple[float, float]]]:
    """The times and heights of each car's true plate, by text, in the frames in which it is visible."""
    heights: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for frame in clip.truth:
        for plate in frame.plates:
            if plate.visible >= LEAST_VISIBLE:
                heights[plate.text].append((frame.time, max(plate.height, 1e-6)))
    return heights


def _heading(heights: Sequence[tuple[float, float]]) -> Heading | None:
    """Times and heights of a true plate -> whether its car certainly approaches or leaves."""
    grown = heights[-1][1] / heights[0][1]
    if max(grown, 1 / grown) < _GROWN:
        return None
    return "towards" if grown > 1 else "away"


def _distance(heights: Sequence[tuple[float, float]], time: float | None) -> float:
    """Times and heights of the true plate of a car that comes closer -> how far it was at a time, as a share of its
    distance at the first of them; 0 without a time."""
    if time is None:
        return 0.0
    height = max((height for seen, height in heights if seen <= time), default=heights[0][1])
    return heights[0][1] / height


def _readable(plate: TruePlate) -> bool:
    return plate.visible >= LEAST_VISIBLE and plate.height >= LEAST_HEIGHT


def expected_texts(clip: Clip) -> dict[str, float | None]:
    """The texts of readable cars -> since when they are readable; None if that is unknown."""
    if not clip.truth:
        return dict.fromkeys(clip.texts - clip.doubtful)
    times: defaultdict[str, list[float]] = defaultdict(list)
    for frame in clip.truth:
        for plate in filter(_readable, frame.plates):
            times[plate.text].append(frame.time)
    step = clip.truth[-1].time / max(len(clip.truth) - 1, 1)
    return {text: found[0] for text, found in times.items() if len(found) * step >= LEAST_SECONDS}


def _text_of(event: PlateEvent, reported: str, clip: Clip) -> str | None:
    """The true text of an event's plate, by its reported text and its best frame; None if there is no plate."""
    if not clip.truth:
        return reported if reported in clip.texts else None
    time = event.timestamp.timestamp()
    frame = min(clip.truth, key=lambda each: abs(each.time - time))
    if any(plate.text == reported for plate in frame.plates):
        return reported  # its box may be cut by the picture's edge
    plate = _plate_at(event.box, frame)
    return plate.text if plate else None


def _plate_at(box: Box, frame: TrueFrame) -> TruePlate | None:
    overlaps = _overlaps([box], [plate.box for plate in frame.plates])[0]
    return frame.plates[int(overlaps.argmax())] if len(overlaps) and overlaps.max() >= LEAST_IOU else None


def _overlaps(boxes: Sequence[Box], others: Sequence[tuple[float, ...]]) -> NDArray[np.float64]:
    one = np.array([box.sides for box in boxes], np.float32).reshape(-1, 4)
    return iou(one, np.array(others, np.float32).reshape(-1, 4))


def _tracks(
    clip: Clip, numbers: Sequence[int], plates_seen: Sequence[list[tuple[str, Box]]], reported: Mapping[str, int]
) -> motmetrics.MOTAccumulator:
    """Compare the tracks of reported cars with the true ones, leaving out plates that do not count."""
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    for number, boxes in zip(numbers, plates_seen, strict=True):
        frame = clip.truth[number]
        expected = [plate for plate in frame.plates if _readable(plate)]
        given = [(reported[car], box) for car, box in boxes if car in reported]  # motmetrics needs numbers
        given = [each for each in given if (at := _plate_at(each[1], frame)) is None or _readable(at)]
        overlaps = _overlaps([box for _, box in given], [plate.box for plate in expected]).T
        distances = np.where(overlaps >= LEAST_IOU, 1 - overlaps, np.nan)
        accumulator.update([plate.car for plate in expected], [car for car, _ in given], distances)
    return accumulator
