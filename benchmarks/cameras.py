"""Measures the cost of cameras and their recovery: `python -m benchmarks.cameras`, with an RTSP camera on loopback.

Needs Debian's gst-rtsp-server (`tests/rtsp.py` names its packages), but not for ``--only traffic``, ``--only streams``
and ``--only deinterlace``. Times of this process are CPU time; the camera runs in its own process and does not count.
"""

import itertools
import json
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import psutil
import typer

from benchmarks.traffic import traffic
from benchmarks.two_streams import two_streams
from plate_nets.cameras.address import parse_source
from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.capture import Capture, CaptureSettings
from plate_nets.cameras.fields import Deinterlace
from plate_nets.cameras.settings import LIVE_FPS, CameraSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.health import check_health
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import Reader
from plate_nets.types import Frame, Plate
from tests.clips import SMALL, passing, still, write_clip
from tests.rtsp import RtspCamera
from training.command import errors_in_one_line

_FULL_HD = (1080, 1920)
_RATE = 25.0
_SETTLED, _SECONDS = 3.0, 30.0
"""Seconds skipped at the beginning of a measurement, and its length."""
_RESTARTS = 10
"""How often the RTSP server restarts; every second time it freezes instead."""
_PROGRESSIVE = 500
"""Frames of the video that is not interlaced."""
_ROUNDS = 5
"""How often it is watched each way."""


@dataclass(frozen=True)
class SlowReader:
    reader: Reader
    seconds: float

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        until = time.monotonic() + self.seconds
        plates = self.reader.read(image, evidence=evidence)
        time.sleep(max(0.0, until - time.monotonic()))
        return plates


