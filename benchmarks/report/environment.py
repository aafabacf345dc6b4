"""Where and with what a figure was measured."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from plate_nets.triton.backend.quota import usable_cores

_PACKAGES = ("plate-nets", "numpy", "opencv-python-headless", "openvino", "torch", "tritonclient", "nvidia-pytriton")
_VARIABLES = ("PLATES_", "OMP_", "MKL_")
_SECRET = "KEY"


def environment() -> dict[str, Any]:
    """Hardware, versions, settings from the environment, and the command; no secrets, no paths."""
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": ["python", *sys.orig_argv[1:]],
        "hardware": {
            "processor": _processor(),
            "cores": usable_cores(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "gpus": _gpus(),
            "load_average_at_start": round(os.getloadavg()[0], 2),
        },
        "versions": {
            "python": platform.python_version(),
            "kernel": platform.release(),
            **{name: version for name in _PACKAGES if (version := _version(name))},
        },
        "settings": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(_VARIABLES) and _SECRET not in name
        },
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    result = subprocess.run(
        [program, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=20, check=False
    )
    return result.stdout.split("\n")[:-1] if result.returncode == 0 else []


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
