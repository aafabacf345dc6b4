"""--vehicles of plates read, watch and batch; --blur-vehicles; detail and vehicles in cameras.yaml."""

import csv
import importlib
import json
from pathlib import Path
from typing import Any

import cv2
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from plate_nets.batch import readers
from plate_nets.cameras.cameras_file import load_cameras
from plate_nets.cli import app
from plate_nets.cli.options import DETAIL_VARIABLE
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.types import VEHICLE_COLUMNS
from tests.clips import TEXT, passing, write_clip
from tests.frames import Placed, compose, encode
from tests.vehicles import bus_reader


@pytest.fixture
def car(tmp_path: Path) -> Path:
    path = tmp_path / "car.jpg"
    path.write_bytes(encode(compose(360, 480, [Placed(TEXT, 160, 200)]), ".jpg"))
    return path


@pytest.fixture(scope="module")
def reader() -> LocalReader:
    return bus_reader()


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reader: LocalReader) -> None:
    """Lets the commands read with a reader that sees a bus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.import_module("plate_nets.cli.readers"), "local_reader", lambda *_: reader)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def events(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("watch", *arguments, "--local", "--json").splitlines()]


def refused(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 2
    return result.stderr


@pytest.mark.usefixtures("bus")
def test_a_plate_is_returned_with_its_vehicle_if_requested(car: Path) -> None:
    line = run("read", car, "--local", "--vehicles", "--csv", "with.csv", "--save-annotated", "drawn")
    assert line.startswith(f"{car}: {TEXT}  ") and "  bus 0.810  ru " in line
    assert "bus" not in run("read", car, "--local", "--csv", "without.csv")
    (row,), (other,) = (
        csv.DictReader(Path(name).read_text(encoding="utf-8").splitlines()) for name in ("with.csv", "without.csv")
    )
    assert [row[name] for name in VEHICLE_COLUMNS[:2]] == ["bus", "0.8100"]
    xmin, ymin, xmax, ymax = (float(row[name]) for name in VEHICLE_COLUMNS[2:])
    assert xmin < float(row["xmin"]) < float(row["xmax"]) < xmax <= 480 and 0 <= ymin < ymax <= 360
    assert not any(other[name] for name in VEHICLE_COLUMNS)
    plain, picture = cv2.imread(str(car)), cv2.imread("drawn/car_plates.jpg")
    assert cv2.absdiff(plain, picture)[:, :12].max() > 60, "the left side of the bus"


@pytest.mark.usefixtures("bus")
def test_json_has_the_vehicle_or_null(car: Path) -> None:
    for asked, kind in (([], None), (["--vehicles"], "bus")):
        (picture,) = json.loads(run("read", car, "--local", "--json", *asked))
        (plate,) = picture["plates"]
        vehicle: dict[str, Any] | None = plate["vehicle"]
        assert (vehicle and vehicle["type"]) == kind
        if vehicle:
            assert vehicle["side"] is None and len(vehicle["box"]) == 4 and vehicle["score"] == 0.81


@pytest.mark.usefixtures("bus")
def test_events_have_the_vehicle_and_its_picture_which_may_be_blurred(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", passing(12, empty=8), fps=4)
    first, last = events(clip, "--vehicles", "--save-events", "sharp")
    assert first["plate"] == last["plate"] == TEXT
    assert last["vehicle"]["type"] == "bus" and last["vehicle"]["box"]["xmin"] < last["box"]["xmin"]
    sharp = cv2.imread(str(tmp_path / "sharp" / last["images"]["vehicle"]))
    assert sharp.shape[0] >= 0.9 * 360
    blurred = events(clip, "--blur-vehicles", "--save-events", "blurred")[-1]
    hidden = cv2.imread(str(tmp_path / "blurred" / blurred["images"]["vehicle"]))
    assert cv2.Laplacian(hidden, cv2.CV_64F).var() < cv2.Laplacian(sharp, cv2.CV_64F).var() / 4


@pytest.mark.usefixtures("bus")
def test_a_vehicle_without_a_plate_is_reported_if_requested(tmp_path: Path) -> None:
    """The file of cameras asks for it. The bus is in all frames, and there is no plate."""
    clip = write_clip(tmp_path / "clip.mp4", passing(0, empty=10), fps=4)
    (tmp_path / "cameras.yaml").write_text(
        f"cameras: [{{source: {clip}, id: gate}}]\nvehicles: true\nunread: true\npictures: kept\n", encoding="utf-8"
    )
    (event,) = events("cameras.yaml")
    assert (event["plate"], event["vehicle"]["type"], event["images"]["plate"]) == ("", "bus", None)
    assert (tmp_path / "kept" / event["images"]["vehicle"]).is_file()
    assert "no plate  final" in run("watch", "cameras.yaml", "--local")


def test_a_cameras_file_sets_the_detail_and_vehicles(tmp_path: Path) -> None:
    path = tmp_path / "cameras.yaml"
    path.write_text("cameras: [{source: a.mp4}]\ndetail: far\nblur_vehicles: true\n", encoding="utf-8")
    plan = load_cameras(path)
    assert plan.detail == "far" and plan.sees_vehicles
    path.write_text("cameras: [{source: a.mp4}]\ndetail: sharp\n", encoding="utf-8")
    assert "detail: " in refused("watch", path, "--local")


@pytest.mark.usefixtures("bus")
@pytest.mark.parametrize(("given", "used"), [([], "far"), (["--detail", "balanced"], "balanced")])
def test_the_detail_of_the_file_applies_without_an_option(
    given: list[str], used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("cameras.yaml").write_text("cameras: [{source: nothing.mp4}]\ndetail: far\n", encoding="utf-8")
    asked: list[str] = []
    module = importlib.import_module("plate_nets.cli.watch")
    monkeypatch.setattr(module, "use_detail", lambda detail, url: asked.append(detail))
    CliRunner().invoke(app, ["watch", "cameras.yaml", "--local", *given])
    assert asked == [used]


@pytest.mark.slow
def test_a_batch_applies_the_vehicles_and_detail_options(
    car: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[LocalReader] = []

    def reader(**settings: Any) -> LocalReader:
        made.append(LocalReader(**settings))
        return made[-1]

    monkeypatch.setattr(readers, "LocalReader", reader)
    settings = readers.ReaderSettings(detection=DetectionSettings(detail="far"), vehicles=True)
    with settings.open() as (opened, _):
        assert opened is made[0]
    assert made[0].detection.detail == "far"
    monkeypatch.delenv(DETAIL_VARIABLE, raising=False)
    out = tmp_path / "out"
    run("batch", car, "--out", out, "--workers", 1, "--vehicles", "--detail", "fast")
    (row,) = pq.read_table(out / "shard-000000.parquet").to_pylist()
    (plate,) = row["plates"]
    assert plate["text"] == TEXT and "vehicle" in plate
    monkeypatch.delenv(DETAIL_VARIABLE)  # the option set it, in this process
    assert "holds a batch with settings {'detail': 'fast'}" in refused("batch", car, "--out", out)
    says = refused("batch", car, "--out", out, "--url", "127.0.0.1:9", "--detail", "far")
    assert "plates serve --detail" in says
