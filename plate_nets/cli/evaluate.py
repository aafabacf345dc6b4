"""`plates evaluate`: how well a labelled folder is found and read."""

import json
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.plates import DEFAULT_SCHEME, load_scheme
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.detection import DetectionSettings


class BoxSource(StrEnum):
    """Where the boxes come from."""

    given = "given"
    detected = "detected"


CURVES_FROM = 0.01
"""Least score of the boxes that precision and recall curves are drawn over."""


def evaluate(
    dataset: Annotated[Path, typer.Argument(help="Folder with images/ and labels.csv.")],
    boxes: Annotated[BoxSource, typer.Option(help="Labelled boxes, or those the detector finds.")] = BoxSource.given,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
    worst: Annotated[Path | None, typer.Option(help="Folder for a sheet of the plates not read exactly.")] = None,
    curves: Annotated[Path | None, typer.Option(help="PNG with the curves.")] = None,
    plate_free: Annotated[
        Path | None, typer.Option(help="Folder of pictures without plates (with --boxes detected).")
    ] = None,
    networks: Annotated[
        Path | None, typer.Option(help="Folder with another reader: stn.pt and lprnet.pt, TorchScript.")
    ] = None,
    margin: Annotated[
        float, typer.Option(help="What a crop holds around a box, as a share of its height.")
    ] = DetectionSettings().crop_margin,
    long_side: Annotated[
        int, typer.Option(help="Long side of the detector's input, px.")
    ] = DetectionSettings().long_side,
    sure: Annotated[float, typer.Option(help="Least confidence of a text.")] = DecodingSettings().sure,
    scheme: Annotated[
        str, typer.Option(help="Whose plates are read: a country that the package has, or a TOML file.")
    ] = DEFAULT_SCHEME,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first faulty label.")] = False,
) -> None:
    """Measures on a labelled folder: exact, wrong and unread plates; with detected boxes also the detector."""
    from plate_nets.evaluation.evaluate import evaluate_detected, evaluate_given, pictures_below
    from plate_nets.evaluation.reading_metrics import threshold_trade, withdraw_unsure
    from plate_nets.evaluation.report import TRADE_THRESHOLDS, PlateFree, figures, print_figures, save_curves
    from plate_nets.evaluation.sheet import save_sheet
    from plate_nets.recognition.local import local_reader

    console = Console(stderr=json_file is not None and str(json_file) == "-")
    progress = partial(track, console=Console(stderr=True), transient=True)
    plates = load_scheme(scheme)
    labelled = load_dataset(dataset, strict=strict)
    photos = list(labelled.photos())
    least_score = DetectionSettings().score_threshold
    # Every box and text that the curves need is asked for once; what is given by default is chosen from them.
    reader = local_reader(
        plates,
        DetectionSettings(long_side=long_side, crop_margin=margin, score_threshold=CURVES_FROM),
        DecodingSettings(sure=0.0),
        networks,
    )
    free: PlateFree | None = None
    if boxes is BoxSource.given:
        outcome = evaluate_given(progress(photos, "reading"), reader.read_crops, plates, margin)
    else:
        outcome = evaluate_detected(progress(photos, "finding and reading"), reader.read, plates, margin, least_score)
        if plate_free is not None:
            answers = [
                [plate for plate in reader.read(read_photo(path)) if plate.score >= least_score]
                for path in progress(pictures_below(plate_free), "plate-free")
            ]
            with_text = sum(any(p.text and p.confidence >= sure for p in answer) for answer in answers)
            free = PlateFree(len(answers), sum(map(bool, answers)), with_text)
    trade = threshold_trade(outcome.plates, TRADE_THRESHOLDS)
    outcome.plates = withdraw_unsure(outcome.plates, sure)
    values = figures(outcome, least_score, free)
    print_figures(console, values, trade)
    if labelled.faults:
        console.print(f"{len(labelled.faults)} rows left out: {', '.join(map(str, labelled.faults[:5]))}")
    if json_file is not None:
        text = json.dumps(values, indent=2) + "\n"
        typer.echo(text) if str(json_file) == "-" else json_file.write_text(text, encoding="utf-8")
    if worst is not None:
        chosen = [index for index, plate in enumerate(outcome.plates) if not plate.exact]
        chosen.sort(key=lambda index: not outcome.plates[index].wrong)  # wrong texts first
        if chosen:
            crops = np.concatenate([outcome.crops[index] for index in chosen])
            save_sheet(worst / "worst.png", [outcome.plates[index] for index in chosen], crops)
            console.print(f"{len(chosen)} plates not read exactly: {worst / 'worst.png'}")
    if curves is not None:
        save_curves(curves, outcome.pictures, trade, least_score)
        console.print(f"curves: {curves}")
