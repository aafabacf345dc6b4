"""What a frame of constant traffic costs in CPU time, stage by stage, and whether the events of clips are right.

Beside it, on the same frames, the public detector and reader that a user would take instead.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measures.public_pair import load_pair
from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.stay import CarSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.countries import MAIN_SCHEME, PlateScheme, joined, load_scheme
from plate_nets.evaluation.clips import Clip, find_clips
from plate_nets.evaluation.video import TimedEvent, VideoOutcome, expected_texts, judge_events
from plate_nets.recognition.health import check_health
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import Focus
from plate_nets.types import Frame, Plate, Scene
from training.synthesis.drive_by_set import write_drive_by_set

_STAGES = {
    "detector": ("letterbox", "network", "select"),
    "corners": ("corners", "crop"),
    "readers": ("tell_country", "rectify", "read", "decode_text", "look_again"),
}
"""The figures, and the stages of `LocalReader` in each."""
_DECODE, _TO_BGR, _TRACKING = "decode", "to_bgr", "tracking"
_START = datetime.fromtimestamp(0, UTC)
"""When each clip begins, so that times are seconds of the clip, as in its truth."""
_CLIPS, _CARS, _SEED = 2, 8, 501


def traffic(folder: Path, clips: Path | None, peers: Path | None) -> Iterator[dict[str, Any]]:
    """Clips with a truth, by default drive-bys that are drawn into a folder -> figures of each clip and of all,
    with every plate read in every frame and without, and of the public pair in the folder ``peers``."""
    if clips is None:
        clips = folder / "drive_by"
        for _ in write_drive_by_set(clips, load_scheme(MAIN_SCHEME), "good", _CLIPS, _SEED, _CARS):
            pass
    reader = LocalReader(threads=1)
    check_health(reader)  # loads the networks
    pair, of_pair = load_pair(peers) if peers else None, _PairFigures()
    together = {thorough: _Figures() for thorough in (True, False)}
    for clip in find_clips(clips, None):
        for thorough, of_all in together.items():
            clocked, own = _ClockedReader(reader), _Figures()
            reported = _watch(clip, clocked, thorough)
            for figures in (own, of_all):
                figures.add(clip, reported, clocked)
            yield {"clip": clip.path.name, "thorough": thorough, **own.to_dict()}
        if pair:
            alone = _PairFigures()
            began = time.process_time()
            for _ in Watcher(pair, *_settings(clip, pair.schemes, thorough=True)):
                pass
            seconds, frames, texts = time.process_time() - began, pair.frames, pair.texts()
            for each in (alone, of_pair):
                each.add(clip, seconds, frames, texts)
            yield {"clip": clip.path.name, "reader": "public pair", **alone.to_dict()}
    for thorough, of_all in together.items():
        yield {"clip": "all", "thorough": thorough, **of_all.to_dict()}
    if pair:
        yield {"clip": "all", "reader": "public pair", **of_pair.to_dict()}
    ratios = {"over_thorough": together[True].cost} | ({"over_pair": of_pair.cost} if pair else {})
    yield {"clip": "all", **{name: round(together[False].cost / cost, 3) for name, cost in ratios.items()}}


def _watch(clip: Clip, reader: "_ClockedReader", thorough: bool) -> list[TimedEvent]:
    """Watch a clip -> its events. OpenVINO needs one thread, which is then the camera's own."""
    reported: list[TimedEvent] = []
    last = 0.0

    def note(frame: AnalysedFrame) -> None:
        nonlocal last
        reader.note(_TRACKING)
        last = frame.frame.time
        reported.extend(TimedEvent(event, last) for event in frame.events)

    began = time.process_time()
    events = list(Watcher(reader, *_settings(clip, reader.schemes, thorough), on_frame=note))
    reader.seconds[_DECODE] = time.process_time() - began - sum(reader.seconds.values())
    return reported + [TimedEvent(event, last) for event in events[len(reported) :]]


