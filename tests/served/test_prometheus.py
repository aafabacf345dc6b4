"""A real Prometheus scrapes a real server: every alert fires where its cause is made, every query has data.

Prometheus is Debian's, its configuration the one of deploy/, in which only addresses differ, and times are shorter.
"""

import json
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from plate_nets.client import PlateClient
from plate_nets.errors import InputError
from plate_nets.recognition.health import known_picture
from plate_nets.server import choose_ports
from tests.faults.load import EMPTY, Load
from tests.serve import Serve, Start
from tests.served.test_dashboard import ALERTS, DASHBOARD, DEPLOY
from tests.waiting import eventually

PATIENCE = 120.0
"""Seconds for what follows within some, on a machine that does nothing else."""
CALLERS = 4
MANY_CALLERS = 40
"""More than `plate_recognition` works on and keeps waiting."""
OF_CAMERAS = re.compile('plates_(camera|sink)_|job="cameras"')
"""Metrics of `plates watch`, not scraped here: test_dashboard.py and tests/packaging/alerts.yaml have them."""
TARGETS = ("triton:8002", "triton:8003")


@dataclass(frozen=True)
class Monitored:
    """A supervised server and the Prometheus that scrapes it."""

    serve: Serve
    prometheus: str

    def ask(self, path: str, **query: str) -> list[dict[str, object]]:
        """Prometheus's HTTP API -> its targets, or the result of a query."""
        url = f"{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            data = json.load(answer)["data"]
        found: list[dict[str, object]] = next(
            data[name] for name in ("alerts", "activeTargets", "result") if name in data
        )
        return found

    def firing(self) -> set[object]:
        """The names of the alerts that fire."""
        alerts = self.ask("query", query='ALERTS{alertstate="firing"}')
        return {alert["metric"]["alertname"] for alert in alerts if isinstance(alert["metric"], dict)}


def wait_until(condition: Callable[[], object], what: str) -> None:
    assert eventually(condition, PATIENCE), what


@pytest.fixture(scope="module")
def monitored(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("prometheus")
    serve = start(tmp_path_factory.mktemp("serve"), ("--grace", "5"))
    port = choose_ports({"prometheus": 0})["prometheus"]
    (metrics, health) = (serve.addresses[name].split("/")[2] for name in ("metrics", "health"))
    config = (DEPLOY / "prometheus" / "prometheus.yaml").read_text(encoding="utf-8")
    for target, address in zip(TARGETS, (metrics, health), strict=True):
        assert target in config
        config = config.replace(target, address)
    (folder / "prometheus.yaml").write_text(re.sub(r"_interval: \d+s", "_interval: 1s", config), encoding="utf-8")
    rules = (DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8")
    (folder / "alerts.yaml").write_text(re.sub(r"for: \d+m", "for: 1s", rules), encoding="utf-8")
    command = ["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stderr=log)
    try:
        monitored = Monitored(serve, f"http://127.0.0.1:{port}")
        wait_until(lambda: is_up(monitored), "Prometheus does not scrape both endpoints")
        yield monitored
    finally:
        process.kill()
        process.wait()
        serve.close()


def is_up(monitored: Monitored) -> bool:
    try:
        return [target["health"] for target in monitored.ask("targets")] == ["up", "up"]
    except OSError:
        return False


def fires(monitored: Monitored, alert: str) -> None:
    """Wait until an alert fires."""
    wait_until(lambda: alert in monitored.firing(), f"{alert} does not fire; {monitored.firing()} do")


def test_frames_that_all_fail(monitored: Monitored) -> None:
    """Callers who allow so little time that no frame is answered within it."""
    body = {
        "name": "image",
        "shape": [len(known_picture().image)],
        "datatype": "UINT8",
        "data": [*known_picture().image],
    }
    question = json.dumps({"inputs": [body], "parameters": {"timeout": 1000}}).encode()

    def fail() -> bool:
        url = f"http://{monitored.serve.http_url}/v2/models/plate_recognition/infer"
        with pytest.raises(OSError, match="HTTP Error"):
            urllib.request.urlopen(url, question, timeout=60)
        return "PlatesNothingRecognised" in monitored.firing()

    wait_until(fail, "PlatesNothingRecognised does not fire")


def test_more_frames_than_can_be_read(monitored: Monitored) -> None:
    with Load(monitored.serve.http_url, MANY_CALLERS):
        fires(monitored, "PlatesRefused")


def test_processes_of_a_model_that_are_killed_under_load(monitored: Monitored) -> None:
    serve = monitored.serve
    with Load(serve.http_url, CALLERS) as load:
        load.wait_for_success(0.0, CALLERS, PATIENCE)
        for turn, model in enumerate(("lprnet", "stn", "lprnet", "stn")):  # one model alone would have it restarted
            serve.stubs(model)[0].kill()
            wait_until(lambda turn=turn: len(serve.events("heal")) > turn, "it is not healed")  # type: ignore[misc]
            load.wait_for_success(time.monotonic(), CALLERS, PATIENCE)
        fires(monitored, "PlatesServerErrors")
        fires(monitored, "PlatesHealedRepeatedly")


def test_every_query_of_the_dashboard_has_data(monitored: Monitored) -> None:
    with PlateClient(monitored.serve.http_url, timeout=PATIENCE) as client:
        assert client.read(EMPTY) == []
        assert client.read(known_picture().image)
        with pytest.raises(InputError):
            client.read(b"no picture")
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "5m")
            if OF_CAMERAS.search(query):
                continue

            def has_data(query: str = query) -> bool:
                found = monitored.ask("query", query=query)
                return any(value["value"][1] != "NaN" for value in found)  # type: ignore[index]

            wait_until(has_data, f"{panel['title']}: {query}: no data")


def test_a_server_that_hangs(monitored: Monitored) -> None:
    """Nothing is recognised until the supervisor has started it again."""
    monitored.serve.server().suspend()
    fires(monitored, "PlatesNotServing")
    wait_until(lambda: not monitored.firing() & {"PlatesNotServing", "PlatesDown"}, "it is not started again")


def test_a_server_that_is_dead(monitored: Monitored) -> None:
    monitored.serve.finish(signal.SIGKILL)
    fires(monitored, "PlatesDown")


def test_no_alert_is_left_out() -> None:
    """Each is named by a test above."""
    text = Path(__file__).read_text(encoding="utf-8")
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            assert OF_CAMERAS.search(rule["expr"]) or f'"{rule["alert"]}"' in text, rule["alert"]
