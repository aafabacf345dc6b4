"""Runs the yolov5 package's trainer in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import matplotlib

from plate_nets.common.errors import DatasetError
from training.detector.job import CLOCK, Job


def train(job: Job) -> Path:
    """Run a job until its time budget is spent -> `best.safetensors` in its folder.

    Raises:
        DatasetError: nothing to resume, or the package's trainer failed; its output says why.
    """
    folder = Path(job.folder)
    clock = folder / CLOCK
    if job.resume and not clock.is_file():
        raise DatasetError(f"{folder}: no run to resume; expected {CLOCK} of a run that saved an epoch")
    if job.resume and json.loads(clock.read_text(encoding="utf-8"))["finished"]:
        raise DatasetError(f"{folder}: the run is finished; start a new one from its best.safetensors")
    path = folder / "job.json"
    path.write_text(json.dumps(asdict(job), indent=1), encoding="utf-8")
    command = [sys.executable, "-m", "training.detector.package_process", str(path)]
    done = subprocess.run(command, env=environment(folder / "settings", job.threads), check=False)
    if done.returncode != 0:
        raise DatasetError(f"{folder}: the yolov5 trainer ended with exit code {done.returncode}; see its output above")
    return folder / "best.safetensors"


def environment(settings: Path, threads: int = 1) -> dict[str, str]:
    """Environment variables that keep the yolov5 package off the network, and make it write only here."""
    settings.mkdir(parents=True, exist_ok=True)
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    shutil.copyfile(font, settings / "Arial.ttf")  # otherwise it downloads this font
    return os.environ | {
        "YOLO_OFFLINE": "true",
        "YOLO_AUTOINSTALL": "false",
        "YOLO_CONFIG_DIR": str(settings),
        "YOLOV5_CONFIG_DIR": str(settings),
        "YOLOv5_AUTOINSTALL": "false",
        "HF_HUB_OFFLINE": "1",
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
        "OMP_NUM_THREADS": str(threads),
    }
