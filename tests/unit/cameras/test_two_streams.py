"""Cameras with two streams: cars are looked for on the small one, and read on the large one."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.cameras.address import parse_source
from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.camera_status import CameraStatus
from plate_nets.cameras.decoding import DecodingSettings, demux
from plate_nets.cameras.packets import Packets
from plate_nets.cameras.pictures import PictureSettings
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.stream_clocks import Look, StreamClocks, look_of, time_apart
from plate_nets.cameras.watcher import Watcher
from plate_nets.common.errors import InputError, SourceError
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame
from tests.clips import TEXT, passing, still, write_clip
from tests.rtsp import RtspCamera
from tests.unit.cameras.traffic import Blind
from tests.waiting import eventually

FPS = 12
LARGE, SMALL = (360, 640), (180, 320)
OTHER = "X900KO99"


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    """A car that passes in four seconds, and one second of the empty street."""
    return list(passing(4 * FPS, size=LARGE, empty=FPS))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, frames: list[Frame]) -> Path:
    return write_clip(tmp_path_factory.mktemp("large") / "gate.mkv", frames, fps=FPS)


def write_small(folder: Path, frames: list[Frame], size: tuple[int, int] = SMALL) -> Path:
    small = (np.asarray(cv2.resize(frame, size[::-1], interpolation=cv2.INTER_AREA), np.uint8) for frame in frames)
    return write_clip(folder / "small.mkv", small, fps=FPS)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, frames: list[Frame]) -> Path:
    return write_small(tmp_path_factory.mktemp("small"), frames)


class Watched:
    """The events of a camera, what was said about it, and what its frames were."""

    def __init__(
        self, reader: LocalReader, large: Path, small: Path, settings: WatcherSettings = WatcherSettings()
    ) -> None:
        self.said: list[str] = []
        self.frames: list[AnalysedFrame] = []
        camera = CameraSettings(str(large), detect=str(small))
        note = self.frames.append
        watcher = Watcher(reader, camera, settings, notice=lambda _, line: self.said.append(line), on_frame=note)
        self.events: list[PlateEvent] = list(watcher)
        self.plates = {event.plate for event in self.events}
        (self.status,) = watcher.status()
        self.decoded = sum(frame.frame.enlarged is None for frame in self.frames)
        """Frames of the large stream that were looked at."""


def matched(order: str) -> str:
    return f"detect: its pictures come 2.0 s {order} those of the source; they are matched"


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [WatcherSettings(), WatcherSettings(vehicles=True, blur=True), WatcherSettings(thorough=True)]
)
def test_a_car_is_found_in_the_small_stream_and_read_in_the_large_one(
    reader: LocalReader, large: Path, small: Path, settings: WatcherSettings, tmp_path: Path
) -> None:
    watched = Watched(reader, large, small, replace(settings, pictures=PictureSettings(tmp_path)))
    assert [(event.stage, event.plate) for event in watched.events] == [("provisional", TEXT), ("final", TEXT)]
    event = watched.events[-1]
    assert 140 < event.box.width < 200, "in pixels of the large stream"
    assert event.images is not None and event.images.frame is not None
    assert cv2.imread(str(tmp_path / event.images.frame)).shape[:2] == LARGE
    assert event.frames.seen >= 40
    assert len(watched.frames) == 5 * FPS and watched.said == []
    least, most = (40, 48) if settings.thorough else (3, 20)
    assert least <= watched.decoded <= most
    assert (watched.status.state, watched.status.cause) == ("ended", None)


def test_a_car_that_passes_between_two_key_frames_is_read(reader: LocalReader, tmp_path: Path) -> None:
    street = [*still(FPS + 2, LARGE), *passing(FPS - 4, size=LARGE, empty=2 * FPS)]  # a key frame comes each second
    large = write_clip(tmp_path / "large.mkv", street, fps=FPS)
    watched = Watched(reader, large, write_small(tmp_path, street))
    assert watched.plates == {TEXT} and watched.decoded < FPS - 4


def test_a_small_stream_that_is_a_little_early_gives_the_same_text(
    reader: LocalReader, large: Path, frames: list[Frame], tmp_path: Path
) -> None:
    assert Watched(reader, large, write_small(tmp_path, frames[FPS // 2 :])).plates == {TEXT}


@pytest.mark.slow
@pytest.mark.parametrize(("late", "order"), [(-2, "before"), (2, "after")])
def test_a_small_stream_that_is_two_seconds_off_gives_the_same_texts_and_is_corrected(
    reader: LocalReader, tmp_path: Path, late: int, order: str
) -> None:
    back = [*passing(3 * FPS, OTHER, LARGE, empty=FPS)]
    street = [*passing(3 * FPS, TEXT, LARGE, empty=FPS), *back[: 3 * FPS][::-1], *back[3 * FPS :]]
    shown = street[-late * FPS :] if late < 0 else [*still(late * FPS, LARGE), *street]
    large = write_clip(tmp_path / "large.mkv", street, fps=FPS)
    watched = Watched(reader, large, write_small(tmp_path, shown))
    assert watched.plates == {TEXT, OTHER}
    assert [line for line in watched.said if "matched" in line] == [matched(order)]


def test_small_pictures_of_another_shape_are_stretched(
    reader: LocalReader, large: Path, frames: list[Frame], tmp_path: Path
) -> None:
    watched = Watched(reader, large, write_small(tmp_path, frames, (240, 320)))
    assert watched.plates == {TEXT}
    assert [line for line in watched.said if "320x240" in line and "640x360" in line] == watched.said != []


def test_the_small_stream_of_a_file_must_be_there(reader: LocalReader, large: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^detect: No such file"):
        Watched(reader, large, tmp_path / "missing.mkv")


@pytest.mark.parametrize("detect", ["rtsp://ann:secret@host/sub", "ftp://ann:secret@host/sub", "."])
def test_a_small_stream_that_cannot_be_one_is_refused(detect: str) -> None:
    with pytest.raises(InputError, match=r"^camera gate: detect: expected") as caught:
        CameraSettings("gate.mp4", id="gate", detect=detect)
    assert "secret" not in str(caught.value)


def pictures(times: Iterable[float], late: float = 0.0) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Pictures of a square that turns around, and their times by a clock that is some seconds late."""
    for moment in times:
        picture = np.full((180, 320), 90, np.uint8)
        x, y = 160 + 120 * np.cos(moment), 90 + 60 * np.sin(1.3 * moment)
        cv2.rectangle(picture, (int(x) - 20, int(y) - 15), (int(x) + 20, int(y) + 15), (200,), -1)
        yield moment + late, picture


