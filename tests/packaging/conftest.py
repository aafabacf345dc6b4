"""Shared by the packaging tests: the checkout, its files in git, and the files that a reader of a page has."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from plate_nets.recognition.health import known_picture
from tests.clips import SMALL, passing, write_clip
from tests.frames import compose, encode
from tests.nginx import TOKEN
from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMPOSE = ROOT / "deploy" / "compose.yaml"
SERVICES = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
"""Of deploy/compose.yaml."""


def inherited() -> dict[str, str]:
    """Our environment, without the variables that would make our `make` part of the `make test` that started us."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return kept | {"COLUMNS": "200"}


def shell(
    script: str,
    *,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    timeout: float = 600,
    check: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run a script in bash that stops at its first error. Standard output and error are kept apart.

    ``check``: whether it must end well.
    """
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=cwd,
        env=inherited() | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert not check or result.returncode == 0, f"{script}\n{result.stdout}{result.stderr}"
    return result


def program(path: Path, script: str) -> None:
    """Write a program that answers as on another machine."""
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@cache
def kubernetes_tool(name: str) -> str:
    """The path of kubectl or helm."""
    return shell(f"tools/kubernetes.sh {name}", check=True).stdout.strip()


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """The files in git, relative to the root."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def demo() -> str:
    """The output of `make demo`."""
    result = shell("make demo", check=True)
    return result.stdout + result.stderr


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a video file of a passing car, and what a camera sends of one."""
    folder = tmp_path_factory.mktemp("clips")
    write_clip(folder / "clip.mp4", passing(12, empty=8), fps=4)
    write_clip(folder / "camera.mkv", passing(100, empty=10), fps=10)
    return folder


@pytest.fixture
def folder(tmp_path: Path, clips: Path) -> Path:
    """The files of the checkout, and those that a reader of the page has."""
    for path in ROOT.iterdir():
        if path.name not in (".git", "out", "dist"):
            (tmp_path / path.name).symlink_to(path)
    car = known_picture().image
    photos = tmp_path / "photos"
    for name in ("car.jpg", "photos/a.jpg", "photos/b.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(car)
    (tmp_path / "van.png").write_bytes(encode(compose(*SMALL)))
    (tmp_path / "list.txt").write_text("".join(f"{path}\n" for path in photos.iterdir()), encoding="utf-8")
    pq.write_table(pa.table({"image": [car, car]}), tmp_path / "photos.parquet")
    shutil.copy(clips / "clip.mp4", tmp_path)
    (tmp_path / "staff.csv").write_text("plate,label\nA123BC77,Ann\n", encoding="utf-8")
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    (tmp_path / "out").mkdir()
    return tmp_path
