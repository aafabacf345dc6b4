"""`python -m benchmarks.cameras --only traffic` with one short clip."""

import json
from pathlib import Path

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
    of_clip, of_all = map(json.loads, answer.stdout.splitlines())
    assert of_clip == {**of_all, "clip": "car.mp4"}
    assert (of_all["frames"], of_all["cars"], of_all["right"], of_all["wrong"]) == (12, 1, 1, 0)
    cost = of_all["ms_a_frame"]
    assert set(cost) == {"decode", "to_bgr", "detector", "corners", "readers", "tracking", "all"}
    assert min(cost.values()) > 0