@errors_in_one_line()
def main(
    only: Annotated[
        str | None,
        typer.Option(
            help="Measure only this: overload, two (cameras), restarts, traffic, (two) streams or deinterlace."
        ),
    ] = None,
    clips: Annotated[
        Path | None,
        typer.Option(help="Clips with their truth, for traffic and streams. Default: drawn drive-bys.", exists=True),
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            help="Folder with a public pair to compare (yolo-*.onnx, cct_*.onnx, cct_*_config.yaml), for traffic.",
            exists=True,
        ),
    ] = None,
) -> None:
    """Measure what cameras cost, and how long a lost one takes to come back.

    Prints a line of JSON per measurement, and of traffic a table on standard error."""
    measures: dict[str, Callable[[Path], Iterable[dict[str, Any]]]] = {
        "overload": lambda folder: [overload(folder)],
        "two": lambda folder: [two_cameras(folder)],
        "restarts": lambda folder: [lost_and_found(folder)],
        "traffic": lambda folder: traffic(folder, clips, peers),
        "streams": lambda folder: two_streams(folder, clips),
        "deinterlace": lambda folder: [deinterlace(folder)],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in measures.items():
            if only in (None, name):
                for figures in measure(Path(folder)):
                    typer.echo(json.dumps({"measured": name, **figures}))


def overload(folder: Path) -> dict[str, Any]:
    """A reader at half of the camera's rate: age of the newest analysed frame, and growth of memory."""
    clip = write_clip(folder / "small.mkv", still(round((_SECONDS + 30) * _RATE)), fps=_RATE)
    # Small pictures and a small input: the pause dominates, whatever else the machine does
    reader = LocalReader(threads=1, detection=DetectionSettings(long_side=max(SMALL)))
    ages: list[float] = []
    memory: list[int] = []

    def note(frame: AnalysedFrame) -> None:
        ages.append(time.monotonic() - frame.frame.arrived)
        memory.append(psutil.Process().memory_info().rss)

    camera = RtspCamera(clip)
    try:
        settings = CameraSettings(camera.url(), id="camera", fps=_RATE, motion_gate=False)
        dropped = _watch(SlowReader(reader, 2 / _RATE), [settings], note)[0].dropped
    finally:
        camera.kill()
    settled = len(memory) // 5
    return {
        "age_p50_s": round(float(np.percentile(ages, 50)), 3),
        "age_p99_s": round(float(np.percentile(ages, 99)), 3),
        "frames": len(ages),
        "dropped": dropped,
        "memory_growth_mb": round((memory[-1] - memory[settled]) / 2**20, 1),
    }


def two_cameras(folder: Path) -> dict[str, Any]:
    """Two 1080p cameras with traffic, read in this process on all cores: frames analysed per second, together."""
    clip = folder / "traffic.mkv"
    cars = list(passing(40, size=_FULL_HD))
    count = round((_SECONDS + 15) * _RATE)
    write_clip(clip, itertools.islice(itertools.cycle(cars), count), fps=_RATE)
    cameras = [RtspCamera(clip) for _ in range(2)]
    try:
        settings = [CameraSettings(camera.url(), id=f"camera-{n}") for n, camera in enumerate(cameras)]
        shares: list[float] = []
        found = _watch(LocalReader(), settings, cpu=shares)
    finally:
        for camera in cameras:
            camera.kill()
    together = sum(each.analysed_fps for each in found)
    return {
        "analysed_fps": [round(each.analysed_fps, 1) for each in found],
        "together": round(together, 1),
        "cores_used": round(shares[0], 2),
        "fps_a_core_used": round(together / shares[0], 1),
    }


def deinterlace(folder: Path) -> dict[str, Any]:
    """A progressive 1080p video with traffic, watched with `deinterlace` auto and off in turn: processor time of both,
    the least of all rounds, and their ratio."""
    cars = list(passing(40, size=_FULL_HD))
    clip = write_clip(folder / "progressive.mkv", itertools.islice(itertools.cycle(cars), _PROGRESSIVE), fps=_RATE)
    reader = LocalReader(threads=1)
    check_health(reader)  # loads the networks
    ways: tuple[Deinterlace, ...] = ("auto", "off")
    least = dict.fromkeys(ways, math.inf)
    for way in ways * _ROUNDS:
        began = time.process_time()
        _consume(iter(Watcher(reader, [CameraSettings(str(clip), id="camera", fps=LIVE_FPS, deinterlace=way)])))
        least[way] = min(least[way], time.process_time() - began)
    return {
        **{f"cpu_s_{way}": round(cost, 2) for way, cost in least.items()},
        "auto_over_off": round(least["auto"] / least["off"], 3),
    }


def lost_and_found(folder: Path) -> dict[str, Any]:
    """A server killed and frozen in turns: seconds until offline is detected, and until frames are back."""
    clip = write_clip(folder / "long.mkv", still(6000), fps=_RATE)
    camera = RtspCamera(clip)
    before = threading.active_count()
    capture = Capture(parse_source(camera.url()), CaptureSettings(), lambda line: None)
    capture.start()
    process = psutil.Process()
    seen, back, memory = [], [], []
    try:
        _wait(capture, lambda: capture.state == "online")
        for number in range(_RESTARTS):
            (camera.freeze if number % 2 else camera.kill)()
            seen.append(_wait(capture, lambda: capture.state == "offline"))
            (camera.thaw if number % 2 else camera.start)()
            frames = capture.rate.count
            back.append(_wait(capture, lambda frames=frames: capture.rate.count > frames))  # type: ignore[misc]
            memory.append(process.memory_info().rss)
    finally:
        capture.stop()
        ended = capture.join(30)
        camera.kill()
    return {
        "restarts": _RESTARTS,
        "offline_seen_max_s": round(max(seen), 2),
        "frames_again_max_s": round(max(back), 2),
        "memory_growth_mb": round((memory[-1] - memory[0]) / 2**20, 1),
        "threads_left": threading.active_count() - before if ended else "some",
    }


def _wait(capture: Capture, until: Callable[[], bool]) -> float:
    started = time.monotonic()
    while not until():
        capture.watch()
        capture.handover.take(0.02)
        if time.monotonic() - started > 120:
            raise TimeoutError(f"{capture.state}: {capture.cause}")
    return time.monotonic() - started


def _watch(
    reader: Reader,
    cameras: list[CameraSettings],
    on_frame: Callable[[AnalysedFrame], None] | None = None,
    cpu: list[float] | None = None,
) -> list[Any]:
    """Watch for `_SECONDS` -> the cameras' final status; ``cpu`` gets the cores that this process used."""
    with Watcher(reader, cameras, on_frame=on_frame) as watcher:
        watcher.start()
        deadline = time.monotonic() + 60
        while any(each.analysed < 1 for each in watcher.status()):
            if time.monotonic() > deadline:
                raise TimeoutError("no frame")
            time.sleep(0.1)
        events = threading.Thread(target=_consume, args=(iter(watcher),), daemon=True)
        events.start()
        time.sleep(_SETTLED)
        began, used = time.monotonic(), time.process_time()
        time.sleep(_SECONDS)
        if cpu is not None:
            cpu.append((time.process_time() - used) / (time.monotonic() - began))
        status = watcher.status()
    events.join(30)
    return status


def _consume(events: Iterator[Any]) -> None:
    for _ in events:
        pass


if __name__ == "__main__":
    typer.run(main)
