"""`/health` of `plates watch`: which camera is offline, which sink fails, and no password in either."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_nets.cameras.metrics import WatchStatus
from plate_nets.cameras.watcher import Watcher
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import WebhookSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint
from tests.clips import smeared, write_clip
from tests.events import event


@pytest.fixture
def url(reader: LocalReader, tmp_path: Path) -> Iterator[str]:
    """A file that is read, a file that is missing, and a webhook where nothing answers."""
    clip = write_clip(tmp_path / "gate.mp4", smeared(3))
    settings = WebhookSettings(url="http://ann:secret@127.0.0.1:9/")
    said: list[str] = []
    recorder = Recorder(tmp_path / "outbox.sqlite", [settings], said.append)
    recorder.record(event(0))
    with Watcher(reader, [str(clip), str(tmp_path / "nothing.mp4")], notice=lambda *_: None) as watcher:
        list(watcher)
        status = WatchStatus(watcher.status, recorder.deliveries)
        endpoint = HealthEndpoint(status, "127.0.0.1", 0, status)
        yield endpoint.url
        endpoint.close()
    recorder.close()


def test_cameras_that_do_not_work_are_named(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(url, timeout=30)
    assert answer.value.code == 503
    body = json.loads(answer.value.read())
    answer.value.close()
    assert body["state"] == "failing"
    assert body["offline"] == {"nothing": "No such file or directory"}
    assert "secret" not in json.dumps(body)


def test_metrics_have_each_camera_and_sink(url: str) -> None:
    with urllib.request.urlopen(url.replace("/health", "/metrics"), timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    assert 'plates_camera_online{camera="gate"} 1.0' in lines
    assert 'plates_camera_online{camera="nothing"} 0.0' in lines
    assert 'plates_camera_pictures_read_total{camera="gate"} 3.0' in lines
    assert 'plates_camera_plates_spoilt_ratio{camera="gate",reason="smeared"} 1.0' in lines
    assert 'plates_camera_plates_spoilt_ratio{camera="gate",reason="dark"} 0.0' in lines
    smear, blur = (
        next(
            float(line.split()[1]) for line in lines if line.startswith(f'plates_camera_plate_{name}{{camera="gate"}}')
        )
        for name in ("smear", "blur")
    )
    assert smear > 0.1 > blur
    assert not any(line.startswith('plates_camera_plate_smear{camera="nothing"}') for line in lines)
    assert 'plates_sink_waiting{sink="webhook"} 1.0' in lines
