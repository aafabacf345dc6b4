"""`make` and tools/environment.sh: their messages when they cannot continue, and what they leave alone."""

import re
import shutil
from pathlib import Path

import pytest

from tests.packaging.conftest import program, shell
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


ARM = "[ $1 = -s ] && echo Linux || echo aarch64"


SET_UP = "tools/environment.sh embedded"
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")


@pytest.mark.parametrize(
    ("answers", "command", "fault"),
    [
        ({"uname": ARM}, "tools/environment.sh all", "error: this is Linux aarch64; "),
        ({"df": "echo / 9 9 900000 9% /"}, SET_UP, " has 0 GB free, the environment needs 2 GB"),
        ({}, f"PYTHON=/bin/false {SET_UP}", "error: PYTHON=/bin/false is not a Python 3.11 or newer that runs\n"),
        ({}, f"PYTHON=/none/python {SET_UP}", "error: PYTHON=/none/python is not a Python 3.11 or newer that runs\n"),
        (dict.fromkeys(PYTHONS, "exit 1"), f"unset PYTHON; {SET_UP}", "error: no Python 3.11 or newer found"),
    ],
    ids=["machine", "disk", "PYTHON fails", "PYTHON is missing", "no Python"],
)
def test_what_hinders_the_set_up_is_named_in_one_line(
    answers: dict[str, str], command: str, fault: str, checkout: Path, programs: Path
) -> None:
    for name, script in answers.items():
        program(programs / name, script)
    result = shell(f'PATH="{programs}:$PATH"; {command}', cwd=checkout)
    assert result.returncode == 1
    assert fault in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


PIP = """case "$*" in
*version_info*) exit {suits} ;;
*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*) echo "$@" >>asked ;;
esac"""


@pytest.mark.parametrize(
    ("machine", "suits", "why"),
    [
        (ARM, "0", "this is Linux aarch64; the embedded Triton server runs on Linux x86_64 only"),
        ("[ $1 = -s ] && echo Darwin || echo arm64", "0", "this is Darwin arm64; "),
        (
            "[ $1 = -s ] && echo Linux || echo x86_64",
            "$(echo \"$*\" | grep -c '(3, 13)')",
            "no Python 3.11 or 3.12 was found, and the embedded Triton server runs on no newer one",
        ),
    ],
)
def test_where_no_server_can_be_had_the_demo_reads_in_process(
    machine: str, suits: str, why: str, checkout: Path, programs: Path
) -> None:
    program(programs / "uname", machine)
    program(programs / "python", PIP.format(suits=suits))
    result = shell(f'PATH="{programs}:$PATH" PYTHON=python tools/environment.sh embedded', cwd=checkout, check=True)
    assert f"==> .venv: this project with the extra local, without a server: {why}" in result.stdout
    assert (checkout / "asked").read_text().splitlines()[-1] == "-m pip install --quiet --editable .[local] hatchling"
    assert (checkout / ".venv" / "local").read_text().startswith(why)
    recipe = shell("make --dry-run demo").stdout
    assert "how=--local" in recipe and "in one process (--local): $(cat .venv/local)" in recipe


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
    targets = re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    named = [line.split()[1] for line in shell("make").stdout.splitlines()]
    assert named == [each for each in targets if each not in ("photo", "programs")]  # steps of others
    assert len(named) > 20
