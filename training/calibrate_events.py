"""`python -m training.calibrate_events FOLDER`: fits the temperature that calibrates the score of events."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plate_nets.cameras.fusion import FusionSettings
from plate_nets.cameras.stay import CarSettings
from plate_nets.countries import MAIN_SCHEME, load_scheme
from plate_nets.evaluation.calibration import log_loss
from plate_nets.evaluation.clips import at_rate, find_clips, read_clip
from plate_nets.evaluation.evidence import evidence_path, stored_or_read
from plate_nets.evaluation.video import VideoOutcome, judge
from plate_nets.recognition.local import LocalReader
from training.command import errors_in_one_line

TEMPERATURES = (0.8, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)


@errors_in_one_line()
def main(
    folder: Annotated[Path, typer.Argument(help="Clips with their truth: `training.synthesis --drive-by-set`.")],
    evidence: Annotated[
        Path, typer.Option(help="Folder that stores the readings of each version of the networks, for later runs.")
    ] = Path("out/evidence"),
    rate: Annotated[float, typer.Option(min=0.1, help="Frames per second to read.")] = 9,
    scheme: Annotated[
        str, typer.Option(help="Countries of the plates, comma-separated (built-in name or TOML file).")
    ] = MAIN_SCHEME,
) -> None:
    """Judge the clips at several temperatures; the best is the value for `FusionSettings.temperature`."""
    console = Console()
    country = load_scheme(scheme)
    reader = LocalReader(scheme=country)
    version = reader.model_version()
    read = []
    for clip in track(find_clips(folder, None), "reading"):
        path = evidence_path(evidence, clip.path, version, country, f"{rate:g}")
        read.append((clip, stored_or_read(path, read_clip(clip.path, reader, [rate]))))
    table = Table(
        "temperature", "log loss", "reported", "wrong", "wrong from 0.9", title=f"{FusionSettings.sure:g} is sure"
    )
    losses = {}
    for temperature in track(TEMPERATURES, "telling"):
        settings = CarSettings(fusion=FusionSettings(temperature=temperature))
        outcome = VideoOutcome()
        for clip, frames in read:
            judge(clip, frames, at_rate(frames, rate), country, outcome, settings)
        losses[temperature] = log_loss([(text.probability, text.right) for text in outcome.final_texts])
        reported, likely = (
            [text for text in outcome.final_texts if text.probability >= gate] for gate in (FusionSettings.sure, 0.9)
        )
        wrong = (str(sum(not text.right for text in texts)) for texts in (reported, likely))
        table.add_row(f"{temperature:g}", f"{losses[temperature]:.4f}", str(len(reported)), *wrong)
    console.print(table)
    console.print(f"temperature: {min(losses, key=losses.__getitem__):g}, {len(read)} clips")


if __name__ == "__main__":
    typer.run(main)
