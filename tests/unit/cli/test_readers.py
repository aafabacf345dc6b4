"""Which reader is used without Triton, and what the command says about it."""

import importlib
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.readers import local_reader, reads_in_process, started, waiting
from plate_nets.cli.web import open_backend
from plate_nets.common.errors import InputError, MissingExtra, WeightsError
from plate_nets.countries import main_scheme
from plate_nets.recognition.health import check_health, known_picture
from plate_nets.recognition.reader import FrameLimits
from plate_nets.web.settings import WebSettings
from tests.clips import still, write_clip

NO_TRITON = (
    "plates: reading in this process, because no Triton can be started here: the embedded server needs nvidia-pytriton"
)


@pytest.fixture(autouse=True)
def no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment without the extra `embedded` and outside NVIDIA's container."""
    monkeypatch.setitem(sys.modules, "pytriton", None)
    monkeypatch.setattr("shutil.which", lambda _: None)


@pytest.fixture
def car(tmp_path: Path) -> Path:
    path = tmp_path / "car.jpg"
    path.write_bytes(known_picture().image)
    return path


def test_without_triton_pictures_are_read_in_process_with_one_line_of_notice(car: Path) -> None:
    result = CliRunner().invoke(app, ["read", str(car)])
    assert result.exit_code == 0, result.stderr
    assert all(text in result.stdout for text in known_picture().texts)
    assert result.stderr.startswith(NO_TRITON) and result.stderr.count("\n") == 2, "and how to name the country"


def test_cars_are_watched_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clip(tmp_path / "road.mp4", still(3))
    result = CliRunner().invoke(app, ["watch", "road.mp4"])
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith(NO_TRITON)


def test_the_page_reads_in_process() -> None:
    with ExitStack() as stack:
        backend, _ = open_backend(stack, None, False, 30, None, None, (main_scheme(),))
        assert backend.kind == "local"
        check_health(backend.reader)


def test_without_the_extra_for_reading_in_process_it_is_named(car: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "plate_nets.recognition.local", raising=False)
    monkeypatch.delitem(sys.modules, "plate_nets.recognition.images", raising=False)
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtra, match=r'reading without --url needs cv2: pip install "plate-nets\[local\]"'):
        reads_in_process(local=False, url=None)


def test_serve_names_the_options_that_need_no_server() -> None:
    result = CliRunner().invoke(app, ["serve", "--health-port", "0"])
    assert result.exit_code == 2
    assert 'pip install "plate-nets[embedded]"; or use --local or --url' in result.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--local", "--local and --url (or PLATES_URL) cannot be used together; leave one of them out\n"),
        ("--detail far", "plates serve --detail"),
    ],
)
@pytest.mark.parametrize("command", ["read car.jpg", "watch car.mp4", "web"])
def test_what_only_this_process_can_do_is_refused_beside_a_url(
    command: str, options: str, says: str, car: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(car.parent)
    result = CliRunner().invoke(app, [*command.split(), *options.split(), "--url", "127.0.0.1:9"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("plates: ")
    assert says in result.stderr


def test_missing_networks_end_the_run_before_the_first_picture(car: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["read", str(car), "--local", "--model-repository", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("plates: ") and result.stderr.count("\n") == 1
    with pytest.raises(WeightsError):
        local_reader([], tmp_path)


def in_limited_space(kilobytes: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`plates` in a process with this limit of address space."""
    command = f'ulimit -v {kilobytes} && exec "$@"'
    plates = ["sh", "-c", command, "sh", sys.executable, "-m", "plate_nets", *map(str, arguments)]
    return subprocess.run(plates, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("kilobytes", "scheme"),
    [(200_000, "russia"), (850_000, "russia"), (1_000_000, "russia"), (1_300_000, "russia"), (1_800_000, "world")],
)
def test_too_little_address_space_is_named_before_openvino_crashes(car: Path, kilobytes: int, scheme: str) -> None:
    """OpenVINO ended some of these with SIGSEGV, some never, and some with a traceback."""
    done = in_limited_space(kilobytes, "read", car, "--local", "--scheme", scheme)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("plates: reading in this process needs ") and done.stderr.count("\n") == 1
    assert done.stderr.endswith("there is too little memory for it; free some, or raise the limit (`ulimit -v`)\n")


def test_reading_on_request_within_a_high_limit_of_address_space_prints_no_notice(car: Path) -> None:
    done = in_limited_space(16_000_000, "read", car, "--local", "--scheme", "russia")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(text in done.stdout for text in known_picture().texts)


def test_the_environment_sets_how_this_process_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATES_YOLO_LONG_SIDE", "640")
    monkeypatch.setenv("PLATES_YOLO_MAX_PIXELS", "60000000")
    monkeypatch.setenv("PLATES_PLATE_RECOGNITION_SURE", "0.9")
    reader = local_reader([], None)
    assert (reader.detection.long_side, reader.limits.max_pixels, reader.decoding.sure) == (640, 60_000_000, 0.9)


def test_a_batch_keeps_the_settings_of_the_environment(car: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATES_YOLO_DETAIL", "far")
    monkeypatch.setenv("PLATES_PLATE_RECOGNITION_SURE", "0.9")
    out = car.parent / "out"
    command = ["batch", str(car), "--out", str(out), "--workers", "1"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.stderr
    kept = json.loads((out / "_manifest.json").read_text(encoding="utf-8"))["settings"]
    assert kept == {"detail": "far", "sure": 0.9}
    monkeypatch.delenv("PLATES_YOLO_DETAIL")
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2 and "this run has {'sure': 0.9}" in result.stderr


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("read car.jpg", "plate_nets.cli.readers"),
        ("watch car.jpg", "plate_nets.cli.readers"),
        ("web", "plate_nets.cli.web"),
        ("batch car.jpg --out out", "plate_nets.batch.readers"),
    ],
)
def test_the_environment_sets_the_limits_of_a_client(
    command: str, module: str, car: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def client(*_: object, limits: FrameLimits, **__: object) -> NoReturn:
        raise InputError(f"{limits}")

    monkeypatch.chdir(car.parent)
    monkeypatch.setenv("PLATES_YOLO_MAX_BYTES", "100000000")
    monkeypatch.setattr(importlib.import_module(module), "PlateClient", client)
    result = CliRunner().invoke(app, [*command.split(), "--url", "127.0.0.1:9"])
    assert result.stderr.splitlines()[-1] == f"plates: {FrameLimits(max_bytes=100_000_000)}"


def test_the_environment_sets_the_limits_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def page(_: object, settings: WebSettings, __: object) -> NoReturn:
        raise InputError(f"{settings.limits}")

    monkeypatch.setenv("PLATES_YOLO_MAX_PIXELS", "60000000")
    monkeypatch.setattr("plate_nets.web.app.create_app", page)
    result = CliRunner().invoke(app, ["web", "--local"])
    assert result.stderr == f"plates: {FrameLimits(max_pixels=60_000_000)}\n"


def test_without_a_terminal_a_line_announces_a_long_step(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting("Starting Triton", as_line=True), waiting("Loading the models"):
        pass
    assert capsys.readouterr() == ("", "Starting Triton ...\n")


@pytest.mark.parametrize(("awaited", "named"), [("yolo, stn", "yolo, stn"), ("", "its ports")])
def test_a_slow_start_says_what_it_waits_for(awaited: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    server = Mock()
    server.start.side_effect = lambda slow: slow(awaited)
    with started(server):
        pass
    server.stop.assert_called_once_with()
    assert capsys.readouterr() == ("", f"Starting Triton and loading the models: waiting for {named} ...\n")
