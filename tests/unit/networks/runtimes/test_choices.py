"""The choices of a precision that processes share through a file."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plate_nets.networks.runtimes import choices
from plate_nets.networks.runtimes.choices import CHOICES_VARIABLE, Choice, choices_file, remembered
from tests.disk import small_files

BFLOAT16, INT8 = Choice("bfloat16", "twice as fast"), Choice("int8", "three times as fast")


def again(choice: Choice) -> Choice:
    return Choice(choice.precision, f"as chosen before: {choice.why}")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "model.xml"
    path.write_bytes(b"layers")
    path.with_suffix(".bin").write_bytes(b"weights")
    return path


@pytest.fixture
def choose(tmp_path: Path, network: Path) -> Callable[..., Choice]:
    """Choose with a file of this test, where ``measured`` is what would be measured."""
    environ = {CHOICES_VARIABLE: str(tmp_path / "choices")}
    return lambda measured, path=network: remembered(path, lambda: measured, environ)


def test_a_network_is_measured_once_on_a_processor(
    choose: Callable[..., Choice], network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choose(BFLOAT16) == BFLOAT16
    assert choose(INT8) == again(BFLOAT16)

    other = tmp_path / "2" / "model.xml"
    other.parent.mkdir()
    for suffix in (".xml", ".bin"):
        other.with_suffix(suffix).write_bytes(network.with_suffix(suffix).read_bytes())
    assert choose(INT8, other) == again(BFLOAT16)  # the same weights in another folder
    other.with_suffix(".bin").write_bytes(b"others")
    assert choose(INT8, other) == INT8
    assert choose(INT8) == again(BFLOAT16)

    monkeypatch.setattr(choices, "_processor", lambda: b"another one")
    assert choose(INT8) == INT8


@pytest.mark.parametrize("rest", ["", " {", ' {"precision": "int4", "why": ""}', ' {"precision": "int8"}', " [1, 2]"])
def test_a_spoilt_line_is_measured_again(choose: Callable[..., Choice], tmp_path: Path, rest: str) -> None:
    choose(BFLOAT16)
    file = tmp_path / "choices"
    file.write_text(f"\xff\n{file.read_text().split()[0]}{rest}\n", encoding="latin-1")
    assert choose(INT8) == INT8
    assert choose(BFLOAT16) == again(INT8)


@pytest.mark.parametrize("file", [os.devnull, "/none/choices"])
def test_without_the_file_each_process_measures(network: Path, file: str) -> None:
    for choice in (BFLOAT16, INT8):
        assert remembered(network, lambda choice=choice: choice, {CHOICES_VARIABLE: file}) == choice  # type: ignore[misc]


def test_a_full_disk_loses_no_choice(choose: Callable[..., Choice]) -> None:
    with small_files(0):
        assert choose(BFLOAT16) == BFLOAT16
    assert choose(INT8) == INT8


def test_the_file_is_in_the_folder_for_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    file = choices_file({})
    assert file == tmp_path / "caches/plates/precision"
    assert (file.parent.stat().st_mode & 0o777, file.read_bytes()) == (0o700, b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))  # no folder can be made there
    assert choices_file({}) is None


def test_the_others_wait_for_the_first(network: Path, tmp_path: Path) -> None:
    """They are processes, for which the file is locked."""
    code = f"""
import os, time
from pathlib import Path
from plate_nets.networks.runtimes.choices import Choice, remembered

def measure():
    time.sleep(0.2)
    return Choice("int8", str(os.getpid()))

print(remembered(Path({str(network)!r}), measure).why)
"""
    environ = {**os.environ, CHOICES_VARIABLE: str(tmp_path / "choices")}
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = sorted((each.communicate()[0].strip() for each in running), key=len)
    assert said[1:] == [f"as chosen before: {said[0]}"] * 2
