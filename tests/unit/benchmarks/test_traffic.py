"""`python -m benchmarks.cameras --only traffic` and `--only streams` with one short clip."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import traffic
from benchmarks.cameras import main
from benchmarks.measures.public_pair import PublicPair
from plate_nets.evaluation.onnx_pair import OnnxDetector
from plate_nets.types import Boxes, Frame
from tests.clips import TEXT, passing, write_clip
from tests.commands import invoke, succeed
from tests.other_readers import ToldReader

pytestmark = pytest.mark.slow


def test_the_cost_of_each_stage_the_cameras_a_core_and_the_events_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "_SIZE", (640, 360))
    monkeypatch.setattr(traffic, "_QUIET", 8)
    write_clip(tmp_path / "car.mp4", passing(12), fps=8)
    (tmp_path / "labels.csv").write_text(f"file,text\ncar.mp4,{TEXT}\n")
    answer = succeed(main, "--only", "traffic", "--clips", tmp_path)
    *of_clip, thorough, sparing, ratio = map(json.loads, answer.stdout.splitlines())
    for of_one, each in zip(of_clip, (thorough, sparing), strict=True):
        assert of_one == {**{name: each[name] for name in of_one}, "clip": "car.mp4"}
        seconds, cameras = each["cpu_s_a_second"], each["cameras_a_core"]
        assert 0 < seconds["quiet"] < seconds["a tenth"] < seconds["constant"]
        assert seconds["a tenth"] == pytest.approx(0.9 * seconds["quiet"] + 0.1 * seconds["constant"], abs=2e-3)
        assert cameras["constant"] == pytest.approx(1 / seconds["constant"], rel=0.1, abs=0.05)  # printed to a tenth
        assert (each["frames"], each["cars"], each["right"], each["wrong"]) == (12, 1, 1, 0)
        assert set(each["ms_a_frame"]) == {"decode", "to_bgr", "detector", "corners", "readers", "tracking", "all"}
        assert min(each["ms_a_frame"].values()) > 0
    assert ratio["over_thorough"] > 0
    title, columns, *rows = (line for line in answer.stderr.splitlines() if line.strip(" ─"))
    assert "cameras a core" in title
    assert columns.split() == ["reader", "quiet", "a", "tenth", "constant", "cars", "right", "wrong"]
    assert [row.split("  ")[1] for row in rows] == ["ours, thorough", "ours"]
    assert all(row.split()[-3:] == ["1", "1", "0"] for row in rows)


class Finder(OnnxDetector):
    """Finds a plate that moves, but not in every third frame, and later something that is no plate."""

    def __init__(self) -> None:
        self.frames = 0

    def find(self, frame: Frame) -> Boxes:
        self.frames += 1
        x = 10 * self.frames
        plate = [[x, 40, x + 100, 60]] if self.frames % 3 else []
        lamp = [[200, 0, 210, 10]] if self.frames > 5 else []
        return np.array(plate + lamp, np.float32).reshape(-1, 4)


class Other(ToldReader):
    """Reads the first plate right in most frames, and nothing else."""

    frames = 0

    def read(self, crops: NDArray[np.uint8]) -> list[str]:
        self.frames += 1
        return [TEXT if self.frames % 4 else "", *[""] * (len(crops) - 1)]


def test_the_public_pair_tells_each_car_once() -> None:
    pair = PublicPair(Finder(), Other([]))
    for frame in passing(12):
        assert pair.read(frame) == []
    assert pair.frames == 12 and pair.texts() == [TEXT]
    assert pair.frames == 0 and pair.texts() == [], "the next clip begins anew"


def test_a_folder_without_the_public_pair_is_named(tmp_path: Path) -> None:
    answer = invoke(main, "--only", "traffic", "--clips", tmp_path, "--peers", tmp_path)
    assert (answer.exit_code, answer.stderr) == (1, f"error: {tmp_path}: expected one yolo-*.onnx, got 0\n")


def test_the_cost_of_two_streams_is_printed(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    for path, size in ((tmp_path / "car.mp4", (360, 640)), (tmp_path / "small/car.mp4", (180, 320))):
        frames = (np.asarray(cv2.resize(frame, size[::-1]), np.uint8) for frame in passing(20))
        write_clip(path, frames, fps=10)
    (tmp_path / "labels.csv").write_text(f"file,text\ncar.mp4,{TEXT}\n")
    answer = succeed(main, "--only", "streams", "--clips", tmp_path)
    *of_streams, ratio = map(json.loads, answer.stdout.splitlines())
    assert [(each["streams"], each["thorough"]) for each in of_streams] == [(1, True), (1, False), (2, False)] * 2
    assert all((each["cars"], each["right"], each["wrong"]) == (1, 1, 0) for each in of_streams)
    assert ratio["over_one_stream"] > 0 and ratio["over_thorough"] > 0
