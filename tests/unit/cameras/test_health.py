"""`/health` of `plates watch`: which camera is offline, which sink fails, and no password in either."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from plate_nets.cameras.metrics import WatchStatus
from plate_nets.cameras.watcher import Watcher
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import WebhookSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint
from tests.clips import smeared, write_clip
from tests.events import event


@pytest.fixture(scope="module")
def url(reader: LocalReader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A file that is read, a file that is missing, and a webhook where nothing answers."""
    tmp_path = tmp_path_factory.mktemp("health")
    clip = write_clip(tmp_path / "gate.mp4", smeared(3))
    settings = WebhookSettings(url="http://ann:secret@127.0.0.1:9/")
    recorder = Recorder(tmp_path / "outbox.sqlite", [settings], lambda _: None)
    recorder.record(event(0))
    said: list[tuple[str, str]] = []
    with Watcher(reader, [str(clip), str(tmp_path / "nothing.mp4")], notice=lambda *line: said.append(line)) as watcher:
        list(watcher)
        assert ("nothing", "No such file or directory") in said
        assert [(each.camera_id, each.state) for each in watcher.status()] == [("gate", "ended"), ("nothing", "failed")]
        status = WatchStatus(watcher.status, recorder.deliveries)
        endpoint = HealthEndpoint(status, "127.0.0.1", 0, status)
        yield endpoint.url
        endpoint.close()
    recorder.close()


def test_cameras_that_do_not_work_are_named(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(url, timeout=30)
    with answer.value as failed:
        body = failed.read().decode()
    assert (answer.value.code, json.loads(body)["state"]) == (503, "failing")
    assert json.loads(body)["offline"] == {"nothing": "No such file or directory"}
    assert "secret" not in body


def test_metrics_have_each_camera_and_sink(url: str) -> None:
    with urllib.request.urlopen(url.replace("/health", "/metrics"), timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    assert 'plates_camera_online{camera="gate"} 1.0' in lines
    assert 'plates_camera_online{camera="nothing"} 0.0' in lines
    assert 'plates_camera_pictures_read_total{camera="gate"} 3.0' in lines
    assert 'plates_camera_plates_spoilt_ratio{camera="gate",reason="smeared"} 1.0' in lines
    assert 'plates_camera_plates_spoilt_ratio{camera="gate",reason="dark"} 0.0' in lines
    values = dict(line.rsplit(maxsplit=1) for line in lines)
    smear, blur = (float(values[f'plates_camera_plate_{name}{{camera="gate"}}']) for name in ("smear", "blur"))
    assert smear > 0.1 > blur
    assert 'plates_camera_plate_smear{camera="nothing"}' not in values
    assert 'plates_sink_waiting{sink="webhook"} 1.0' in lines
