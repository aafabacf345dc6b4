"""Models that grew are reloaded while they answer; a server that grew is restarted."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from plate_nets.contract import MODELS
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.supervision.events import Status
from plate_nets.triton.supervision.supervisor import Supervisor
from tests.faults.load import PAUSE, Load
from tests.serve import stubs_below
from tests.waiting import eventually

CONCURRENCY = 4


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedTriton]:
    with EmbeddedTriton(model_control="explicit", load=list(MODELS), exit_timeout=0) as server:
        yield server


def stubs(server: EmbeddedTriton, model: str) -> set[int]:
    """Ids of the living processes of a model."""
    assert server.guard_pid is not None
    return {each.pid for each in stubs_below(server.guard_pid, model)}


def test_no_request_is_lost(server: EmbeddedTriton, tmp_path: Path) -> None:
    with (tmp_path / "events").open("ab", buffering=0) as log, Load(server.http_url, CONCURRENCY, pause=PAUSE) as load:
        status = Status(log)
        supervisor = Supervisor(server, status)
        for model in ("plate_recognition", "yolo", "stn"):
            before = stubs(server, model)
            load.wait_for_success(time.monotonic(), CONCURRENCY, 120)
            supervisor.renew(model, 300 << 20)
            load.wait_for_success(time.monotonic(), CONCURRENCY, 120)
            assert eventually(lambda: not stubs(server, model) & before, 60), model  # noqa: B023
            assert len(stubs(server, model)) == len(before)
    assert not load.failed(), load.failed()[:3]
    assert not load.wrong
    assert {model: count for model, count in status.renewals.items() if count} == dict.fromkeys(
        ("plate_recognition", "yolo", "stn"), 1
    )
    assert status.summary()["causes"][0]["cause"] == "a process of it grew by 300 MB"


def test_a_server_that_grew_is_restarted(server: EmbeddedTriton, tmp_path: Path) -> None:
    with (tmp_path / "events").open("ab", buffering=0) as log:
        before = server.server_pid
        status = Status(log)
        Supervisor(server, status).renew_server(1100 << 20)
        assert before is not None and server.server_pid not in (None, before)
        assert not psutil.pid_exists(before)
        with Load(server.http_url, CONCURRENCY, pause=PAUSE) as load:
            load.wait_for_success(time.monotonic(), CONCURRENCY, 120)
    assert status.restarts == 1
    assert status.summary()["causes"][0]["cause"] == "the server grew by 1100 MB"


def test_a_model_that_cannot_be_loaded_is_not_replaced(server: EmbeddedTriton, tmp_path: Path) -> None:
    with (tmp_path / "events").open("ab", buffering=0) as log:
        before = stubs(server, "stn")
        status = Status(log)
        Supervisor(server, status).renew("no_model", 300 << 20)
        assert stubs(server, "stn") == before
        assert not any(status.renewals.values())
    assert '"event": "not renewed"' in (tmp_path / "events").read_text(encoding="utf-8")
