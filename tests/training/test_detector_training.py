"""The whole training on a handful of rendered pictures, interrupted and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.dataset import COLUMNS
from plate_nets.networks.checkpoint import load_weights, save_weights
from plate_nets.networks.yolov5 import YOLOv5n
from training.detector.__main__ import main
from training.detector.job import Job
from training.detector.trainer import train

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """24 pictures of noise with a white bar each, and a label whose box has no area."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "set"
    (folder / "images").mkdir(parents=True)
    lines = [",".join(COLUMNS)]
    for number in range(24):
        picture = rng.integers(0, 120, (72, 96, 3), np.uint8)
        x, y = (int(v) for v in rng.integers(4, 50, 2))
        picture[y : y + 9, x : x + 32] = 255
        cv2.imwrite(str(folder / "images" / f"vk_{number}.png"), picture)
        lines.append(f"vk_{number}.png,{x},{y},{x + 32},{y + 9},A{number:03}AA77,,,,,,,,")
    lines.append("vk_0.png,5,5,5,9,A555AA77,,,,,,,,")
    (folder / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


COMMAND = (sys.executable, "-W", "ignore", "-m", "training.detector")


def options(folder: Path, out: Path, minutes: float, *more: str) -> list[str]:
    weights = out.parent / "start.safetensors"
    if not weights.is_file():
        save_weights(YOLOv5n(), weights, {})
    short = f"--minutes {minutes} --long-side 64 --batch 8 --holdout 0.3 --threads 1 --no-bfloat16".split()
    return ["--data", str(folder), "--weights", str(weights), "--out", str(out), *short, *more]


def test_interrupted_resumed_finished(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    log = (tmp_path / "log").open("wb")
    first = subprocess.Popen([*COMMAND, *options(folder, out, 60.0)], stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + 200
    while not (out / "clock.json").is_file():
        assert first.poll() is None, (tmp_path / "log").read_text(encoding="utf-8", errors="replace")[-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    spent = json.loads((out / "clock.json").read_text(encoding="utf-8"))
    assert not spent["finished"]

    resumed = [*COMMAND, *options(folder, out, 0.1, "--resume")]
    again = subprocess.run(resumed, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr[-3000:]
    after = json.loads((out / "clock.json").read_text(encoding="utf-8"))
    assert after["finished"]
    assert after["seconds"] > spent["seconds"]
    load_weights(YOLOv5n(), out / "best.safetensors")

    job = Job(**json.loads((out / "job.json").read_text(encoding="utf-8")))
    assert job.resume
    with pytest.raises(DatasetError, match="the run is finished"):
        train(job)


def test_nothing_to_resume(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    app = typer.Typer()
    app.command()(main)
    done = CliRunner().invoke(app, options(folder, out, 0.1, "--resume"))
    assert done.exit_code == 1
    assert "no run to resume" in done.stderr and done.stderr.count("\n") == 1
