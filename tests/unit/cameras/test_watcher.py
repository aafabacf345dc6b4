"""Video files with the real reader: one event per car, with its pictures, whatever happens to other sources."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import Mock

import cv2
import numpy as np
import pytest

from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.overlay import Overlay
from plate_nets.cameras.pictures import PictureSettings
from plate_nets.cameras.recording import Recording
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.cameras.zones import Zone
from plate_nets.common.errors import InputError, ServerUnavailable, SourceError
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame
from tests.clips import TEXT, passing, still, write_clip, write_jpegs
from tests.events import checked
from tests.frames import Placed, compose, encode
from tests.unit.cameras.traffic import Blind
from tests.watch_lists import watch_list

pytestmark = pytest.mark.slow

OTHER = "X900KO99"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A car that passes in three seconds at 8 frames a second, followed by two seconds of the empty street."""
    return write_clip(tmp_path_factory.mktemp("clips") / "car.mp4", passing(24, empty=16), fps=8)


def finals(events: list[PlateEvent]) -> list[str]:
    return [event.plate for event in events if event.stage == "final"]


@pytest.mark.parametrize("thorough", [False, True])
def test_a_car_is_one_event(reader: LocalReader, clip: Path, thorough: bool) -> None:
    camera = CameraSettings(str(clip), id="gate", zone="Europe/Moscow")
    with Watcher(reader, camera, WatcherSettings(thorough=thorough)) as watcher:
        events = list(watcher)
    assert [event.stage for event in events] == ["provisional", "final"]
    assert {(event.camera_id, event.plate) for event in events} == {("gate", TEXT)}
    assert len({event.id for event in events}) == 1
    assert {event.model for event in events} == {reader.model_version()}
    assert events[-1].timestamp.utcoffset()
    for event in events:
        checked(event)
    frames = events[-1].frames
    assert (frames.read == frames.seen) == thorough
    (status,) = watcher.status()
    assert (status.state, status.read, status.analysed, status.dropped) == ("ended", 40, 40, 0)


def only_parts(noting: Mock) -> bool:
    """Whether a reader was asked to look at parts of a frame only."""
    return any(focus.only for (_, focus), _ in noting.look.call_args_list)


