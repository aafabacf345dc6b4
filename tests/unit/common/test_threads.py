"""Lasting threads: each one is killed by an exception, reports it, and works again."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from plate_nets.cameras.metrics import WatchStatus
from plate_nets.cameras.settings import CameraSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.client.names import NameWatch
from plate_nets.client.url import parse_url
from plate_nets.common import threads
from plate_nets.common.errors import SinkError
from plate_nets.common.threads import LastingThread
from plate_nets.events.sinks.delivery import Delivery, finish_all
from plate_nets.events.sinks.files import JsonlSink
from plate_nets.events.sinks.outbox import Outbox
from plate_nets.recognition.local import LocalReader
from plate_nets.triton.backend.watchdog import Watchdog, WatchdogSettings
from plate_nets.triton.server.log_copy import LogCopy
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint
from plate_nets.triton.supervision.probe import ProbeClient, Prober
from plate_nets.triton.supervision.progress import Progress
from tests.clips import still, write_clip
from tests.events import event
from tests.killing import kill, lasting_thread
from tests.paths import ROOT
from tests.rtsp import RtspCamera
from tests.waiting import eventually


def test_a_failed_turn_is_counted_and_reported_and_the_next_one_runs() -> None:
    turns: Iterator[bool | Exception] = iter([True, KeyError("/a/secret/path"), SinkError("not now"), True, False])
    told: list[str] = []

    def turn() -> bool:
        found = next(turns)
        if isinstance(found, Exception):
            raise found
        return found

    thread = LastingThread(
        "worker",
        turn,
        failed=lambda error: told.append(threads.cause(error)),
        recovered=lambda: told.append("well"),
        ended=lambda: told.append("last"),
        first_pause=0.01,
    )
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert (thread.failures, thread.faults, thread.error) == (2, 1, None)
    assert told == ["an internal error (KeyError); the log has its traceback", "well", "last"]


def test_a_failing_callback_ends_no_thread_and_an_ending_thread_does_not_pause() -> None:
    ending = threading.Event()

    def fail(*_: object) -> bool:
        raise ValueError

    thread = LastingThread("worker", fail, ending=ending, failed=fail, ended=fail, first_pause=3600)  # type: ignore[arg-type]
    thread.start()
    assert eventually(lambda: threads.failing(), 60)
    assert threads.faults()["worker"] == 1
    ending.set()
    thread.join(60)
    assert not thread.is_alive() and threads.failing() == {}


def test_every_long_lived_thread_is_a_lasting_thread() -> None:
    """Three threads may end: that of a received video, that of the page, whose process ends with it, and that of a
    worker, which ends the worker when its driver is gone.
    """
    others = {"web/video_api.py", "web/server.py", "batch/engines.py"}
    package = ROOT / "plate_nets"
    found = (path for path in package.rglob("*.py") if "threading.Thread(" in path.read_text())
    assert {str(path.relative_to(package)) for path in found} - {"threads.py"} <= others


def answer(url: str) -> httpx.Response:
    return httpx.get(url, timeout=30, trust_env=False)


@pytest.fixture
def health() -> Iterator[str]:
    status = WatchStatus(list, ())
    endpoint = HealthEndpoint(status, "127.0.0.1", 0, status)
    yield endpoint.url
    endpoint.close()


def test_the_thread_of_a_sink_survives_and_health_reports_its_fault(tmp_path: Path, health: str) -> None:
    outbox = Outbox(tmp_path / "outbox.sqlite", ["lines"])
    delivery = Delivery("lines", JsonlSink(tmp_path / "events.jsonl"), outbox, lambda _: None)
    kill("sink lines", outbox.wake)
    told = answer(health)
    if told.status_code == 503:  # until its next turn has succeeded
        assert told.json()["threads"] == {"sink lines": "an internal error (Killed); the log has its traceback"}
    assert 'plates_thread_faults_total{thread="sink lines"} 1.0' in answer(health.replace("/health", "/metrics")).text
    outbox.append(event())
    assert eventually(lambda: delivery.state().delivered == 1, 60)
    assert eventually(lambda: answer(health).is_success, 60)
    assert finish_all([delivery], 60) == []
    outbox.close()


def test_the_thread_of_the_health_endpoint_survives(health: str) -> None:
    kill("health")
    assert eventually(lambda: answer(health).is_success, 60)


class FaultyOnce(ProbeClient):
    """Recognises every picture, after one bug at first."""

    def __init__(self) -> None:
        self.faults = 1

    def listens(self) -> bool:
        """It is alive."""
        return True

    def check(self) -> None:
        """Fail once."""
        if self.faults:
            self.faults -= 1
            raise KeyError


def test_the_thread_of_the_prober_survives() -> None:
    prober = Prober(FaultyOnce(), Progress(lambda: "", 3600), 0.05)
    prober.start()
    verdict = prober.verdicts.get(timeout=60)
    assert (verdict.fault, verdict.confirmed) == ("an internal error (KeyError); the log has its traceback", False)
    assert prober.verdicts.get(timeout=60).fault == ""
    prober.end(60)


def test_the_thread_of_names_survives() -> None:
    found = threading.Event()

    def changed(_: object) -> bool:
        found.set()
        return True

    names = NameWatch([parse_url("localhost:9")], changed)
    names.start()
    assert found.wait(60)
    found.clear()
    kill("plates-names")
    assert found.wait(60)
    names.end()


def test_the_thread_of_the_log_copy_survives(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("wb") as target:
        copy = LogCopy(target.fileno())
        kill("log", lambda: copy.file.write(b"first\n"))
        copy.file.write(b"second\n")
        assert eventually(lambda: (tmp_path / "stderr").read_bytes().endswith(b"second\n"), 60)
        copy.file.close()


def test_the_thread_of_the_watchdog_survives() -> None:
    others = threading.enumerate()  # threads of models that other tests loaded live as long as the process
    Watchdog(WatchdogSettings(), beat=0.01)
    thread = kill("watchdog", others=others)
    assert eventually(lambda: thread.error is None, 60), "its next turn ended well"


def test_the_thread_of_a_camera_survives(reader: LocalReader, tmp_path: Path, health: str) -> None:
    camera = RtspCamera(write_clip(tmp_path / "camera.mkv", still(3000), fps=25))
    settings = CameraSettings(camera.url(), id="gate", fps=5, motion_gate=True)
    try:
        with Watcher(reader, settings, notice=lambda *_: None) as watcher:
            watcher.start()

            def analysed(more: int) -> bool:
                before = watcher.status()[0].analysed
                return eventually(lambda: watcher.status()[0].analysed >= before + more, 120)

            assert analysed(3)
            for name in ("camera gate", f"capture {camera.url()}"):
                thread = kill(name)
                assert analysed(3), watcher.status()
                assert thread is lasting_thread(name)
            assert watcher.status()[0].state == "online"
    finally:
        camera.kill()
