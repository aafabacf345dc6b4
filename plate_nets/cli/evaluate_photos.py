"""`plates evaluate` on photos: how well plates are found and read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from plate_nets.cli.output import counted, write_figures
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.calibration import reliability
from plate_nets.evaluation.dataset import Dataset, Fault
from plate_nets.evaluation.evaluate import Outcome, evaluate_detected, evaluate_given, read_plate_free
from plate_nets.evaluation.reading_metrics import threshold_trade, withdraw_unsure
from plate_nets.evaluation.report import TRADE_THRESHOLDS, figures, print_figures, save_curves
from plate_nets.evaluation.sheet import save_sheet
from plate_nets.recognition.local import LocalReader

_progress = partial(track, console=Console(stderr=True), transient=True)


@dataclass(frozen=True)
class Judging:
    """What counts: texts from ``sure``, and boxes from ``least_score``."""

    scheme: PlateScheme
    sure: float
    least_score: float


def report_photos(
    labelled: Dataset,
    plate_free: Sequence[Path],
    reader: LocalReader,
    judging: Judging,
    *,
    detected: bool,
    strict: bool,
    json_file: Path | None,
    worst: Path | None,
    curves: Path | None,
) -> None:
    """Read a folder's plates and its pictures without plates; print and write the figures, and save what is asked for.

    ``reader`` must return every box and text that the curves need; the default results are selected from them.
    """
    console = Console(stderr=str(json_file) == "-")
    outcome = _read(labelled, reader, judging, detected=detected, keep_crops=worst is not None)
    free, free_faults = _plate_free(plate_free, reader, judging, strict=strict)
    trade, bins = threshold_trade(outcome.plates, TRADE_THRESHOLDS), reliability(outcome.plates)
    outcome.plates = withdraw_unsure(outcome.plates, judging.sure)
    values = figures(outcome, judging.least_score, free)
    print_figures(console, values, trade, bins)
    _print_faults(console, "row", labelled.faults)
    _print_faults(console, "plate-free picture", free_faults)
    write_figures(json_file, values)
    if worst is not None:
        _save_worst(worst / "worst.png", outcome, console)
    if curves is not None:
        save_curves(curves, outcome.pictures, trade, bins, judging.least_score)
        console.print(f"curves: {curves}", soft_wrap=True)


def _read(labelled: Dataset, reader: LocalReader, judging: Judging, *, detected: bool, keep_crops: bool) -> Outcome:
    photos, scheme = list(labelled.photos()), judging.scheme
    if not detected:
        return evaluate_given(
            _progress(photos, "reading"), reader.cut, reader.read_crops, scheme, keep_crops=keep_crops
        )
    return evaluate_detected(
        _progress(photos, "finding and reading"),
        reader.cut,
        reader.read,
        scheme,
        judging.least_score,
        keep_crops=keep_crops,
    )


def _plate_free(
    pictures: Sequence[Path], reader: LocalReader, judging: Judging, *, strict: bool
) -> tuple[list[tuple[int, int]], list[Fault]]:
    """The boxes and the texts in each picture without plates, and the pictures that do not open."""
    found, faults = read_plate_free(_progress(pictures, "plate-free"), reader.read, strict=strict)
    readings = [[plate.reading for plate in each if plate.score >= judging.least_score] for each in found]
    texts = (sum(bool(each.text) and each.confidence >= judging.sure for each in picture) for picture in readings)
    return list(zip(map(len, readings), texts, strict=True)), faults


def _save_worst(path: Path, outcome: Outcome, console: Console) -> None:
    chosen = [index for index, plate in enumerate(outcome.plates) if not plate.exact]
    chosen.sort(key=lambda index: not outcome.plates[index].wrong)
    if chosen:
        crops = np.concatenate([outcome.crops[index] for index in chosen])
        save_sheet(path, [outcome.plates[index] for index in chosen], crops)
        console.print(f"{counted(len(chosen), 'plate')} not read exactly: {path}", soft_wrap=True)


def _print_faults(console: Console, thing: str, faults: Sequence[Fault]) -> None:
    if faults:
        first = ", ".join(map(str, faults[:5]))
        console.print(f"{counted(len(faults), thing)} left out: {first}", markup=False, soft_wrap=True)
