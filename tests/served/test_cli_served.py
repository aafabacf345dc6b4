"""The commands against a real server. Pages and guides run them as a user does, in processes of their own."""

import json
from pathlib import Path

import cv2
import pytest

from plate_nets.client import WireProtocol
from plate_nets.recognition.annotation import READ
from tests.clips import TEXT, passing, write_clip
from tests.commands import plates, run
from tests.frames import Placed, compose, encode
from tests.served.conftest import Served

CAR = compose(480, 640, [Placed("A123BC77", 100, 300)])


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "car.jpg").write_bytes(encode(CAR, ".jpg"))
    (folder / "road.png").write_bytes(encode(compose(480, 640)))
    (folder / "torn.jpg").write_bytes(encode(CAR, ".jpg")[:3000])
    return folder


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_folder_with_a_bad_file(served: Served, photos: Path, tmp_path: Path, protocol: WireProtocol) -> None:
    out, table = tmp_path / "out", tmp_path / "plates.csv"
    found = run(
        "read", photos, "--url", f"{protocol}://{served.url(protocol)}", "--save-annotated", out, "--csv", table
    )
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert any(line.startswith(f"{photos / 'car.jpg'}: A123BC77  confidence ") for line in lines)
    assert any(line.startswith(f"{photos / 'road.png'}: no plate") for line in lines)
    assert f"{photos / 'torn.jpg'}: image: expected a JPEG" in found.stderr
    assert "plates: 1 of 3 pictures failed" in found.stderr
    assert (cv2.imread(str(out / "road_plates.png")) == compose(480, 640)).all()
    drawn = cv2.imread(str(out / "car_plates.jpg"))
    assert (abs(drawn.astype(int) - READ).max(axis=2) < 40).sum() > 100
    assert "A123BC77" in table.read_text(encoding="utf-8")


def test_several_servers_share_a_folder(served: Served, photos: Path) -> None:
    (photos / "torn.jpg").unlink()
    found = run("read", photos, "--url", served.http, "--url", f"grpc://{served.grpc}", "--json")
    assert found.exit_code == 0, found.stderr
    assert [len(picture["plates"]) for picture in json.loads(found.stdout)] == [1, 0]


@pytest.mark.parametrize("name", ["PLATES_URL", "TRITON_URL"])
def test_the_address_may_come_from_the_environment(served: Served, photos: Path, name: str) -> None:
    found = run("read", photos / "car.jpg", "--json", **{name: served.http})
    assert found.exit_code == 0, found.stderr
    (picture,) = json.loads(found.stdout)
    assert [plate["text"] for plate in picture["plates"]] == ["A123BC77"]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_health_of_a_healthy_server(served: Served, protocol: WireProtocol) -> None:
    found = run("health", "--protocol", protocol, "--url", served.url(protocol))
    assert found.exit_code == 0, found.stderr
    assert "read the known picture in" in found.stdout


def test_without_an_address_the_command_starts_its_own_server(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "car.mp4", passing(12, empty=8), fps=4)
    found = plates("watch", clip, "--json", "--scheme", "russia")
    assert found.returncode == 0, found.stderr
    events = [json.loads(line) for line in found.stdout.splitlines()]
    assert [(event["plate"], event["stage"]) for event in events] == [(TEXT, "provisional"), (TEXT, "final")]
    assert {event["model"] for event in events} == {"yolo:1 stn:1 lprnet:1 country:1"}


def test_a_server_that_cannot_start_is_reported_in_one_line(photos: Path, tmp_path: Path) -> None:
    found = run("read", photos / "car.jpg", "--model-repository", tmp_path / "models")
    assert found.exit_code == 2
    assert found.stderr.startswith(f"plates: {tmp_path / 'models'}: no such model repository")
    assert len(found.stderr.splitlines()) == 1
