"""Live sources: lost and found again, the newest frame first, no thread left."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plate_nets.cameras.address import parse_source
from plate_nets.cameras.capture import Capture, CaptureSettings
from tests.clips import still, write_clip
from tests.rtsp import RtspCamera
from tests.waiting import eventually

QUICK = CaptureSettings(first_pause=0.2, silence=1.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clips") / "camera.mkv", still(3000), fps=25)


@pytest.fixture
def camera(clip: Path) -> Iterator[RtspCamera]:
    with RtspCamera(clip) as camera:
        yield camera


class Watched:
    """A capture and its messages."""

    def __init__(self, source: str, settings: CaptureSettings = QUICK) -> None:
        self.said: list[str] = []
        self.capture = Capture(parse_source(source), settings, self.said.append)
        self.capture.start()

    def wait(self, until: Callable[[], bool], seconds: float = 60) -> None:
        """Take frames until a condition is true."""
        deadline = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < deadline, (self.capture.state, self.capture.cause, self.said)
            self.capture.watch()
            self.capture.handover.take(0.02)

    def wait_for_frames(self) -> None:
        before = self.capture.rate.count
        self.wait(lambda: self.capture.rate.count > before + 5 and self.capture.state == "online")

    def wait_for(self, state: str) -> None:
        self.wait(lambda: self.capture.state == state)

    def end(self) -> None:
        self.capture.stop()
        assert self.capture.join(60)


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [each for each in threading.enumerate() if each not in before and each.name.startswith("capture")]
    assert left == []


def test_a_camera_that_is_killed_or_freezes_is_found_again(camera: RtspCamera) -> None:
    watched = Watched(camera.url())
    watched.wait_for_frames()
    for _ in range(2):
        camera.kill()
        watched.wait_for("offline")
        camera.start()
        watched.wait_for_frames()
    assert watched.capture.reconnections == watched.said.count("online again") == 2
    assert "offline: the connection was closed" in watched.said
    camera.freeze()
    watched.wait_for("offline")
    assert watched.capture.cause == "no picture for 1 s; if it sends less often, raise `silence`"
    camera.thaw()
    watched.wait_for_frames()
    watched.end()


def test_a_wrong_password_is_reported_once_and_never_shown(clip: Path) -> None:
    with RtspCamera(clip, "ann", "s3cret") as camera:
        watched = Watched(camera.url("ann:wr0ng@"))
        watched.wait_for("offline")
        threads = [thread.name for thread in threading.enumerate()]
        watched.end()
        assert watched.said == ["offline: wrong user or password, or no permission"]
        assert not any("wr0ng" in each for each in (*watched.said, *threads))
        right = Watched(camera.url("ann:s3cret@"))
        right.wait_for_frames()
        right.end()


def test_a_slow_reader_gets_the_newest_frame_and_the_rest_is_counted(camera: RtspCamera) -> None:
    watched = Watched(camera.url())
    watched.wait_for_frames()
    capture = watched.capture
    reached = capture.rate.count + 40
    assert eventually(lambda: capture.rate.count >= reached, 60)  # nothing takes any
    frame = capture.handover.take(0)
    watched.end()
    assert frame is not None
    assert capture.handover.dropped >= 35
    assert capture.position - frame.position < 1


def test_a_clock_that_is_set_back_does_not_stop_the_frames(camera: RtspCamera, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(camera.url(), replace(QUICK, fps=10))
    watched.wait_for_frames()
    capture, now = watched.capture, time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)
    decoded, dropped, taken = capture.rate.count, capture.handover.dropped, 0
    deadline = now() + 60
    while capture.rate.count < decoded + 100:
        assert now() < deadline
        taken += capture.handover.take(0.02) is not None
    offered = taken + capture.handover.dropped - dropped
    watched.end()
    assert offered >= 20, offered