def _settings(clip: Clip, schemes: Sequence[PlateScheme], thorough: bool) -> tuple[CameraSettings, WatcherSettings]:
    settings = WatcherSettings(CarSettings(unread=True), scheme=joined(schemes), thorough=thorough)
    return CameraSettings(str(clip.path), start=_START), settings


class _PairFigures:
    def __init__(self) -> None:
        self.seconds, self.frames, self.cars, self.right = 0.0, 0, 0, 0
        self.wrong_texts: list[str] = []

    def add(self, clip: Clip, seconds: float, frames: int, texts: Sequence[str]) -> None:
        expected = expected_texts(clip).keys()
        known = clip.texts | {plate.text for frame in clip.truth for plate in frame.plates}
        self.seconds += seconds
        self.frames += frames
        self.cars += len(expected)
        self.right += len(expected & set(texts))
        self.wrong_texts += [f"{clip.path.name}: {text}" for text in texts if text not in known]

    @property
    def cost(self) -> float:
        """CPU seconds a frame."""
        return self.seconds / max(1, self.frames)

    def to_dict(self) -> dict[str, Any]:
        """As `_Figures.to_dict`."""
        return {
            "frames": self.frames,
            "ms_a_frame": {"all": round(1000 * self.cost, 2)},
            "cameras_a_core": _cameras(self.cost),
            "cars": self.cars,
            "right": self.right,
            "wrong": len(self.wrong_texts),
            "wrong_texts": self.wrong_texts,
        }


def _cameras(cost: float) -> float:
    """CPU seconds a frame -> cameras with 10 such frames a second that a core carries."""
    return round(0.1 / cost, 1) if cost else 0.0


class _Figures:
    def __init__(self) -> None:
        self.frames = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.outcome = VideoOutcome()

    def add(self, clip: Clip, reported: Sequence[TimedEvent], reader: "_ClockedReader") -> None:
        self.frames += reader.frames
        for name, seconds in reader.seconds.items():
            self.seconds[name] += seconds
        judge_events(clip, reported, self.outcome)

    @property
    def cost(self) -> float:
        """CPU seconds a frame."""
        return sum(self.seconds.values()) / max(1, self.frames)

    def to_dict(self) -> dict[str, Any]:
        """Milliseconds of CPU time a frame by stage, and cars by what their events are, JSON-ready."""
        times = {name: seconds / max(1, self.frames) for name, seconds in self.seconds.items()}
        cars = self.outcome
        return {
            "frames": self.frames,
            "ms_a_frame": {name: round(1000 * value, 2) for name, value in {**times, "all": self.cost}.items()},
            "cameras_a_core": _cameras(self.cost),
            "cars": cars.cars,
            "right": cars.exact,
            "wrong": cars.wrong,
            "changed": cars.changed,
            "wrong_texts": cars.wrong_texts,
        }


class _ClockedReader:
    """A reader for one camera, which adds up the CPU time of the camera's thread by stage."""

    def __init__(self, reader: LocalReader) -> None:
        self.schemes = reader.schemes
        self.frames = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._reader = reader
        self._since: float | None = None
        """The thread's CPU time when its last stage ended."""

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        with self._frame():
            return self._reader.read(image, evidence=evidence, stages=self._stage)

    def look(self, frame: Frame, focus: Focus, *, vehicles: bool = False) -> Scene:
        with self._frame():
            return self._reader.look(frame, focus, vehicles=vehicles, stages=self._stage)

    @contextmanager
    def _frame(self) -> Iterator[None]:
        self.frames += 1
        self.note(_TO_BGR)
        yield
        self._since = time.thread_time()

    def note(self, name: str) -> None:
        ended = time.thread_time()
        if self._since is not None:
            self.seconds[name] += ended - self._since
        self._since = ended

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        began = time.thread_time()
        yield
        for figure, stages in _STAGES.items():
            if name in stages:
                self.seconds[figure] += time.thread_time() - began