def drawn(times: Iterable[float], late: float = 0.0) -> list[Look]:
    return [look_of(moment, picture) for moment, picture in pictures(times, late)]


@pytest.mark.parametrize("late", [0.0, 0.4, 2.0, -2.0])
def test_clocks_are_matched_by_what_is_seen(late: float) -> None:
    small = drawn([number / 10 for number in range(90)])
    large = drawn([4 + number / 3 for number in range(8)], late)
    assert time_apart(large, small) == pytest.approx(late, abs=0.06)


def test_clocks_are_not_matched_if_nothing_moves_or_little_is_known() -> None:
    parked = [look._replace(time=number / 10) for number, look in enumerate(drawn([1.0] * 90))]
    assert time_apart(parked[40:60:2], parked) is None
    assert time_apart(drawn([4.0, 4.5]), drawn([number / 10 for number in range(90)])) is None


@pytest.mark.parametrize("late", [2.0, -2.0])
@pytest.mark.parametrize("every", [1, 12])
def test_a_clock_that_is_two_seconds_off_is_corrected_once_and_reported(late: float, every: int) -> None:
    """Also if each picture of the large stream is decoded, as those of a plate without a text are."""
    said: list[str] = []
    clocks = StreamClocks(said.append)
    times = [number / 25 for number in range(375)]
    for number, (small, large) in enumerate(zip(pictures(times), pictures(times, late), strict=True)):
        if number % every == 0:
            clocks.note_large(*large)
        clocks.note_small(*small)
    assert clocks.apart == pytest.approx(late, abs=0.06)
    assert said == [matched("before" if late > 0 else "after")]


