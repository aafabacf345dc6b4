"""How many cameras with 10 frames a second a core carries, what a frame of constant traffic costs stage by stage, and
whether the events of clips are right.

Beside it, on the same frames, the public detector and reader that a user would take instead.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.measures.public_pair import PublicPair, load_pair
from benchmarks.report.tables import Table
from benchmarks.two_streams import Encoder, settings_of, told_of
from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.watcher import Watcher
from plate_nets.countries import MAIN_SCHEME, load_scheme
from plate_nets.evaluation.clips import Clip, find_clips
from plate_nets.evaluation.video import TimedEvent, VideoOutcome, expected_texts, judge_events
from plate_nets.recognition.health import check_health
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import Focus
from plate_nets.types import Frame, Plate, Scene
from training.synthesis.drive_by import DriveBySettings, film
from training.synthesis.drive_by_set import write_drive_by_set

_STAGES = {
    "detector": ("letterbox", "network", "select"),
    "corners": ("corners", "crop"),
    "readers": ("tell_country", "rectify", "read", "decode_text", "look_again"),
}
"""The figures, and the stages of `LocalReader` in each."""
_DECODE, _TO_BGR, _TRACKING = "decode", "to_bgr", "tracking"
_CLIPS, _CARS, _SEED = 2, 8, 501
_SIZE, _RATE = (1920, 1080), 10
_QUIET, _SETTLED = 30, 5
"""Seconds of the clip in which nothing moves, and those at its beginning that do not count: the motion gate learns."""
_THOROUGH, _OURS, _PAIR = "ours, thorough", "ours", "public pair"
_OVER = {"thorough": _THOROUGH, "pair": _PAIR}
_TRUTH, _BESIDE = ("cars", "right", "wrong"), ("changed", "wrong_texts")
_FAR = 0.5
"""The minimum distance of a car at its first text that counts as far, as a share of that when it came into sight."""
_BUSY = {"quiet": 0.0, "a tenth": 0.1, "constant": 1.0}
"""The share of the time in which there is traffic."""


def traffic(folder: Path, clips: Path | None, peers: Path | None) -> Iterator[dict[str, Any]]:
    """Clips with a truth, by default drive-bys that are drawn into a folder -> figures of all their frames, for each
    clip and for all, with every plate read in every frame and without, and of the public pair in the folder ``peers``.
    A table of those of all is printed, too, with what a camera costs."""
    if clips is None:
        clips = folder / "drive_by"
        scheme = load_scheme(MAIN_SCHEME)
        for _ in write_drive_by_set(clips, scheme, "good", _CLIPS, _SEED, _CARS, size=_SIZE, rate=_RATE):
            pass
    reader = LocalReader(threads=1)
    check_health(reader)  # loads the networks
    readers: dict[str, LocalReader | PublicPair] = {_THOROUGH: reader, _OURS: reader}
    if peers:
        readers[_PAIR] = load_pair(peers)
    quiet = _write_quiet(folder / "quiet.mp4")
    together, live = ({name: _Figures() for name in readers} for _ in range(2))
    for clip in find_clips(clips, None):
        _watch(clip, reader, _OURS)  # prepares what depends on the size of its pictures: a camera does that once
        for name, each in readers.items():
            live[name].add(*_watch(clip, each, name, _RATE))
            watched = _watch(clip, each, name)
            own = _Figures()
            for figures in (own, together[name]):
                figures.add(*watched)
            yield {"clip": clip.path.name, "reader": name, **own.to_dict()}
    summary = [
        {"reader": name, **figures.to_dict(), **_load(_quiet_cost(quiet, readers[name], name), live[name].cost)}
        for name, figures in together.items()
    ]
    yield from ({"clip": "all", **each} for each in summary)
    over = {f"over_{word}": together[name].cost for word, name in _OVER.items() if name in together}
    yield {"clip": "all", **{ratio: round(together[_OURS].cost / cost, 3) for ratio, cost in over.items()}}
    _table(summary).print(Console(stderr=True, width=100))


def _table(summary: Sequence[Mapping[str, Any]]) -> Table:
    def cells(each: Mapping[str, Any]) -> list[str]:
        loads = (f"{seconds} ({each['cameras_a_core'][busy]})" for busy, seconds in each["cpu_s_a_second"].items())
        return [each["reader"], *loads, *(str(each[name]) for name in _TRUTH)]

    title = f"Traffic: CPU seconds a second of video with {_RATE} frames (cameras a core)"
    return Table("cameras", title, ["reader", *_BUSY, *_TRUTH], [cells(each) for each in summary])


def _write_quiet(path: Path) -> Path:
    """Draw an empty street with a sensor's noise, as a camera sends it."""
    settings = DriveBySettings(size=_SIZE, rate=_RATE)
    with Encoder(path, _SIZE[::-1], settings.bit_rate, _RATE) as video:
        for frame, _ in film([], _QUIET, np.random.default_rng(_SEED), settings):
            video.write(frame)
    return path


