"""--detail of plates read, watch, web and serve: how closely to look at pictures."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.options import use_detail
from plate_nets.contract import YOLO
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.health import known_picture
from plate_nets.triton.backend.settings import read_settings
from plate_nets.types import DEFAULT_DETAIL


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


@pytest.mark.parametrize("command", ["read car.jpg", "watch car.mp4", "web"])
def test_a_running_server_keeps_its_own_setting(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("car.jpg").touch()
    result = CliRunner().invoke(app, [*command.split(), "--url", "127.0.0.1:9", "--detail", "far"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "plates serve --detail" in result.stderr
