"""`kill -9` of every process in turn under load: the server answers again, never wrongly, and nothing is left over."""

import contextlib
import os
import time
from collections.abc import Iterator

import psutil
import pytest

from plate_nets.contract import MODELS
from plate_nets.triton.supervision.policy import Limits
from tests.faults.beside import say
from tests.faults.conftest import IMPATIENT, LENIENT
from tests.faults.load import PAUSE, Load
from tests.serve import Serve, Start
from tests.waiting import eventually

CONCURRENCY = 4
TOO_MANY = 40
"""Callers: more than a server processes and queues."""
STUB_SECONDS = 10.0
SERVER_SECONDS = 15.0
ROUNDS = int(os.environ.get("PLATES_SOAK_ROUNDS", "20"))
"""Rounds in full length."""
HELD_FILES = 8
"""How many open files the server may differ by, because connections come and go."""


def holdings(serve: Serve) -> dict[str, int]:
    """Everything that a leak would increase."""
    members = serve.members()
    connections = []
    for member in members:
        with contextlib.suppress(psutil.NoSuchProcess):  # a replaced process has just ended
            connections += member.net_connections()
    return {
        "processes": len(members),
        "regions": len(serve.regions()),
        "folders": len(list(serve.folder.iterdir())),
        "environments": len(serve.environments()),
        "ports": len({each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}),
    }


def kill_under_load(serve: Serve, load: Load, victim: psutil.Process, seconds: float) -> float:
    """Kill -9 a process -> the seconds until the last failed request was over; all before and after succeeded."""
    before = len(load.failed())
    assert before == 0 or max(each.ended for each in load.failed()) < time.monotonic()
    killed = time.monotonic()
    victim.kill()
    assert eventually(lambda: not serve.is_healthy(), seconds)
    assert eventually(serve.is_healthy, seconds)
    recovered = time.monotonic()
    load.wait_for_success(recovered, 2 * CONCURRENCY, seconds)
    failed = load.failed()[before:]
    assert all(each.ended >= killed for each in failed)
    assert not load.wrong
    window = max((each.ended for each in failed), default=killed) - killed
    assert window <= seconds
    assert not [each for each in failed if each.began > recovered]
    return window


@pytest.fixture(scope="module")
def healed_serve(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """One server for tests that leave it as it was."""
    with start(tmp_path_factory.mktemp("healed"), IMPATIENT) as running:
        yield running


@pytest.fixture
def healing(healed_serve: Serve) -> Serve:
    """The same server, healthy and with no events yet."""
    assert eventually(healed_serve.is_healthy, 30 * LENIENT)
    healed_serve.forget_events()
    return healed_serve


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_every_process_killed_once_under_load(healing: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    kill_all(healing, capsys, 1, LENIENT, PAUSE)


@pytest.mark.soak
@pytest.mark.timeout(300 + 300 * ROUNDS)
def test_every_process_killed_over_and_over_under_load(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    kill_all(serve, capsys, ROUNDS, 1.0)


def kill_all(
    serve: Serve, capsys: pytest.CaptureFixture[str], rounds: int, patience: float, pause: float = 0.0
) -> None:
    """Kill each kind of stub and the server ``rounds`` times, within the promised deadlines times ``patience``."""
    assert eventually(serve.is_healthy, 30 * LENIENT)
    at_first = holdings(serve)
    files_at_first = None
    with Load(serve.http_url, CONCURRENCY, pause=pause) as load:
        load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
        for turn in range(rounds):
            windows = {}
            for model in MODELS:
                windows[model] = kill_under_load(serve, load, serve.stubs(model)[0], STUB_SECONDS * patience)
            if turn:  # if it ends again sooner, the supervisor pauses before it restarts it
                time.sleep(Limits().lasting)
            windows["server"] = kill_under_load(serve, load, serve.server(), SERVER_SECONDS * patience)
            # The replaced instances are unloaded meanwhile
            assert eventually(lambda: holdings(serve) == at_first, 30 * LENIENT), (holdings(serve), at_first)
            files = serve.server().num_fds() + psutil.Process(serve.root).num_fds()
            files_at_first = files_at_first or files
            assert abs(files - files_at_first) <= HELD_FILES
            said = ", ".join(f"{name} {seconds:.1f}" for name, seconds in windows.items())
            say(capsys, f"{turn + 1}: seconds until the last failure: {said}; {len(load.answers)} requests")
    assert not load.wrong
    status, summary = serve.health()
    assert (status, summary["state"]) == (200, "serving")
    assert summary["restarts"] == len(serve.events("restart")) == rounds
    assert summary["heals"] == len(serve.events("heal")) >= len(MODELS) * rounds
    assert {event["model"] for event in serve.events("heal")} == set(MODELS)
    assert all("SIGKILL" in event["cause"] for event in serve.events("restart"))


def test_a_server_that_is_killed_is_healthy_again_while_it_refuses_the_probe(healing: Serve) -> None:
    with Load(healing.http_url, TOO_MANY) as load:
        assert eventually(lambda: sum(not each.fault for each in load.since(0.0)) >= CONCURRENCY, 30 * LENIENT)
        healing.server().kill()
        assert eventually(lambda: healing.events("restart"), SERVER_SECONDS * LENIENT)
        assert eventually(healing.is_healthy, SERVER_SECONDS * LENIENT)
        assert any("ServerOverloaded" in each.fault for each in load.failed())
    assert not load.wrong


def test_a_model_that_hangs_is_found_and_healed(healing: Serve) -> None:
    (stub,) = healing.stubs("lprnet")
    stub.suspend()
    assert eventually(lambda: healing.events("heal"), 60 * LENIENT)
    assert eventually(healing.is_healthy, 30 * LENIENT)
    assert [event["model"] for event in healing.events("heal")] == ["lprnet"]
    assert eventually(lambda: not stub.is_running() or stub.status() == psutil.STATUS_ZOMBIE, 30)


@pytest.mark.parametrize("model", ["plate_recognition", "yolo"])
def test_the_other_processes_of_a_healed_model_end(healing: Serve, model: str) -> None:
    """Triton keeps these processes if a request was sent to the dead one."""
    with Load(healing.http_url, CONCURRENCY, pause=PAUSE) as load:
        load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
        before = healing.stubs(model)
        before[0].kill()
        assert eventually(lambda: healing.events("heal"), STUB_SECONDS * LENIENT)
        assert eventually(lambda: not set(healing.stubs(model)) & set(before), 30 * LENIENT)
        load.wait_for_success(time.monotonic(), 2 * CONCURRENCY, 30 * LENIENT)
    assert len(healing.stubs(model)) == len(before)
    assert [event["model"] for event in healing.events("heal")] == [model]
    assert not healing.events("restart")
