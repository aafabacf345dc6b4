"""`plates evaluate --video`: how well events match the cars of clips."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from plate_nets.cli.output import write_figures
from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.countries import PlateScheme, joined

RATES = "all,5"
"""Default frames per second to evaluate."""


def evaluate_video(
    video: Path,
    truth: Path | None,
    rates: str,
    schemes: Sequence[PlateScheme],
    json_file: Path | None,
    evidence: Path | None,
) -> None:
    """Read each frame that one of the rates takes, once, and judge the events of the clips at each rate."""
    with needs("evaluate", "an evaluation"):
        from plate_nets.recognition.local import LocalReader
    with needs("watch", "--video"):
        import av  # noqa: F401  it belongs to another extra, whose name the error must give

        import plate_nets.cameras.cars  # noqa: F401
    with needs("evaluate", "--video"):
        from plate_nets.evaluation.clips import at_rate, count_frames, find_clips, read_clip
        from plate_nets.evaluation.evidence import evidence_path, stored_or_read
        from plate_nets.evaluation.video import VideoOutcome, judge
        from plate_nets.evaluation.video_report import print_video, video_figures
    scheme, reader = joined(schemes), LocalReader(scheme=schemes)
    console = Console(stderr=str(json_file) == "-")
    outcomes = {name: VideoOutcome() for name in map(str.strip, rates.split(","))}
    speeds = {name: _rate(name) for name in outcomes}
    clips = find_clips(video, truth)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for clip in clips:
            taken = read_clip(clip.path, reader, list(speeds.values()))
            watched = progress.track(taken, count_frames(clip.path), description=clip.path.name)
            path = evidence and evidence_path(evidence, clip.path, reader.model_version(), scheme, rates)
            frames = stored_or_read(path, watched)
            if not frames:
                raise InputError(f"{clip.path}: expected frames, got none")
            for name, outcome in outcomes.items():
                judge(clip, frames, at_rate(frames, speeds[name]), scheme, outcome)
    values = video_figures(
        {f"{name} frames/s" if name != "all" else "all frames": outcome for name, outcome in outcomes.items()}
    )
    print_video(console, values)
    write_figures(json_file, values)


def _rate(name: str) -> float:
    if name == "all":
        return float("inf")
    try:
        rate = float(name)
    except ValueError:
        rate = 0.0
    if not rate > 0:
        raise InputError(f"--rates: expected frames per second, such as {RATES}, got {name!r}")
    return rate
