"""--scheme and --detail: what they change, and what a command passes to its own server."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.options import SCHEME_VARIABLE, use_detail, use_schemes
from plate_nets.cli.output import Picture, record
from plate_nets.contract import PLATE_RECOGNITION, YOLO
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.health import known_picture
from plate_nets.triton.backend.settings import SchemeSettings, read_settings
from plate_nets.types import DEFAULT_DETAIL, Reading
from tests.schemes import make_testland, write_testland
from tests.unit.cameras.traffic import plate


def told() -> str:
    return read_settings(SchemeSettings, PLATE_RECOGNITION.name, {}).scheme


def test_a_server_of_this_process_reads_the_named_schemes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert use_schemes(None) == ()
    assert told() == "world"
    monkeypatch.chdir(tmp_path)
    path = write_testland(tmp_path)
    names = [scheme.name for scheme in use_schemes("brazil, testland.toml")]
    assert names == ["brazil", "testland"] and told() == f"brazil,{path}", "the server runs in another folder"


def test_a_plate_without_a_text_is_explained_by_a_scheme_of_a_file(tmp_path: Path) -> None:
    schemes = [make_testland(tmp_path)]
    reading = Reading("", "AAAAAA", 0.999, (0.999,) * 6, scheme=schemes[0].name)
    picture = Picture(
        Path("car.jpg"), Path("car.jpg"), plates=(replace(plate("", 300, 200), reading=reading, logits=None),)
    )
    reasons = [record(picture, known)["plates"][0]["unread"]["reason"] for known in (schemes, ())]
    assert reasons == ["no_format", "unsure"]


@pytest.mark.parametrize(("by", "name"), [("option", "atlantis"), ("variable", "atlantis"), ("option", "")])
@pytest.mark.parametrize(
    "command", [("read", "car.jpg"), ("watch", "car.jpg"), ("web",), ("serve",), ("batch", "car.jpg", "--out", "out")]
)
def test_every_command_refuses_an_unknown_scheme_in_one_line(
    command: tuple[str, ...], by: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("car.jpg").touch()
    if by == "variable":
        monkeypatch.setenv(SCHEME_VARIABLE, name)
    result = CliRunner().invoke(app, [*command, *(["--scheme", name] if by == "option" else [])])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("plates: scheme: expected ")
    assert f"got {name!r}" in result.stderr


@pytest.fixture(scope="module")
def far_away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A full-HD picture that contains the known one at smaller and smaller sizes."""
    near = cv2.imdecode(np.frombuffer(known_picture().image, np.uint8), cv2.IMREAD_COLOR)
    frame = np.full((1080, 1920, 3), 114, np.uint8)
    for number, width in enumerate((180, 140, 110, 90, 70, 56)):
        height = round(width * near.shape[0] / near.shape[1])
        small = cv2.resize(near, (width, height), interpolation=cv2.INTER_AREA)
        frame[400 : 400 + height, 100 + 300 * number : 100 + 300 * number + width] = small
    path = tmp_path_factory.mktemp("far") / "far.png"
    cv2.imwrite(str(path), frame)
    return path


def test_far_plates_are_found_if_requested(far_away: Path) -> None:
    found = {}
    for detail in ("fast", "far"):
        result = CliRunner().invoke(app, ["read", str(far_away), "--local", "--detail", detail])
        assert result.exit_code == 0, result.stderr
        found[detail] = result.stdout.count("score")
    assert found["fast"] < found["far"]


def test_the_option_reaches_a_server_of_this_process() -> None:
    use_detail(None)
    assert read_settings(DetectionSettings, YOLO.name, {}).detail == DEFAULT_DETAIL
    use_detail("far")
    assert read_settings(DetectionSettings, YOLO.name, {}).detail == "far"
