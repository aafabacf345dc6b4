"""`python -m benchmarks.cameras --only traffic` and `--only streams` with one short clip."""

import json
from pathlib import Path

import cv2
import numpy as np
import typer
from typer.testing import CliRunner

from benchmarks.cameras import main
from tests.clips import TEXT, passing, write_clip


def test_the_cost_of_each_stage_and_the_events_are_printed(tmp_path: Path) -> None:
    write_clip(tmp_path / "car.mp4", passing(12), fps=8)
    (tmp_path / "labels.csv").write_text(f"file,text\ncar.mp4,{TEXT}\n")
    app = typer.Typer()
    app.command()(main)
    answer = CliRunner().invoke(app, ["--only", "traffic", "--clips", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    *of_clip, thorough, sparing, ratio = map(json.loads, answer.stdout.splitlines())
    assert of_clip == [{**each, "clip": "car.mp4"} for each in (thorough, sparing)]
    for each in (thorough, sparing):
        assert (each["frames"], each["cars"], each["right"], each["wrong"]) == (12, 1, 1, 0)
        assert set(each["ms_a_frame"]) == {"decode", "to_bgr", "detector", "corners", "readers", "tracking", "all"}
        assert min(each["ms_a_frame"].values()) > 0
    assert ratio["over_thorough"] > 0


def test_the_cost_of_two_streams_is_printed(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    for path, size in ((tmp_path / "car.mp4", (360, 640)), (tmp_path / "small/car.mp4", (180, 320))):
        frames = (np.asarray(cv2.resize(frame, size[::-1]), np.uint8) for frame in passing(20))
        write_clip(path, frames, fps=10)
    (tmp_path / "labels.csv").write_text(f"file,text\ncar.mp4,{TEXT}\n")
    app = typer.Typer()
    app.command()(main)
    answer = CliRunner().invoke(app, ["--only", "streams", "--clips", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    *of_streams, ratio = map(json.loads, answer.stdout.splitlines())
    assert [(each["streams"], each["cars"], each["right"], each["wrong"]) for each in of_streams] == [
        (1, 1, 1, 0),
        (2, 1, 1, 0),
    ] * 2
    assert ratio["over_one_stream"] > 0
