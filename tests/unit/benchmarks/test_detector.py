"""Our detector beside the yolov5 package's: both answer, and the report has their ratio. No test judges the time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_both_detectors_are_timed_with_the_same_result(tmp_path: Path) -> None:
    report = tmp_path / "detector.json"
    options = ("--threads", "1", "--rounds", "1", "--frames", "2", "--json", str(report))
    command = [sys.executable, "-m", "benchmarks.detector", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text(encoding="utf-8"))["detector"]
    assert [row["boxes"] for row in found["rows"]] == [1, 1, 1]
    ours, _, package = (row["ms"] for row in found["rows"])
    assert found["ratio"] == ours / package
    assert "ours over the package's" in done.stdout
