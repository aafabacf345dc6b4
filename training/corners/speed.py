"""`python -m training.corners.speed`: what corners cost, beside the detector with upright crops, in one run.

Both go from the BGR frame to crops; they take turns on each frame. The processor's time counts, not the clock's, so
other work on the machine hardly matters.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import cv2
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.callers.pictures import drawn_picture
from plate_nets.errors import PlateError
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.recognition.corners import CornerFinder, CornerSettings
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.geometry import crop_plates
from plate_nets.runtimes.networks import default_repository, first_versions, load_converted
from plate_nets.types import Frame


def main(
    data: Annotated[Path | None, typer.Option(help="Labelled folder whose photos replace the drawn one.")] = None,
    photos: Annotated[int, typer.Option(min=1, help="How many photos to use, spread evenly over the folder.")] = 40,
    plates: Annotated[int, typer.Option(min=1, help="Plates on the drawn frame, 1280x720.")] = 1,
    threads: Annotated[int, typer.Option(min=1)] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="How often to measure each way, in turns, per frame.")] = 20,
) -> None:
    """Prints the median of each way a frame, their mean over the frames, and the ratio to upright crops."""
    cv2.setNumThreads(threads)
    try:
        networks = load_converted(first_versions(default_repository()), threads=threads)
        frames = _frames(data, photos) if data else [drawn_picture(plates).frame]
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    detector = PlateDetector(networks.yolo)
    served, always = (
        PlateFinder(detector, CornerFinder(networks.corners, settings))
        for settings in (CornerSettings(), CornerSettings(settled=0))
    )

    def upright(frame: Frame) -> None:
        crop_plates(frame, detector.detect(frame)[0], detector.settings.crop_margin)

    ways: dict[str, Callable[[Frame], object]] = {
        "upright crops": upright,
        "corners, as served": served.find,
        f"corners, {CornerSettings().looks} looks at all": always.find,
    }
    means = dict.fromkeys(ways, 0.0)
    for frame in frames:
        for name, median in _medians(ways, frame, rounds).items():
            means[name] += median / len(frames)
    where = data.name if data else f"{plates} plate(s) on 1280x720"
    table = Table(
        "way", "ms", "ratio", title=f"frame to crops, {where}, {threads} thread(s), {len(frames)} x {rounds} in turns"
    )
    for name, mean in means.items():
        table.add_row(name, f"{mean:.2f}", f"{mean / means['upright crops']:.3f}")
    Console().print(table)


def _frames(data: Path, count: int) -> list[Frame]:
    photos = list(load_dataset(data).photos())
    return [read_photo(path) for path, _ in photos[:: max(1, len(photos) // count)][:count]]


def _medians(ways: dict[str, Callable[[Frame], object]], frame: Frame, rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            started = time.process_time()
            way(frame)
            if turn:  # the first warms up
                times[name].append((time.process_time() - started) * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    typer.run(main)
