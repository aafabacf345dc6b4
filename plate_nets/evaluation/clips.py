"""Clips of cars: which there are, what is known of each, and what a reader sees in their frames."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import av
import cv2
import numpy as np

from plate_nets.cameras.address import SourceAddress
from plate_nets.cameras.cuts import Cuts
from plate_nets.cameras.decoding import DecodingSettings, decode
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.regions import Regions
from plate_nets.common.errors import DatasetError, InputError, SourceError
from plate_nets.common.intake.video import open_video
from plate_nets.evaluation.dataset import csv_rows
from plate_nets.evaluation.evidence import ReadFrame
from plate_nets.evaluation.video_truth import TrueFrame, load_truth
from plate_nets.recognition.reader import FrameLimits, Reader
from plate_nets.types import Frame

SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".ts")


@dataclass(frozen=True)
class Clip:
    """A clip and what is known of it: each frame (``truth``), or only the texts of its cars.

    ``doubtful``: texts that no person is sure of; their cars do not count.
    """

    path: Path
    truth: tuple[TrueFrame, ...]
    texts: frozenset[str]
    doubtful: frozenset[str] = frozenset()


def find_clips(video: Path, truth: Path | None) -> list[Clip]:
    """A clip with its truth file, or a folder of clips -> the clips with what is known of them.

    In a folder, the truth is either a *.jsonl beside each clip or a row ``file,text`` in labels.csv; if that has a
    column ``sure``, cars with 0 in it do not count.

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
        raise DatasetError(f"{video}: contains no video; expected {', '.join(SUFFIXES)}")
    return clips


def read_clip(path: Path, reader: Reader, rates: Sequence[float]) -> Iterator[ReadFrame]:
    """Read the plates of the frames that one of the rates (frames per second) takes; the other frames have none.

    Raises:
        InputError: it does not open as a video.
    """
    cuts = Cuts()
    clocks = [Clock(rate) for rate in rates]
    for time, frame in _frames(path):
        cut = cuts.at(np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), np.uint8))
        h, w = frame.shape[:2]
        taken = [clock.takes(time) for clock in clocks]
        plates = Regions().select(reader.read(frame, evidence=True), (h, w)) if any(taken) else ()
        yield ReadFrame(time, tuple(plates), cut)


def count_frames(path: Path) -> int | None:
    """The number of frames that a clip declares; None if it declares none."""
    try:
        with open_video(path, FrameLimits().max_pixels) as container:
            return container.streams.video[0].frames or None
    except (OSError, IndexError, av.error.FFmpegError) as error:
        raise InputError(f"{path}: expected a video, got {error}") from error


@dataclass
class Clock:
    """When a reader at this many frames per second takes the next frame: as soon as it is free."""

    rate: float
    _due: float = -inf

    def takes(self, time: float) -> bool:
        if time < self._due - 1e-6:
            return False
        self._due = max(self._due, time) + 1 / self.rate
        return True


def at_rate(frames: Sequence[ReadFrame], rate: float) -> list[int]:
    """The numbers of the frames that a reader at this many frames per second takes."""
    clock = Clock(rate)
    return [index for index, frame in enumerate(frames) if clock.takes(frame.time)]


def _labelled(path: Path, truth: Sequence[TrueFrame]) -> Clip:
    return Clip(path, tuple(truth), frozenset(plate.text for frame in truth for plate in frame.plates))


def _frames(path: Path) -> Iterator[tuple[float, Frame]]:
    try:
        for decoded in decode(SourceAddress("file", str(path)), DecodingSettings(), lambda _: None, lambda _: None):
            time = decoded.time or 0.0
            frame = VideoFrame(decoded.picture, time, time, time, decoded.pixel)
            yield time, frame.stretch.frame(frame.bgr())
    except SourceError as error:
        raise InputError(f"{path}: expected a video, got {error}") from error
