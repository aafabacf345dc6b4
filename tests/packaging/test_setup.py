"""`make` and tools/environment.sh: their messages when they cannot continue, and what they leave alone."""

import shutil
from pathlib import Path

import pytest

from tests.packaging.conftest import shell
from tests.paths import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Only the set-up script and its lists: every fault must show before anything is installed."""
    for name in ("tools", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / "checkout" / name)
    return tmp_path / "checkout"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder first on PATH, for programs that answer as on another machine."""
    path = tmp_path / "bin"
    path.mkdir()
    return path


def answer(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("program", "script", "fault"),
    [
        ("uname", "[ $1 = -s ] && echo Linux || echo aarch64", "error: this is Linux aarch64; "),
        ("df", "echo Avail; echo 900M", " has 0 GB free, the environment needs 2 GB"),
    ],
)
def test_wrong_machine_is_named_in_one_line(
    program: str, script: str, fault: str, checkout: Path, programs: Path
) -> None:
    answer(programs / program, script)
    result = shell(f'PATH="{programs}:$PATH" tools/environment.sh embedded', cwd=checkout)
    assert result.returncode == 1
    assert fault in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python"])
def test_unusable_python_is_named_in_one_line(python: str, checkout: Path) -> None:
    result = shell("tools/environment.sh embedded", cwd=checkout, environment={"PYTHON": python})
    assert result.returncode == 1
    assert result.stderr == f"error: PYTHON={python} is not a Python 3.11 or 3.12 that runs\n"


def test_missing_python_is_named_in_one_line(checkout: Path, programs: Path) -> None:
    for name in ("python3.12", "python3.11", "python3"):
        answer(programs / name, "exit 1")
    result = shell(f'unset PYTHON; PATH="{programs}:$PATH" tools/environment.sh embedded', cwd=checkout)
    assert result.returncode == 1
    assert result.stderr.startswith("error: no Python 3.11 or 3.12 found")
    assert result.stderr.count("\n") == 1


def test_missing_git_is_named_in_one_line(checkout: Path, programs: Path) -> None:
    for name in ("bash", "dirname", "uname", "env"):
        (programs / name).symlink_to(str(shutil.which(name)))
    result = shell(f'PATH="{programs}"; tools/environment.sh embedded', cwd=checkout)
    assert result.returncode == 1
    assert result.stderr == "error: git is not installed\n"


def test_make_lets_python_keep_compiled_files() -> None:
    command = "make --eval 'told: ; @printenv PYTHONDONTWRITEBYTECODE || echo unset' told"
    assert shell(command, environment={"PYTHONDONTWRITEBYTECODE": "1"}).stdout == "unset\n"


def test_help_is_the_default_and_names_every_target() -> None:
    result = shell("make")
    assert [line.split()[1] for line in result.stdout.splitlines()] == [
        "help",
        "demo",
        "demo-video",
        "convert",
        "test",
        "test-fast",
        "test-extras",
        "soak",
        "attacks",
        "bench",
        "check",
        "docs",
        "image",
        "test-image",
        "gpu-check",
        "sbom",
        "wheel",
        "sdist",
        "clean",
        "lock",
    ]