def kept(path: Path) -> Packets:
    packets = Packets(newest_only=True)
    for packet in demux(parse_source(str(path)), DecodingSettings(), pytest.fail):
        packets.add(packet, 100 + packet.time)
    packets.end()
    return packets


def test_a_picture_is_decoded_from_the_key_frame_before_it(large: Path, frames: list[Frame]) -> None:
    packets = kept(large)  # a key frame each second
    assert [packets.cost(100 + number / FPS) for number in (0, 5, 12, 29)] == [1, 6, 1, 6]
    for number, cost in ((29, 6), (29, 0), (31, 2), (30, 0), (26, 3), (2, 3), (36, 1)):
        moment = 100 + number / FPS
        assert packets.cost(moment) == cost, number
        decoded = packets.at(moment)
        assert decoded is not None
        picture = decoded.picture.to_ndarray(format="bgr24").astype(int)
        assert np.argmin([np.abs(picture - frame).mean() for frame in frames]) == number
    assert packets.next_key(101.5) == pytest.approx(102, abs=0.01)
    assert packets.next_key(104.5) == pytest.approx(105, abs=0.01)
    assert packets.at(110) is None


def test_what_is_too_old_is_dropped(large: Path) -> None:
    packets = kept(large)
    packets.advance(103.2)
    assert packets.at(101) is None and packets.at(103) is not None


@pytest.fixture
def streams(tmp_path: Path) -> Iterator[tuple[RtspCamera, RtspCamera]]:
    large, small = (write_clip(tmp_path / f"{hw[0]}.mkv", still(2000, hw), fps=FPS) for hw in ((192, 256), (96, 128)))
    with RtspCamera(large) as main, RtspCamera(small) as sub:
        yield main, sub


@pytest.mark.slow
def test_a_car_is_read_from_an_rtsp_camera_with_two_streams(reader: LocalReader, large: Path, small: Path) -> None:
    """It passes again each time that the streams have ended."""
    looked: set[bool] = set()
    with RtspCamera(large) as main, RtspCamera(small) as sub:
        camera = CameraSettings(main.url(), id="gate", detect=sub.url())
        with Watcher(reader, camera, on_frame=lambda each: looked.add(each.frame.enlarged is None)) as watcher:
            events = (event for event in watcher if event.plate)
            event = next(events)
            while looked != {True, False}:  # until it has looked at pictures of both
                next(events)
    assert event.plate == TEXT
    assert 140 < event.box.width < 200, "in pixels of the large stream"


def test_while_the_small_stream_is_lost_the_large_one_is_watched(streams: tuple[RtspCamera, RtspCamera]) -> None:
    large, small = streams
    said: list[str] = []
    reader = Blind()
    camera = CameraSettings(large.url(), id="gate", detect=small.url(), motion_gate=False, silence=1.0)
    with Watcher(reader, camera, notice=lambda _, line: said.append(line)) as watcher:
        watcher.start()

        def wait(until: Callable[[CameraStatus], bool]) -> CameraStatus:
            assert eventually(lambda: until(watcher.status()[0]), 60), (watcher.status(), reader.sizes[-1:], said)
            return watcher.status()[0]

        wait(lambda _: reader.sizes[-1:] == [(96, 128)])
        small.kill()
        status = wait(lambda status: reader.sizes[-1] == (192, 256) and status.cause is not None)
        cause = "detect: the connection was closed; until it is back, cars are looked for in the source"
        assert (status.state, status.cause) == ("online", cause)
        small.start()
        assert wait(lambda _: reader.sizes[-1] == (96, 128)).cause is None
        large.kill()
        assert wait(lambda status: status.state == "offline").cause == "the connection was closed"
        large.start()
        analysed = wait(lambda status: status.state == "online").analysed
        wait(lambda status: status.analysed > analysed + 5)
    assert [line for line in said if "Connection refused" not in line] == [  # said while a camera starts slowly
        "detect: offline: the connection was closed",
        "detect: online again",
        "offline: the connection was closed",
        "online again",
    ]
