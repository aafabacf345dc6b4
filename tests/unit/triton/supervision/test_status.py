"""The state of a server: in memory, as JSON lines, at /health, and at /metrics."""

import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.contract import MODELS
from plate_nets.triton.supervision.events import Status
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint
from plate_nets.triton.supervision.metrics import StatusCollector
from tests.waiting import eventually


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def status(events: Path) -> Iterator[Status]:
    with events.open("ab", buffering=0) as log:
        yield Status(log)


@pytest.fixture
def endpoint(status: Status) -> Iterator[HealthEndpoint]:
    endpoint = HealthEndpoint(status, "127.0.0.1", 0, StatusCollector(status))
    yield endpoint
    endpoint.close()


def test_the_endpoint_does_not_resolve_its_name(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = Mock()
    for name in ("getaddrinfo", "gethostbyaddr", "gethostbyname", "gethostbyname_ex", "getnameinfo"):
        monkeypatch.setattr(socket, name, resolver)
    HealthEndpoint(status, "127.0.0.1", 0, StatusCollector(status)).close()
    assert resolver.mock_calls == []


def test_events_are_a_line_of_json_each(status: Status, events: Path) -> None:
    status.report("heal", model="stn", cause="a\nb", seconds=1.5)
    status.report("renew", model="yolo", cause="d")
    status.report("restart", cause="c")
    status.report("serving")
    lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines] == ["heal", "renew", "restart", "serving"]
    assert lines[0]["time"].endswith("+00:00")
    assert (lines[0]["model"], lines[0]["cause"], lines[0]["seconds"]) == ("stn", "a\nb", 1.5)
    summary = status.summary()
    assert (summary["heals"], summary["renewals"], summary["restarts"]) == (1, 1, 1)
    assert summary["causes"] == lines[:3]


@pytest.mark.parametrize(
    ("cause", "shown"),
    [
        ("/srv/models/yolo/1/model.xml: cannot be loaded", "model.xml: cannot be loaded"),
        ("failed to load 'stn': '/srv/stn/model.pt'", "failed to load 'stn': 'model.pt'"),
        ("127.0.0.1:8000/v2/repository/models/stn/load: no", "127.0.0.1:8000/v2/repository/models/stn/load: no"),
        ("stn/1/model.pt: 1/2 of it", "stn/1/model.pt: 1/2 of it"),
    ],
)
def test_no_folder_is_shown(status: Status, events: Path, cause: str, shown: str) -> None:
    status.report("restart", cause=cause)
    (restart,) = status.summary()["causes"]
    assert restart["cause"] == shown
    assert json.loads(events.read_text(encoding="utf-8"))["cause"] == cause, "the log has all of it"


def test_a_state_has_the_time_at_which_it_began(status: Status) -> None:
    status.enter("serving")
    since = status.summary()["since"]
    status.enter("serving")
    assert status.summary()["since"] == since
    status.enter("healing")
    assert status.summary()["since"] >= since


def test_a_full_disk_is_survived() -> None:
    with Path("/dev/full").open("ab", buffering=0) as log:
        status = Status(log)
        status.report("restart", cause="c")
    assert status.summary()["restarts"] == 1


