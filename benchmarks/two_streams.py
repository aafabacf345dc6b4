"""What a 4K camera with constant traffic costs if cars are looked for on its small stream, and whether the events are
right."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from av.video.stream import VideoStream

from plate_nets.cameras.settings import LIVE_FPS, CameraSettings, WatcherSettings
from plate_nets.cameras.stay import CarSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.countries import MAIN_SCHEME, PlateScheme, joined, load_scheme
from plate_nets.evaluation.clips import Clip, find_clips
from plate_nets.evaluation.video import TimedEvent, VideoOutcome, judge_events
from plate_nets.recognition.health import check_health
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame
from training.synthesis.drive_by import DriveBySettings, film, plan, truth_path

_RATE = 15
_KEY_FRAMES = 2
"""Seconds from one key frame to the next."""
_LARGE, _SMALL = ((2160, 3840), 8_000_000), ((360, 640), 500_000)
"""Height and width, and bit/s."""
_CARS, _SEED = 10, 611
_ROUNDS = 2
"""How often each way is measured, in turn; the least of each counts."""
_BESIDE = "small"
"""The folder with the small streams, beside the large ones of the same names."""
_START = datetime.fromtimestamp(0, UTC)
"""When each clip begins, so that times are seconds of the clip, as in its truth."""


def two_streams(folder: Path, clips: Path | None) -> Iterator[dict[str, Any]]:
    """Clips with a truth, and small ones of the same names in the folder ``small`` beside them; by default a drive-by
    in 4K -> figures of each clip, read from one stream, also thoroughly, as 1.0.0 did, and from two, and the ratios of
    their costs.

    Frames are analysed as often as those of a live source.
    """
    if clips is None:
        clips = folder / "streams"
        write_streams(clips)
    reader = LocalReader(threads=1)
    check_health(reader)  # loads the networks
    for clip in find_clips(clips, None):
        small = clip.path.parent / _BESIDE / clip.path.name
        least = dict.fromkeys(((None, True), (None, False), (small, False)), math.inf)
        for way in tuple(least) * _ROUNDS:
            detect, thorough = way
            began = time.process_time()
            reported = _watch(clip, reader, detect, thorough)
            cost = time.process_time() - began
            least[way] = min(least[way], cost)
            judge_events(clip, reported, outcome := VideoOutcome())
            yield {
                "clip": clip.path.name,
                "streams": 2 if detect else 1,
                "thorough": thorough,
                "cpu_s": round(cost, 2),
                **told_of(outcome),
            }
        thorough_one, one, two = least.values()
        ratios = {"over_one_stream": round(two / one, 3), "over_thorough": round(two / thorough_one, 3)}
        yield {"clip": clip.path.name, **ratios}


def write_streams(folder: Path) -> None:
    """Draw a drive-by, and encode it in both sizes as a camera does."""
    (folder / _BESIDE).mkdir(parents=True)
    (h, w), _ = _LARGE
    settings = DriveBySettings(_CARS, size=(w, h), rate=_RATE, speeds=(20.0, 50.0))
    rng = np.random.default_rng(_SEED)
    drives = plan(load_scheme(MAIN_SCHEME), rng, settings)
    end = max(drive.end for drive in drives) + 0.5
    path = folder / "drive_by.mp4"
    with ExitStack() as stack, truth_path(path).open("w", encoding="utf-8") as truth:
        large = stack.enter_context(Encoder(path, *_LARGE, _RATE))
        small = stack.enter_context(Encoder(folder / _BESIDE / path.name, *_SMALL, _RATE))
        for frame, true in film(drives, end, rng, settings):
            large.write(frame)
            small.write(np.asarray(cv2.resize(frame, _SMALL[0][::-1], interpolation=cv2.INTER_AREA), np.uint8))
            truth.write(true.to_json() + "\n")


def _watch(clip: Clip, reader: LocalReader, small: Path | None, thorough: bool) -> list[TimedEvent]:
    camera, settings = settings_of(clip.path, reader.schemes, thorough)
    camera = replace(camera, fps=LIVE_FPS, detect=None if small is None else str(small))
    return [TimedEvent(event, event.last_seen.timestamp()) for event in Watcher(reader, camera, settings)]


def settings_of(clip: Path, schemes: Sequence[PlateScheme], thorough: bool) -> tuple[CameraSettings, WatcherSettings]:
    """How a clip is watched whose events are judged."""
    settings = WatcherSettings(CarSettings(unread=True), scheme=joined(schemes), thorough=thorough)
    return CameraSettings(str(clip), start=_START), settings


def told_of(outcome: VideoOutcome) -> dict[str, int]:
    """The readable cars of clips, those with an event of their text, and the wrong events."""
    return {"cars": outcome.cars, "right": outcome.exact, "wrong": outcome.wrong}


class Encoder(ExitStack):
    """Writes H.264 as cameras do: without B-frames, and a key frame now and then."""

    def __init__(self, path: Path, hw: tuple[int, int], bit_rate: int, rate: int) -> None:
        super().__init__()
        self._container = self.enter_context(av.open(str(path), "w"))
        options = {"preset": "veryfast", "tune": "zerolatency", "sc_threshold": "0"}
        stream = self._container.add_stream("libx264", rate=Fraction(rate), options=options)
        assert isinstance(stream, VideoStream)
        stream.height, stream.width = hw
        stream.pix_fmt, stream.bit_rate = "yuv420p", bit_rate
        stream.codec_context.gop_size = _KEY_FRAMES * rate
        self._stream = stream
        self.callback(lambda: self._container.mux(stream.encode(None)))

    def write(self, frame: Frame) -> None:
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(frame, "bgr24")))