def _quiet_cost(clip: Path, reader: LocalReader | PublicPair, name: str) -> float:
    """CPU seconds a second of a clip in which nothing moves. Only the public pair reads each frame."""
    camera, settings = settings_of(clip, reader.schemes, name != _OURS)
    camera = replace(camera, motion_gate=name != _PAIR)
    clock: list[float] = []
    for _ in Watcher(reader, camera, settings, on_frame=lambda frame: clock.append(time.process_time())):
        pass
    counted = clock[_SETTLED * _RATE :]
    return (counted[-1] - counted[0]) * _RATE / (len(counted) - 1)


def _load(quiet: float, frame: float) -> dict[str, dict[str, float]]:
    """CPU seconds of a second without traffic, and of a frame with it -> those of a second of video, and how many such
    cameras a core carries, by how often there is traffic."""
    seconds = {name: (1 - busy) * quiet + busy * _RATE * frame for name, busy in _BUSY.items()}
    return {
        "cpu_s_a_second": {name: round(each, 3) for name, each in seconds.items()},
        "cameras_a_core": {name: round(1 / each, 1) for name, each in seconds.items()},
    }


def _watch(clip: Clip, local: LocalReader | PublicPair, name: str, fps: float | None = None) -> "_Watched":
    """Watch a clip, all frames or so many a second. OpenVINO needs one thread, which is then the camera's own."""
    if isinstance(local, PublicPair):
        return _by_pair(clip, local, fps)
    reader, outcome = _ClockedReader(local), VideoOutcome()
    reported: list[TimedEvent] = []
    times: list[float] = []

    def note(frame: AnalysedFrame) -> None:
        reader.note(_TRACKING)
        times.append(last := frame.frame.time)
        reported.extend(TimedEvent(event, last) for event in frame.events)

    began = time.process_time()
    camera, settings = settings_of(clip.path, reader.schemes, name == _THOROUGH)
    events = list(Watcher(reader, replace(camera, fps=fps), settings, on_frame=note))
    reader.seconds[_DECODE] = time.process_time() - began - sum(reader.seconds.values())
    judge_events(clip, reported + [TimedEvent(event, times[-1]) for event in events[len(reported) :]], outcome)
    far = {"coming": len(outcome.distances), "told_far": sum(each >= _FAR for each in outcome.distances)}
    beside = {each: getattr(outcome, each) for each in _BESIDE}
    return len(times), reader.seconds, {**told_of(outcome), **far, **beside}


def _by_pair(clip: Clip, pair: PublicPair, fps: float | None) -> "_Watched":
    """As `_watch`, with a pair that tells texts instead of events."""
    camera, settings = settings_of(clip.path, pair.schemes, thorough=True)
    began = time.process_time()
    for _ in Watcher(pair, replace(camera, fps=fps), settings):
        pass
    seconds, frames, texts = time.process_time() - began, pair.frames, pair.texts()
    expected = expected_texts(clip).keys()
    known = clip.texts | {plate.text for frame in clip.truth for plate in frame.plates}
    wrong = [f"{clip.path.name}: {text}" for text in texts if text not in known]
    cars = {"cars": len(expected), "right": len(expected & set(texts)), "wrong": len(wrong), "wrong_texts": wrong}
    return frames, {"all": seconds}, cars


_Watched = tuple[int, Mapping[str, float], Mapping[str, Any]]
"""Of a clip: its frames, the CPU seconds of each stage, and counts of cars and lists of texts by their names."""


class _Figures:
    def __init__(self) -> None:
        self.frames = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.cars: dict[str, Any] = {}

    def add(self, frames: int, seconds: Mapping[str, float], cars: Mapping[str, Any]) -> None:
        self.frames += frames
        for name, each in seconds.items():
            self.seconds[name] += each
        self.cars = {name: self.cars[name] + each if name in self.cars else each for name, each in cars.items()}

    @property
    def cost(self) -> float:
        """CPU seconds a frame."""
        return sum(self.seconds.values()) / max(1, self.frames)

    def to_dict(self) -> dict[str, Any]:
        """Milliseconds of CPU time a frame by stage, and cars by what is told of them, JSON-ready."""
        times = {name: seconds / max(1, self.frames) for name, seconds in self.seconds.items()}
        milliseconds = {name: round(1000 * value, 2) for name, value in {**times, "all": self.cost}.items()}
        return {"frames": self.frames, "ms_a_frame": milliseconds, **self.cars}


class _ClockedReader:
    """A reader for one camera, which adds up the CPU time of the camera's thread by stage."""

    def __init__(self, reader: LocalReader) -> None:
        self.schemes = reader.schemes
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