def get(endpoint: HealthEndpoint, path: str = "/health") -> tuple[int, HTTPMessage, str]:
    """The status, the headers and the text of an answer."""
    connection = HTTPConnection(endpoint.url.split("/")[2], timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


def test_health_is_200_only_while_it_serves(status: Status, endpoint: HealthEndpoint) -> None:
    for state in ("starting", "failing", "healing", "restarting", "draining", "stopped", "serving"):
        status.enter(state)
        code, headers, text = get(endpoint)
        told = json.loads(text)
        assert (code, told["state"]) == (200 if state == "serving" else 503, state)
    assert headers["Server"] == "plates"
    assert told.keys() == {"state", "since", "heals", "renewals", "restarts", "causes", "threads"}


def test_status_is_live_while_the_supervisor_is_in_time(status: Status, endpoint: HealthEndpoint) -> None:
    """In any state: a server that fails is the supervisor's normal work."""
    assert get(endpoint, "/live")[0] == 200, "before it watches, the start has a limit of its own"
    status.enter("restarting")
    status.turns_within(60)
    assert get(endpoint, "/live")[0] == 200
    status.turns_within(0)
    assert get(endpoint, "/live")[0] == 503


def test_a_server_that_is_drained_only_stops(status: Status) -> None:
    assert status.enter("serving")
    assert not status.enter("serving")
    assert status.enter("draining")
    assert not status.enter("serving")
    assert status.state == "draining"
    assert status.enter("stopped")


def scrape(endpoint: HealthEndpoint) -> dict[str, float]:
    """GET /metrics -> name with labels -> value."""
    _, headers, text = get(endpoint, "/metrics")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = text.splitlines()
    return {name: float(value) for name, value in (line.split() for line in lines if not line.startswith("#"))}


def test_metrics_begin_at_0_and_count_what_happened(status: Status, endpoint: HealthEndpoint) -> None:
    counters = ("heals", "renewals")
    models = {f'plates_supervisor_{each}_total{{model="{model}"}}' for each in counters for model in MODELS}
    others = {"plates_supervisor_serving", "plates_supervisor_restarts_total"}
    wanted = models | others | {'plates_thread_faults_total{thread="health"}'}
    found = scrape(endpoint)
    assert {name: found.get(name) for name in wanted} == dict.fromkeys(wanted, 0), "so that a rate has a beginning"

    for model in ("stn", "stn", "a_model_of_the_user"):
        status.report("heal", model=model, cause="c")
    status.report("renew", model="yolo", cause="c")
    status.report("restart", cause="c")
    status.recognised()
    status.enter("serving")
    found = scrape(endpoint)
    assert {name: found[name] for name in wanted if found[name]} == {
        'plates_supervisor_heals_total{model="stn"}': 2,
        'plates_supervisor_renewals_total{model="yolo"}': 1,
        "plates_supervisor_restarts_total": 1,
        "plates_supervisor_serving": 1,
    }
    assert found['plates_supervisor_heals_total{model="a_model_of_the_user"}'] == 1
    assert abs(found["plates_supervisor_last_recognition_timestamp_seconds"] - time.time()) < 60
    status.enter("healing")
    assert scrape(endpoint)["plates_supervisor_serving"] == 0


def test_other_addresses_are_not_found(endpoint: HealthEndpoint) -> None:
    for path in ("/", "/healthy", "/metrics/", "/../etc/passwd"):
        assert get(endpoint, path)[0] == 404


@pytest.mark.parametrize("written", ["{}", "http://{}", "http://{}/health"])
def test_the_command_asks_the_supervisor(status: Status, endpoint: HealthEndpoint, written: str) -> None:
    address = written.format(endpoint.url.split("/")[2])
    command = ["health", "--supervisor", address]
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, result.stderr.partition(",")[0]) == (1, 'unhealthy: {"state": "starting"')
    status.enter("serving")
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, result.stdout.partition(",")[0]) == (0, 'healthy: {"state": "serving"')


def test_hundreds_of_silent_connections_block_no_client_for_long(endpoint: HealthEndpoint) -> None:
    """Above a limit they are closed at once, below it after the time allowed for a request."""
    host, _, port = endpoint.url.removeprefix("http://").removesuffix("/health").rpartition(":")
    before = threading.active_count()
    silent = [socket.create_connection((host, int(port)), timeout=30) for _ in range(200)]
    poll = select.poll()
    for connection in silent:
        poll.register(connection, select.POLLIN)  # a silent connection becomes readable when it is closed
    try:
        assert eventually(lambda: len(poll.poll(0)) >= 100, 30)
        assert threading.active_count() - before < 100
    finally:
        for connection in silent:
            connection.close()

    def answers() -> bool:
        """Whether the endpoint answers, as it does once it has noticed that the connections are gone."""
        with suppress(OSError):
            return get(endpoint)[0] == 503
        return False

    assert eventually(answers, 30)
