"""``python -m training.synthesis``: draws crops, scenes, the test set and clips."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, track

from plate_nets.common.errors import InputError
from plate_nets.common.latin import latin_form
from plate_nets.countries import MAIN_SCHEME, load_schemes
from plate_nets.networks.runtimes.precision import CROPS, SCENE
from plate_nets.types import Frame
from training.command import errors_in_one_line
from training.picture_file import save_picture
from training.synthesis import Sample, synthesize
from training.synthesis.drive_by import DriveBySettings, LightName, truth_path, write_drive_by
from training.synthesis.drive_by_set import CameraName, write_drive_by_set
from training.synthesis.scene import render_scene
from training.synthesis.test_set import write_test_set

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_CROPS, _COLUMNS, _LABEL = 120, 8, 14
"""Of a sheet: crops, crops in a row, and px below each for its text."""


@app.command(no_args_is_help=True)
@errors_in_one_line()
def main(
    sheet: Annotated[Path | None, typer.Option(help="Write a sheet of labelled crops to this file.")] = None,
    kind: Annotated[str | None, typer.Option(help="Draw only this format of plate.")] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="Country to draw (built-in name or TOML file); for --scene and --test-set, several, comma-separated."
        ),
    ] = MAIN_SCHEME,
    seed: Annotated[int, typer.Option(help="Seed of every picture.")] = 0,
    test_set: Annotated[Path | None, typer.Option(help="Write a test set to this new folder.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many photos the set has.")] = 2000,
    lines: Annotated[int, typer.Option(min=1, max=2, help="Lines of the test set's plates.")] = 1,
    inverted: Annotated[
        bool, typer.Option(help="Draw the test set as infrared light shows it: light on dark.")
    ] = False,
    hidden: Annotated[
        bool, typer.Option(help="Hide the first sign of the test set's plates: none of them has a right text.")
    ] = False,
    scene: Annotated[Path | None, typer.Option(help="Write a street scene to this file.")] = None,
    plates: Annotated[int, typer.Option(min=0, max=6, help="Plates in a street scene.")] = 3,
    reach: Annotated[
        float | None, typer.Option(help="From the nearest to the farthest car of a street scene, m.", min=1)
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="Write the pictures on which precisions are compared to this folder.", exists=True),
    ] = None,
    drive_by: Annotated[
        Path | None, typer.Option(help="Write a clip of cars that drive by to this file, with its truth beside it.")
    ] = None,
    cars: Annotated[int, typer.Option(min=1, help="Cars of the clip.")] = DriveBySettings.cars,
    light: Annotated[LightName, typer.Option(help="Light of the clip.")] = DriveBySettings.light,
    drive_by_set: Annotated[
        Path | None, typer.Option(help="Write a set of clips to this folder, for this seed and the next ones.")
    ] = None,
    clips: Annotated[int, typer.Option(min=1, help="How many clips the set has.")] = 20,
    camera: Annotated[CameraName, typer.Option(help="Kind of camera that films the set.")] = "good",
) -> None:
    """Draw synthetic plates and scenes, write test sets and clips."""
    console = Console(soft_wrap=True)
    countries = load_schemes(scheme)
    if scene is None and test_set is None and len(countries) > 1:
        raise InputError(f"--scheme {scheme}: only --scene and --test-set have plates of several countries; name one")
    if test_set is None and (inverted or hidden):
        raise InputError(
            f"--{'inverted' if inverted else 'hidden'}: only a --test-set is drawn so; name a folder for it"
        )
    country = countries[0]
    if sheet is not None:
        rng = np.random.default_rng(seed)
        save_picture(sheet, _sheet([synthesize(country, rng, kind) for _ in range(_CROPS)]))
        console.print(f"wrote {sheet}")
    if scene is not None:
        drawn = render_scene(countries, np.random.default_rng(seed), plates=plates, reach=reach)
        save_picture(scene, drawn.frame)
        console.print(f"wrote {scene}: {', '.join(f'{p.kind} {p.text}' for p in drawn.plates) or 'no plate'}")
    if test_set is not None:
        _write(write_test_set(countries, test_set, count, seed, lines, inverted, hidden), count, test_set)
    if calibration is not None:
        rng = np.random.default_rng(seed)
        save_picture(calibration / SCENE, render_scene(country, rng, (640, 384), plates=4).frame)
        crops = np.stack([synthesize(country, rng).crop for _ in range(16)])
        (calibration / CROPS).write_bytes(crops.tobytes())
    if drive_by is not None:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("driving by", total=1.0)
            for share in write_drive_by(drive_by, country, seed, DriveBySettings(cars=cars, light=light)):
                progress.update(task, completed=share)
        console.print(f"wrote {drive_by} and {truth_path(drive_by)}: {cars} cars")
    if drive_by_set is not None:
        _write(write_drive_by_set(drive_by_set, country, camera, clips, seed, cars), clips, drive_by_set, "clips")


def _sheet(samples: Sequence[Sample]) -> Frame:
    """Samples -> one picture, BGR: crops twice as large, under each its text and the plate's height in the photo."""
    tiles = []
    for sample in samples:
        crop = cv2.resize(sample.crop, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)
        tile = cv2.copyMakeBorder(crop, 2, 2 + _LABEL, 2, 2, cv2.BORDER_CONSTANT)
        label, place = f"{latin_form(sample.text)} {sample.height:.0f}px", (4, tile.shape[0] - 4)
        cv2.putText(tile, label, place, cv2.FONT_HERSHEY_SIMPLEX, 0.38, (200, 200, 200), 1, cv2.LINE_AA)
        tiles.append(tile)
    rows = [np.concatenate(tiles[start : start + _COLUMNS], axis=1) for start in range(0, len(tiles), _COLUMNS)]
    return np.concatenate(rows)


def _write(files: Iterable[Path], count: int, folder: Path, message: str = "photos") -> None:
    console = Console(soft_wrap=True)
    for _ in track(files, total=count, description=folder.name, console=console):
        pass
    console.print(f"wrote {count} {message} to {folder}")


if __name__ == "__main__":
    app()
