"""Shared by the packaging tests: the checkout, and its files in git."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.paths import ROOT


def inherited() -> dict[str, str]:
    """Our environment, without the variables that would make our `make` part of the `make test` that started us."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return kept | {"COLUMNS": "200"}


def shell(
    script: str, *, cwd: Path = ROOT, environment: Mapping[str, str] | None = None, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run a script in bash that stops at its first error. Standard output and error are kept apart."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=cwd,
        env=inherited() | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """The files in git, relative to the root."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]
