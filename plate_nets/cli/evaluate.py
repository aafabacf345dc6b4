"""`plates evaluate`: how well the plates of a labelled folder are found and read."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from plate_nets.cli.evaluate_video import RATES, evaluate_video
from plate_nets.cli.options import Schemes
from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.countries import DEFAULT_SCHEMES, MAIN_SCHEME, PlateScheme, joined, load_schemes
from plate_nets.networks.runtimes.networks import Networks, Runtime
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
    networks: Annotated[
        Path | None, typer.Option(help="Folder with another reader, as TorchScript: stn.pt and lprnet.pt.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="Margin of a crop around a box without corners, as a share of its height. Default: the reader's."
        ),
    ] = None,
    long_side: Annotated[
        int | None, typer.Option(help="Long side of the detector's input (px). Default: the reader's.")
    ] = None,
    sure: Annotated[
        float, typer.Option(help="How certain a text must be, 0 to 1.", min=0, max=1)
    ] = DecodingSettings().sure,
    scheme: Schemes = None,
    runtime: Annotated[
        Runtime, typer.Option(help="What runs the networks: OpenVINO, or torch with the committed weights.")
    ] = "openvino",
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
    if video is not None:
        schemes = load_schemes(DEFAULT_SCHEMES if scheme is None else scheme)
        evaluate_video(video, truth, rates, schemes, runtime, json_file, evidence)
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

    usual = MAIN_SCHEME if networks else DEFAULT_SCHEMES  # another reader in the folder takes the place of the main one
    schemes = load_schemes(usual if scheme is None else scheme)
    labelled = load_dataset(dataset, strict=strict)
    every_text = DecodingSettings(sure=0.0)
    if degrade:
        reader = LocalReader(scheme=schemes, runtime=runtime, decoding=every_text)
        report_degraded(labelled, reader, sure, json_file, curves)
        return
    free_pictures = pictures_below(plate_free) if plate_free else []
    settings = DetectionSettings()
    reader = LocalReader(
        scheme=schemes,
        runtime=runtime,
        detection=replace(
            settings,
            crop_margin=settings.crop_margin if margin is None else margin,
            long_side=settings.long_side if long_side is None else long_side,
            score_threshold=CURVES_FROM,
        ),
        decoding=every_text,
        networks=partial(_with_readers_of, networks, schemes) if networks else None,
    )
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


def _with_readers_of(folder: Path, schemes: Sequence[PlateScheme]) -> Networks:
    with needs("convert", "--networks"):
        from plate_nets.networks.runtimes.eager import load_eager  # imported here: torch takes 200 MB and seconds

    return load_eager(schemes, folder)
