"""Clips of cars that drive by match their truth."""

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest
from typer.testing import CliRunner

from plate_nets.common.errors import DatasetError, InputError
from plate_nets.countries import main_scheme
from plate_nets.evaluation.clips import find_clips
from plate_nets.evaluation.video_truth import load_truth
from training.synthesis.__main__ import app
from training.synthesis.drive_by import LIGHTS, DriveBySettings, LightName, film, plan, truth_path, write_drive_by
from training.synthesis.drive_by_set import CAMERAS, CameraName, draw_settings, write_drive_by_set

RUSSIA = main_scheme()
SMALL = DriveBySettings(cars=3, size=(320, 180), rate=5)


@pytest.mark.parametrize("light", LIGHTS)
def test_a_clip_has_a_line_of_truth_for_each_frame(tmp_path: Path, light: LightName) -> None:
    path = tmp_path / "clip.mp4"
    settings = DriveBySettings(cars=2, size=(320, 180), rate=5, light=light)
    shares = list(write_drive_by(path, RUSSIA, 1, settings))
    truth = load_truth(truth_path(path))
    with av.open(str(path)) as video:
        times = [frame.time for frame in video.decode(video=0)]
    assert times == pytest.approx([frame.time for frame in truth]) and len(shares) == len(truth) > 5
    assert {plate.car for frame in truth for plate in frame.plates} == {0, 1}
    assert all(RUSSIA.is_plate(plate.text) for frame in truth for plate in frame.plates)


def test_a_seed_determines_a_clip() -> None:
    def first(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return next(film(plan(RUSSIA, rng, SMALL), 3.0, rng, SMALL))[0]

    assert np.array_equal(first(1), first(1)) and not np.array_equal(first(1), first(2))


def test_cars_of_a_lane_keep_their_distance_and_some_stop() -> None:
    drives = plan(RUSSIA, np.random.default_rng(3), DriveBySettings(cars=16))
    for time in np.arange(0.0, max(drive.end for drive in drives), 0.2):
        places = [(car.x, car.z) for drive in drives if (car := drive.at(float(time)))]
        for number, (x, z) in enumerate(places):
            assert all(abs(x - other) > 2 or abs(z - away) > 6 for other, away in places[:number])
    assert sum(bool((np.diff(drive.distances) == 0).any()) for drive in drives) == 2


def test_the_truth_contains_the_hidden_share() -> None:
    settings = DriveBySettings(cars=10, size=(640, 360), rate=3)
    rng = np.random.default_rng(2)
    drives = plan(RUSSIA, rng, settings)
    shown = [plate for _, truth in film(drives, 14.0, rng, settings) for plate in truth.plates]
    assert sum(plate.visible > 0.95 for plate in shown) > len(shown) / 2
    assert any(plate.visible < 0.7 for plate in shown)
    for plate in shown:
        xs, ys = plate.corners[::2], plate.corners[1::2]
        assert plate.box == (min(xs), min(ys), max(xs), max(ys))
        assert plate.height == pytest.approx((max(xs) - min(xs)) * 0.112 / 0.52, rel=1e-3)


def test_a_clip_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        list(write_drive_by(tmp_path / "none" / "clip.mp4", RUSSIA, 1, SMALL))


def test_the_command_names_the_file_that_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.synthesis.__main__.DriveBySettings", lambda **given: SMALL)
    result = CliRunner().invoke(app, ["--drive-by", str(tmp_path / "a.mp4"), "--cars", "3"])
    assert result.exit_code == 0, result.output
    assert "3 cars" in result.stdout and (tmp_path / "a.jsonl").is_file()


def test_a_set_uses_one_kind_of_camera_and_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.synthesis.drive_by_set.draw_settings", lambda *_: SMALL)
    arguments = ["--drive-by-set", str(tmp_path / "set"), "--camera", "cheap", "--cars", "3", "--seed", "7"]
    for clips in ("1", "2"):
        result = CliRunner().invoke(app, [*arguments, "--clips", clips])
        assert result.exit_code == 0, result.output
    assert "2 clips" in result.stdout
    names = sorted(path.name for path in (tmp_path / "set").iterdir())
    assert names == [f"drive_{seed}.{suffix}" for seed in (7, 8) for suffix in ("jsonl", "mp4")]


def test_an_incomplete_clip_is_not_part_of_its_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, *_: object) -> Iterator[float]:
        path.write_bytes(b"half a clip")
        truth_path(path).touch()
        with pytest.raises(DatasetError, match="contains no video"):
            find_clips(tmp_path, None)
        yield 0.5
        raise KeyboardInterrupt

    monkeypatch.setattr("training.synthesis.drive_by_set.write_drive_by", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(write_drive_by_set(tmp_path, RUSSIA, "good", 1, 7, 3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", CAMERAS)
def test_the_settings_of_a_clip_are_those_of_its_camera(name: CameraName) -> None:
    for number in range(20):
        settings = draw_settings(name, number, 10)
        assert (settings.cars, settings.light) == (10, ("day", "night", "day", "rain")[number % 4])
        drawn = (settings.bit_rate, settings.exposure, settings.focal, settings.height)
        least, most = zip(*CAMERAS[name], strict=True)
        assert (np.multiply(least, 0.999) <= drawn).all()
        assert (drawn <= np.multiply(most, 1.001)).all()
