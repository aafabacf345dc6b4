"""`python -m converters` as a user runs it, on the committed weights and configurations."""

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from converters.__main__ import app
from plate_nets.networks.registry import DETECTORS, NETWORKS
from tests.commands import Result
from tests.paths import ROOT
from tests.schemes import for_testland


def converters(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The committed model repository without converted files."""
    copy = tmp_path / "model_repository"
    converted = shutil.ignore_patterns("*.pt", "*.xml", "*.bin", "*.onnx", "__pycache__")
    shutil.copytree(ROOT / "model_repository", copy, ignore=converted)
    return copy


@pytest.mark.slow
def test_converts_once_and_checks(folder: Path) -> None:
    first = converters("stn", "--model-repository", folder)
    assert first.exit_code == 0, first.stderr
    assert "stn: converted, model.pt, largest difference" in first.stdout
    assert (folder / "stn" / "1" / "model.pt").is_file()
    assert not (folder / "lprnet" / "1" / "model.pt").exists()

    again = converters("stn", "--model-repository", folder)
    assert (again.exit_code, again.stdout) == (0, "stn: up to date\n")

    check = converters("stn", "--check", "--model-repository", folder)
    assert check.exit_code == 0, check.stderr
    assert "equal to the network" in check.stdout
    assert "matches the contract" in check.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "format", "file"),
    [
        (("lprnet",), "onnx", "model.onnx"),  # docs/how-to/other-formats.md converts stn
        pytest.param(tuple(NETWORKS), "onnx", "model.onnx", marks=pytest.mark.soak),
        pytest.param(tuple({*NETWORKS} - {*DETECTORS}), "aoti", "model.pt2", marks=pytest.mark.soak),
    ],
    ids=["onnx of one", "onnx", "aoti"],
)
def test_networks_are_converted_to_other_formats(names: Sequence[str], format: str, file: str, folder: Path) -> None:
    """AOTInductor takes half an hour for the detector."""
    done = converters(*names, "--format", format, "--model-repository", folder)
    assert done.exit_code == 0, done.stderr
    for name in names:
        (difference,) = re.findall(rf"^{name}: converted, {file}, largest difference (\S+)", done.stdout, re.M)
        assert float(difference) < 1e-4


@pytest.fixture
def not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that make the formats are imported again, as by a new process."""
    for module in ("onnx_file", "aoti_package"):
        monkeypatch.delitem(sys.modules, f"plate_nets.networks.conversion.{module}", raising=False)


@pytest.mark.usefixtures("not_imported")
def test_a_format_without_its_extra_names_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    done = converters("stn", "--format", "onnx", "--model-repository", folder)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == 'error: the format onnx needs onnxruntime: pip install "plate-nets[convert,onnx]"\n'


@pytest.mark.usefixtures("not_imported")
@pytest.mark.parametrize(
    ("compiler", "version", "fault"),
    [
        ("no-such-compiler", torch.__version__, "needs a C++ compiler: install g++"),
        ("g++", "2.8.0", "needs torch 2.9, found 2.8.0"),
    ],
    ids=["compiler", "torch"],
)
def test_a_package_without_its_tools_is_refused_before_anything_starts(
    compiler: str, version: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch._inductor.config  # takes two seconds

    monkeypatch.setattr(torch, "__version__", version)
    with torch._inductor.config.patch("cpp.cxx", (compiler,)):  # what CXX was when torch was imported
        done = converters("--format", "aoti", "--model-repository", folder)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: the format aoti {fault}") and done.stderr.count("\n") == 1


def test_check_fails_on_missing_models_and_a_changed_configuration(folder: Path) -> None:
    config = folder / "lprnet" / "config.pbtxt"
    config.write_text(config.read_text(encoding="utf-8").replace("max_batch_size: 32", "max_batch_size: 16"))
    check = converters("--check", "--model-repository", folder)
    assert check.exit_code == 1
    faults = check.stderr.splitlines()
    assert all(line.startswith("error: ") for line in faults)
    for name in ("stn", "lprnet", "yolo"):
        assert any(f"{name}/1/model.pt: no such file" in line for line in faults)
    assert any("lprnet" in line and "max_batch_size" in line and "16" in line and "32" in line for line in faults)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["nix"], "nix: no such network; expected yolo, yolo_fast, corners, stn"),
        (["--model-repository", "nowhere"], "nowhere: no such folder"),
        (["--format", "tensorrt"], "'tensorrt' is not one of"),
    ],
)
def test_wrong_arguments_exit_with_2(arguments: list[str], fault: str) -> None:
    result = converters(*arguments)
    assert result.exit_code == 2
    assert fault in result.stderr


def test_weights_of_another_scheme_are_refused(folder: Path) -> None:
    for_testland(folder)
    done = converters("lprnet", "--model-repository", folder)
    assert done.exit_code == 1
    assert "lprnet.safetensors: weights of another scheme: scheme: expected testland, got russia" in done.stderr
    assert not list((folder / "lprnet").glob("*/model.*"))
