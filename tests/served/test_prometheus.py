"""A real Prometheus scrapes a real server and `plates watch`: every alert fires on its cause, every query of the
dashboard has data, and every metric and label value that they name exists.

Prometheus is Debian's. Its configuration is that of deploy/ with other addresses and shorter times.
"""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from plate_nets.client import PlateClient
from plate_nets.common.errors import InputError
from plate_nets.recognition.health import known_picture
from plate_nets.triton.server import choose_ports
from tests.clips import SMEARED, passing, smeared, write_clip
from tests.faults.load import EMPTY, Load
from tests.receiver import Receiver
from tests.rtsp import RtspCamera
from tests.serve import Serve, Start
from tests.served.test_dashboard import ALERTS, DASHBOARD, DEPLOY, RULES
from tests.waiting import eventually

PATIENCE = 120.0
"""Seconds to wait for what takes a few on an idle machine."""
CALLERS = 4
MANY_CALLERS = 40
"""More callers than `plate_recognition` can process and queue requests."""
QUERIES = [
    *((panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *((rule["alert"], rule["expr"]) for group in ALERTS["groups"] for rule in group["rules"]),
    *((rule.get("alert", ""), rule["expr"]) for group in RULES["spec"]["groups"] for rule in group["rules"]),
]
LABELS_OF_KUBERNETES = {"namespace", "pod"}
CARS, FPS = 12, 5
"""How many cars the camera sees before its video starts again, and its pictures per second."""
TARGETS = '["triton:8002", "triton:8003"]'
CAMERAS = """\
cameras: [{{source: "{source}", id: gate}}]
sinks: [{{type: webhook, url: "{url}"}}]
outbox: {folder}/outbox.sqlite
outbox_mb: 0.03  # some records
memory: 1
"""
UNSEEN = "plates_camera_frame_age_seconds > 30"


@dataclass(frozen=True)
class Monitored:
    """A supervised server and the Prometheus that scrapes it."""

    serve: Serve
    prometheus: str
    process: "subprocess.Popen[bytes]"
    config: Path

    def scrape(self, *targets: str) -> None:
        """Make Prometheus scrape these ``host:port``, and wait until it does."""
        configure(self.config, targets)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.up() == sorted(targets), f"Prometheus does not scrape {targets}")

    @property
    def of_the_server(self) -> list[str]:
        """The metrics of Triton and of the supervisor."""
        return [self.serve.addresses[name].split("/")[2] for name in ("metrics", "health")]

    def is_ready(self) -> bool:
        try:
            return self.up() == []
        except OSError:
            return False

    def up(self) -> list[str]:
        """The targets that it scrapes and that are up."""
        targets: list[Any] = self.ask("targets")
        return sorted(each["labels"]["instance"] for each in targets if each["health"] == "up")

    def ask(self, path: str, **query: str) -> list[dict[str, object]]:
        """Query Prometheus's HTTP API -> its targets, or the result."""
        url = f"{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            data = json.load(answer)["data"]
        found: list[dict[str, object]] = data["activeTargets" if path == "targets" else "result"]
        return found

    def firing(self) -> set[object]:
        """The names of the firing alerts."""
        alerts = self.ask("query", query='ALERTS{alertstate="firing"}')
        return {alert["metric"]["alertname"] for alert in alerts if isinstance(alert["metric"], dict)}


def configure(path: Path, targets: Sequence[str]) -> None:
    """Write the configuration of deploy/ with other targets."""
    config = (DEPLOY / "prometheus" / "prometheus.yaml").read_text(encoding="utf-8")
    assert TARGETS in config
    config = re.sub(r"_interval: \d+s", "_interval: 1s", config.replace(TARGETS, json.dumps(targets)))
    path.write_text(config, encoding="utf-8")


def wait_until(condition: Callable[[], object], what: str) -> None:
    assert eventually(condition, PATIENCE), what


@pytest.fixture(scope="module")
def monitored(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("prometheus")
    serve = start(tmp_path_factory.mktemp("serve"), ("--grace", "5", "--scheme", "world"))  # slow enough for a queue
    port = choose_ports({"prometheus": 0})["prometheus"]
    rules = (DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8")
    shorter = re.sub(r"for: \d+m", "for: 1s", rules).replace("[5m]", "[10s]").replace(UNSEEN, UNSEEN.replace("30", "1"))
    (folder / "alerts.yaml").write_text(shorter, encoding="utf-8")
    config = folder / "prometheus.yaml"
    configure(config, [])
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stderr=log)
    try:
        monitored = Monitored(serve, f"http://127.0.0.1:{port}", process, config)
        wait_until(monitored.is_ready, "Prometheus does not start")
        monitored.scrape(*monitored.of_the_server)
        yield monitored
    finally:
        process.kill()
        process.wait()
        serve.close()


@dataclass(frozen=True)
class Watched:
    """A `plates watch` with a camera and a receiver of its events."""

    camera: RtspCamera
    receiver: Receiver
    process: "subprocess.Popen[bytes]"


@pytest.fixture(scope="module")
def watched(monitored: Monitored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A `plates watch` that uses the server. Prometheus scrapes it too."""
    folder = tmp_path_factory.mktemp("watch")
    car = [*passing(3 * FPS, size=SMEARED, empty=2 * FPS)]
    cars = chain(smeared(2 * FPS), chain.from_iterable(repeat(car, CARS)))
    camera = RtspCamera(write_clip(folder / "gate.mkv", cars, FPS))
    receiver = Receiver()
    port = str(choose_ports({"metrics": 0})["metrics"])
    cameras = folder / "cameras.yaml"
    cameras.write_text(CAMERAS.format(source=camera.url(), url=receiver.url, folder=folder), encoding="utf-8")
    command = [sys.executable, "-m", "plate_nets", "watch", str(cameras), "--metrics-port", port]
    with (folder / "log").open("wb") as log:
        url = ("--url", monitored.serve.http_url, "--protocol", "http")
        process = subprocess.Popen([*command, *url], stdout=log, stderr=log)
    try:
        address = f"127.0.0.1:{port}"
        (monitored.config.parent / "cameras.yaml").write_text(json.dumps([{"targets": [address]}]), encoding="utf-8")
        wait_until(lambda: address in monitored.up(), "Prometheus does not scrape it")
        yield Watched(camera, receiver, process)
    finally:
        process.kill()
        process.wait()
        camera.kill()
        receiver.close()


def fires(monitored: Monitored, alert: str) -> None:
    """Wait until an alert fires."""
    wait_until(lambda: alert in monitored.firing(), f"{alert} does not fire; {monitored.firing()} do")


def test_frames_that_all_fail(monitored: Monitored) -> None:
    """Callers allow so little time that no frame is answered in time."""
    picture = known_picture().image
    body = {"name": "image", "shape": [len(picture)], "datatype": "UINT8", "data": [*picture]}
    question = json.dumps({"inputs": [body], "parameters": {"timeout": 1000}}).encode()

    def fail() -> bool:
        url = f"http://{monitored.serve.http_url}/v2/models/plate_recognition/infer"
        with pytest.raises(OSError, match="HTTP Error"):
            urllib.request.urlopen(url, question, timeout=60)
        return "PlatesNothingRecognised" in monitored.firing()

    wait_until(fail, "PlatesNothingRecognised does not fire")


def test_more_frames_than_can_be_read(monitored: Monitored) -> None:
    with Load(monitored.serve.http_url, MANY_CALLERS, large=True):
        fires(monitored, "PlatesRefused")


def test_processes_of_a_model_are_killed_under_load(monitored: Monitored) -> None:
    serve = monitored.serve
    with Load(serve.http_url, CALLERS) as load:
        load.wait_for_success(0.0, CALLERS, PATIENCE)
        # If one model failed that often, the server would be restarted
        for turn, model in enumerate(("lprnet", "stn", "lprnet", "stn")):
            serve.stubs(model)[0].kill()
            wait_until(lambda turn=turn: len(serve.events("heal")) > turn, "it is not healed")  # type: ignore[misc]
            load.wait_for_success(time.monotonic(), CALLERS, PATIENCE)
        # This alert ends when its cause ends
        fired = 'last_over_time(ALERTS{alertname="PlatesServerErrors", alertstate="firing"}[2m])'
        wait_until(lambda: monitored.ask("query", query=fired), "PlatesServerErrors has not fired")
        fires(monitored, "PlatesHealedRepeatedly")


def test_every_query_of_the_dashboard_has_data(monitored: Monitored, watched: Watched) -> None:
    with PlateClient(monitored.serve.http_url, timeout=PATIENCE) as client:
        assert client.read(EMPTY) == []
        assert client.read(known_picture().image)
        with pytest.raises(InputError):
            client.read(b"no picture")
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "5m")

            def has_data(query: str = query) -> bool:
                found = monitored.ask("query", query=query)
                return any(value["value"][1] != "NaN" for value in found)  # type: ignore[index]

            wait_until(has_data, f"{panel['title']}: {query}: no data")


def selectors(query: str) -> list[tuple[str, dict[str, tuple[str, str]]]]:
    """PromQL -> its metrics, each with label -> operator and value."""
    query = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\]", " ", query)
    found = re.findall(r"([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?", re.sub(r"\b\d+(\.\d+)?(e\d+)?\b", " ", query))
    words = {"and", "or", "unless", "group_left", "group_right", "bool", "offset"}
    return [
        (
            name,
            {label: (sign, value) for label, sign, value in re.findall(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"', matchers)},
        )
        for name, matchers in found
        if name not in words
    ]


def test_every_query_names_what_exists(monitored: Monitored, watched: Watched) -> None:
    """Those of the dashboard, of the alerts, and of the rules for Kubernetes."""
    metrics: dict[str, list[dict[str, str]]] = {}
    for series in monitored.ask("query", query='{__name__=~".+"}'):
        labels = dict(series["metric"])  # type: ignore[call-overload]
        metrics.setdefault(labels.pop("__name__"), []).append(labels)
    for title, query in QUERIES:
        asked = selectors(query)
        assert asked, title
        for name, matchers in asked:
            assert name in metrics, f"{title}: no metric {name}"
            for label, (sign, value) in matchers.items():
                wanted = value.split("|") if sign in ("=~", "!~") else [value]
                there = {series.get(label) for series in metrics[name]}
                assert set(wanted) <= there, f"{title}: {name} has {label} {there}, not {wanted}"
        grouped = {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", query) for label in labels.split(",")}
        known = {label for name, _ in asked for series in metrics[name] for label in series}
        assert grouped <= known | LABELS_OF_KUBERNETES, f"{title}: groups by {grouped - known}"

    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics if name.startswith("plates_")}
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for _, query in QUERIES for name, _ in selectors(query)}
    assert ours <= shown
    document = (DEPLOY.parent / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)`", document, re.M)) == ours


def test_a_camera_whose_exposure_is_too_long(monitored: Monitored, watched: Watched) -> None:
    fires(monitored, "PlatesHardToRead")


def test_a_sink_that_fails_until_the_outbox_is_full(monitored: Monitored, watched: Watched) -> None:
    watched.receiver.wait(1, PATIENCE)
    watched.receiver.answers = [503] * 1000
    fires(monitored, "PlatesSinkFailing")
    fires(monitored, "PlatesEventsLost")


def test_a_server_that_hangs(monitored: Monitored, watched: Watched) -> None:
    """Until the supervisor has restarted the server, nothing is recognised, camera pictures included."""
    monitored.serve.server().suspend()
    fires(monitored, "PlatesCameraNotAnalysed")
    fires(monitored, "PlatesNotServing")
    because_of_it = {"PlatesCameraNotAnalysed", "PlatesNotServing", "PlatesDown"}
    wait_until(lambda: not monitored.firing() & because_of_it, "it is not started again")


def test_a_camera_that_is_gone(monitored: Monitored, watched: Watched) -> None:
    watched.camera.kill()
    fires(monitored, "PlatesCameraOffline")


def test_a_watch_that_is_dead(monitored: Monitored, watched: Watched) -> None:
    watched.process.kill()
    fires(monitored, "PlatesWatchDown")


def test_a_server_that_is_dead(monitored: Monitored) -> None:
    monitored.serve.finish(signal.SIGKILL)
    fires(monitored, "PlatesDown")


def test_every_alert_is_tested() -> None:
    """A test above names each one."""
    text = Path(__file__).read_text(encoding="utf-8")
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            assert f'"{rule["alert"]}"' in text, rule["alert"]
