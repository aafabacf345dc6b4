"""`plates evaluate`: how well the plates of a labelled folder are found and read."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from plate_nets.cli.evaluate_video import RATES, evaluate_video
from plate_nets.cli.options import Schemes
from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.countries import DEFAULT_SCHEMES, joined, load_schemes
from plate_nets.recognition.decoding import DecodingSettings

CURVES_FROM = 0.01
"""Minimum score of the boxes for precision and recall curves."""


def evaluate(
    dataset: Annotated[Path | None, typer.Argument(help="Folder with images/ and labels.csv.")] = None,
    boxes: Annotated[
        Literal["given", "detected"],
        typer.Option(help="Which boxes to read: the labelled ones, or those that the detector finds."),
    ] = "given",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file; - for standard output.")
    ] = None,
    worst: Annotated[
        Path | None, typer.Option(help="Save a sheet of the plates that were not read exactly to this folder.")
    ] = None,
    curves: Annotated[Path | None, typer.Option(help="Save the curves to this PNG.")] = None,
    plate_free: Annotated[
        Path | None, typer.Option(help="Folder of pictures without plates: also count what is found in them.")
    ] = None,
    sure: Annotated[
        float, typer.Option(help="How certain a text must be, 0 to 1.", min=0, max=1)
    ] = DecodingSettings().sure,
    scheme: Schemes = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first faulty label or picture.")] = False,
    degrade: Annotated[
        bool, typer.Option("--degrade", help="Read each plate again as a distant one: six heights, two JPEG qualities.")
    ] = False,
    video: Annotated[
        Path | None, typer.Option(help="Evaluate a clip, or a folder of clips with their truth, instead of photos.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Truth of the clip, as lines of JSON. Default: the *.jsonl beside it.")
    ] = None,
    rates: Annotated[str, typer.Option(help="Frames per second at which to read clips, comma-separated.")] = RATES,
    evidence: Annotated[
        Path | None,
        typer.Option(
            help="Store what was read in clips in this folder, so that the same networks need not read them again."
        ),
    ] = None,
) -> None:
    """Measure how many plates of a labelled folder are read right, wrong, or not at all.

    With --boxes detected, it also measures the detector. With --degrade, it measures how many of the certain texts are
    right at each height of the plate, on the labelled boxes. With --video, it measures the events of cars in clips: how
    many are right, wrong, missed or duplicate, how early they come, and how well the tracks follow the cars (IDF1).
    """
    schemes = load_schemes(DEFAULT_SCHEMES if scheme is None else scheme)
    if video is not None:
        evaluate_video(video, truth, rates, schemes, json_file, evidence)
        return
    if dataset is None:
        raise InputError("plates evaluate needs a folder with images/ and labels.csv, or --video CLIP")
    with needs("evaluate", "an evaluation"):
        from plate_nets.cli.evaluate_degraded import report_degraded
        from plate_nets.cli.evaluate_photos import Judging, report_photos
        from plate_nets.evaluation.dataset import load_dataset
        from plate_nets.evaluation.evaluate import pictures_below
        from plate_nets.recognition.detection import DetectionSettings
        from plate_nets.recognition.local import LocalReader
    if curves is not None:
        with needs("evaluate", "--curves"):
            import matplotlib  # noqa: F401  before the work, not after it

    labelled = load_dataset(dataset, strict=strict)
    every_text = DecodingSettings(sure=0.0)
    if degrade:
        reader = LocalReader(scheme=schemes, decoding=every_text)
        report_degraded(labelled, reader, sure, json_file, curves)
        return
    free_pictures = pictures_below(plate_free) if plate_free else []
    settings = DetectionSettings()
    reader = LocalReader(scheme=schemes, detection=replace(settings, score_threshold=CURVES_FROM), decoding=every_text)
    report_photos(
        labelled,
        free_pictures,
        reader,
        Judging(joined(schemes), sure, settings.score_threshold),
        detected=boxes == "detected",
        strict=strict,
        json_file=json_file,
        worst=worst,
        curves=curves,
    )
