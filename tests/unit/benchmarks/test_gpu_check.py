"""`make gpu-check` up to where a GPU or a server would be needed; `make gpu-check DEVICE=cpu` rehearses the rest."""

from pathlib import Path

import pytest

from benchmarks import gpu_check
from benchmarks.gpu_check import Failed, Report, compared, gpu_options, main
from tests.commands import Result, invoke
from tests.packaging.conftest import shell


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "scene.jpg"
    path.touch()
    return path


def check(picture: Path, *options: str) -> Result:
    return invoke(main, "--picture", picture, "--out", picture.parent / "out", *options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--device", "tpu"], "'tpu' is not one of"),
        (["--seconds", "0"], "0.1"),
        (["--picture", "none.jpg"], "none.jpg"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_done(picture: Path, options: list[str], says: str) -> None:
    result = check(picture, *options)
    assert (result.exit_code, says in result.stderr) == (2, True)
    assert not (picture.parent / "out").exists()


@pytest.mark.parametrize(
    ("engine", "says"), [("", "no container engine; run it by `make gpu-check`"), ("docker", "nvidia-smi: not found")]
)
def test_a_machine_without_a_gpu_is_named_and_nothing_is_built(
    picture: Path, monkeypatch: pytest.MonkeyPatch, engine: str, says: str
) -> None:
    monkeypatch.setenv("ENGINE", engine)
    monkeypatch.setattr("shutil.which", lambda name: None)
    result = check(picture, "--base", "nowhere")
    assert result.exit_code == 1
    report = (picture.parent / "out" / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# GPU check: FAILED")
    assert says in report and "image" not in report


def answer(text: str, confidence: float) -> list[dict[str, object]]:
    return [{"plates": [{"text": text, "confidence": confidence}]}]


def test_answers_are_compared() -> None:
    assert compared(answer("A", 0.99), answer("A", 0.98)).startswith("1 texts are the same")
    with pytest.raises(Failed, match="the server reads"):
        compared(answer("B", 0.99), answer("A", 0.99))
    with pytest.raises(Failed, match=r"a confidence differs by 0\.0900"):
        compared(answer("A", 0.90), answer("A", 0.99))
    with pytest.raises(Failed, match="the server reads"):
        compared([], [])


def test_a_step_that_fails_fails_the_report() -> None:
    report = Report("gpu")
    assert report.step("one", lambda: "fine") and report.ok
    assert not report.step("two", lambda: gpu_check.output("/nowhere/program"))
    assert "| one | passed |" in report.text() and "/nowhere/program: not found" in report.text()


def test_each_engine_gets_its_own_option() -> None:
    assert gpu_options("/usr/bin/docker") == ["--gpus", "all"]
    assert gpu_options("podman") == ["--device", "nvidia.com/gpu=all"]


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ("", 'tools/engine.sh .venv/bin/python -m benchmarks.gpu_check --device "gpu" --base ""'),
        ("DEVICE=cpu", '.venv/bin/python -m benchmarks.gpu_check --device "cpu" --base ""'),
        ("BASE=x", 'tools/engine.sh .venv/bin/python -m benchmarks.gpu_check --device "gpu" --base "x"'),
    ],
)
def test_make_checks_a_gpu_unless_told_otherwise(given: str, command: str) -> None:
    assert shell(f"make --dry-run gpu-check {given}").stdout.splitlines()[-1].strip() == command
