"""`python -m benchmarks.detector`: times our detectors and the yolov5 package's on one frame, in one run.

Same frame, same size, and the same weights except for `yolo_fast`, from the BGR frame to boxes in its pixels: ours as
served (OpenVINO); the package's own eager network, letterbox and non-maximum suppression, in its own process. They take
turns.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import cv2
import matplotlib
import numpy as np
import typer
from rich.console import Console

from benchmarks.callers.pictures import drawn_picture
from benchmarks.report.report import Report
from plate_nets.common.errors import PlateError
from plate_nets.contract import YOLO
from plate_nets.networks.checkpoint import weights_path
from plate_nets.networks.registry import YOLO_FAST
from plate_nets.networks.runtimes.networks import load_network, network_folder, released
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from training.command import errors_in_one_line

REPOSITORY = Path("model_repository")
WARM_UP = 5
FRAME = (720, 1280)


def environment(settings: Path, threads: int = 1) -> dict[str, str]:
    """Environment variables that keep the yolov5 package off the network, and make it write only here."""
    settings.mkdir(parents=True, exist_ok=True)
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    shutil.copyfile(font, settings / "Arial.ttf")  # otherwise it downloads this font
    return os.environ | {
        "YOLO_OFFLINE": "true",
        "YOLO_AUTOINSTALL": "false",
        "YOLO_CONFIG_DIR": str(settings),
        "YOLOV5_CONFIG_DIR": str(settings),
        "YOLOv5_AUTOINSTALL": "false",
        "HF_HUB_OFFLINE": "1",
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
        "OMP_NUM_THREADS": str(threads),
    }


@errors_in_one_line()
def main(
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of each detector.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="How often to measure each detector.")] = 10,
    frames: Annotated[int, typer.Option(min=1, help="Frames per turn.")] = 10,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures here.", dir_okay=False)] = None,
) -> None:
    """Measure our detector and the yolov5 package's on 1280x720 frames: both medians and their ratio."""
    report = Report({"threads": threads}, json_file)
    settings = DetectionSettings()
    frame = drawn_picture(1, FRAME).frame
    version = released(REPOSITORY, YOLO.name)
    detectors = {
        named: PlateDetector(load_network(name, network_folder(version, name), None, threads), settings)
        for named, name in {"ours": YOLO.name, "ours, fast": YOLO_FAST.name}.items()
    }
    cv2.setNumThreads(threads)
    times: dict[str, list[float]] = {**{named: [] for named in detectors}, "yolov5 package": []}
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "frame.npy", frame)
        with package_process(folder, threads, settings) as package:
            for turn in range(rounds + 1):
                for named, detector in detectors.items():
                    for _ in range(frames if turn else WARM_UP):
                        started = time.perf_counter()
                        boxes, _ = detector.detect(frame)
                        if turn:
                            times[named].append((time.perf_counter() - started) * 1000)
                    found[named] = len(boxes)
                found["yolov5 package"], theirs = detect(package, frames if turn else WARM_UP)
                if turn:
                    times["yolov5 package"].extend(theirs)
    if len(set(found.values())) != 1:
        raise PlateError(f"not the same answer: boxes found {found}")
    medians = {name: statistics.median(values) for name, values in times.items()}
    report.set(
        "detector",
        {
            "title": f"A 1280x720 frame, {threads} threads, median of {rounds} x {frames} in turns",
            "rows": [{"name": name, "boxes": found[name], "ms": ms} for name, ms in medians.items()],
            "ratio": medians["ours"] / medians["yolov5 package"],
        },
    )
    report.print(Console())


def package_process(folder: Path, threads: int, settings: DetectionSettings) -> subprocess.Popen[str]:
    """The package's detector in its own process: takes a number of frames, returns times in ms."""
    numbers = [settings.side_for(FRAME), settings.proposal, settings.iou_threshold, settings.max_detections]
    arguments = [str(folder / "frame.npy"), str(weights_path("yolo")), str(threads), *map(str, numbers)]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.measures.package_detector", *arguments],
        env=environment(folder / "settings", threads),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def detect(package: subprocess.Popen[str], frames: int) -> tuple[int, list[float]]:
    """Detect this many times -> boxes found, and ms for each time."""
    assert package.stdin is not None and package.stdout is not None
    package.stdin.write(f"{frames}\n")
    package.stdin.flush()
    for line in package.stdout:
        kind, _, values = line.partition("detected ")
        if not kind and values:
            boxes, *times = values.split()
            return int(boxes), [float(each) for each in times]
    raise RuntimeError("the yolov5 package's process ended; its output above says why")


if __name__ == "__main__":
    typer.run(main)