@pytest.mark.parametrize(
    ("settings", "may_be_parts"),
    [
        (WatcherSettings(), True),
        (WatcherSettings(thorough=True), False),
        (WatcherSettings(vehicles=True), False),
        (WatcherSettings(blur=True), False),
        (WatcherSettings(pictures=PictureSettings(Path(), blur=True)), False),
    ],
    ids=["default", "thorough", "vehicles", "blurred video", "blurred pictures"],
)
def test_only_where_nothing_else_is_needed_parts_of_a_frame_are_looked_at(
    reader: LocalReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: WatcherSettings, may_be_parts: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    noting = Mock(reader, wraps=reader)
    source = write_clip(tmp_path / "car.mp4", passing(8), fps=8)
    assert finals(list(Watcher(noting, str(source), settings))) == [TEXT]
    assert only_parts(noting) == may_be_parts


def mirrored(frame: Frame, late: bool) -> Frame:
    return frame[:, ::-1] if late else frame


def darkened(frame: Frame, late: bool) -> Frame:
    return np.asarray(0.2 * frame if late else frame, np.uint8)


def rained_on(frame: Frame, late: bool) -> Frame:
    rained, rng = frame.copy(), np.random.default_rng(int(frame[0].sum()))
    for x, y in (rng.random((150, 2)) * frame.shape[1::-1]).astype(int).tolist():
        cv2.line(rained, (x, y), (x - 3, y + 20), (205, 205, 200), 1, cv2.LINE_AA)
    return np.asarray(cv2.addWeighted(rained, 0.45, frame, 0.55, 8), np.uint8)


@pytest.fixture(scope="module")
def two_cars() -> list[Frame]:
    """A car drives to the right, and soon another one to the left."""
    return [
        compose(360, 640, [Placed(TEXT, 20 + 10 * number, 60), *[Placed(OTHER, 470 - 10 * number, 240)] * (number > 4)])
        for number in range(24)
    ]


@pytest.mark.parametrize("spoil", [mirrored, darkened, rained_on])
def test_a_plan_of_looks_tells_of_a_spoilt_video_what_a_look_at_every_frame_does(
    reader: LocalReader, tmp_path: Path, two_cars: list[Frame], spoil: Callable[[Frame, bool], Frame]
) -> None:
    frames = (np.ascontiguousarray(spoil(frame, number >= 12)) for number, frame in enumerate(two_cars))
    source = str(write_clip(tmp_path / "spoilt.mp4", frames, fps=20))
    noting = Mock(reader, wraps=reader)
    told, thorough = (
        {(event.stage, event.plate) for event in Watcher(noting, source, WatcherSettings(thorough=thorough))}
        for thorough in (False, True)
    )
    assert only_parts(noting)
    assert {("final", TEXT), ("final", OTHER)} <= thorough <= told


@pytest.mark.parametrize(
    ("every", "versions", "named"),
    [(60.0, [], None), (0.0, chain(("yolo:1",), repeat("yolo:2")), "yolo:2")],
    ids=["unknown", "swapped"],
)
def test_the_version_of_a_server_is_asked_again_and_no_camera_depends_on_it(
    reader: LocalReader,
    clip: Path,
    monkeypatch: pytest.MonkeyPatch,
    every: float,
    versions: Iterable[str],
    named: str | None,
) -> None:
    monkeypatch.setattr("plate_nets.cameras.frame_reading._VERSION_EVERY", every)
    served = Mock(spec=["read", "model_version"], read=reader.read)
    served.model_version.side_effect = chain((ServerUnavailable("no version"),), versions)
    events = list(Watcher(served, CameraSettings(str(clip), fps=4)))
    assert finals(events) == [TEXT]
    assert {event.model for event in events} == {named}


def test_changing_sizes_of_pictures_are_reported_once(tmp_path: Path) -> None:
    pictures = [encode(np.zeros((*size, 3), np.uint8), ".jpg") for size in ((128, 96), (96, 128))]
    path = write_jpegs(tmp_path / "sizes.mkv", pictures * 3)
    said: list[str] = []
    with Watcher(Blind(), str(path), notice=lambda _camera, line: said.append(line)) as watcher:
        assert list(watcher) == []
    (status,) = watcher.status()
    assert (status.analysed, said) == (6, ["its pictures are now 128x96 (width x height)"])


def test_the_iteration_fails_if_every_source_fails(reader: LocalReader, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^nothing: No such file or directory$"):
        list(Watcher(reader, str(tmp_path / "nothing.mp4")))
    with pytest.raises(InputError, match="expected different ids, got a more than once"):
        Watcher(reader, ["x/a.mp4", "y/a.mp4"])


def test_masks_regions_and_least_height_choose_plates(reader: LocalReader, clip: Path) -> None:
    everywhere = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    top = ((0.0, 0.0), (1.0, 0.0), (1.0, 0.3), (0.0, 0.3))
    settings = CameraSettings(str(clip), fps=4)
    for chosen in (
        replace(settings, masks=(everywhere,)),
        replace(settings, include=(top,)),
        replace(settings, least_height=60),
    ):
        assert list(Watcher(reader, chosen)) == []
    named = (Zone("road", everywhere), Zone("sky", top))
    events = list(Watcher(reader, replace(settings, include=named, masks=(top,))))
    assert finals(events) == [TEXT]
    (visit,) = events[-1].zones
    assert (visit.zone, visit.entered, visit.left) == ("road", events[-1].first_seen, events[-1].last_seen)


def test_frames_without_motion_are_rarely_read(reader: LocalReader, tmp_path: Path) -> None:
    frames: list[AnalysedFrame] = []
    clip = write_clip(tmp_path / "still.mp4", still(100, (360, 640)), fps=10)
    with Watcher(reader, CameraSettings(str(clip), motion_gate=True), on_frame=frames.append) as watcher:
        list(watcher)
    read = [frame.frame.position for frame in frames if frame.plates is not None]
    assert len(frames) == 100 and len(read) <= 25, read
    assert watcher.status()[0].unmoved == 100 - len(read)


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [(WatcherSettings(), 15, 30), (WatcherSettings(thorough=True), 60, 60), (WatcherSettings(blur=True), 60, 60)],
)
def test_frames_that_would_tell_nothing_new_are_passed_over(
    reader: LocalReader, tmp_path: Path, settings: WatcherSettings, least: int, most: int
) -> None:
    frames: list[AnalysedFrame] = []
    clip = write_clip(tmp_path / "fast.mp4", passing(60), fps=30)
    events = list(Watcher(reader, CameraSettings(str(clip)), settings, on_frame=frames.append))
    assert finals(events) == [TEXT] and len(frames) == 60
    assert least <= sum(frame.plates is not None for frame in frames) <= most
    boxes = [frame.cars[0].box.xmin for frame in frames if frame.cars and frame.cars[0].seen]
    assert len(boxes) > 40 and boxes == sorted(boxes), "a car moves on in the frames between, too"


@pytest.mark.parametrize("listed", [False, True])
def test_pictures_of_the_best_moment_are_kept_and_blurred(
    reader: LocalReader, clip: Path, tmp_path: Path, listed: bool
) -> None:
    lists = (watch_list("staff", {TEXT: "Ann"}),) if listed else ()
    settings = WatcherSettings(watch_lists=lists, pictures=PictureSettings(tmp_path, blur=True))
    events = list(Watcher(reader, CameraSettings(str(clip), fps=4), settings))
    final = events[-1]
    assert [match.label for match in final.watch] == ["Ann"] * listed
    frame = cv2.imread(str(tmp_path / str(final.images.frame)))
    plate = cv2.imread(str(tmp_path / str(final.images.plate)))
    assert frame.shape == (360, 640, 3) and plate.shape[1] < 300
    texts = [each.reading.text for each in reader.read(np.asarray(frame, np.uint8))]
    assert texts == ([TEXT] if listed else texts) and (TEXT in texts) == listed


def test_of_a_file_every_frame_is_read_and_fps_chooses_those_that_are_analysed_and_annotated(
    reader: LocalReader, clip: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.mp4"
    with Recording(path, Overlay()) as recording:
        watcher = Watcher(reader, CameraSettings(str(clip), fps=4), on_frame=recording.write)
        assert finals(list(watcher)) == [TEXT]
    (status,) = watcher.status()
    assert (status.read, status.analysed, status.dropped) == (40, 20, 0)
    found: list[AnalysedFrame] = []
    list(Watcher(reader, CameraSettings(str(path)), on_frame=found.append))
    assert [round(each.frame.position, 2) for each in found] == [number / 4 for number in range(20)]
    green = [int((each.frame.bgr()[..., 1].astype(int) - each.frame.bgr()[..., 2] > 60).sum()) for each in found]
    assert max(green) > 500 and green[-1] == 0
