"""`kill -9` of every process in turn, under load: it answers again, never wrongly, and nothing is left over."""

import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from plate_nets.contract import MODELS
from plate_nets.server.guard import ENVIRONMENTS
from plate_nets.supervision.policy import Limits
from tests.faults.conftest import IMPATIENT, LENIENT
from tests.faults.load import Load
from tests.serve import Serve, Start

CONCURRENCY = 4
STUB_SECONDS = 10.0
SERVER_SECONDS = 15.0
ROUNDS = int(os.environ.get("PLATES_SOAK_ROUNDS", "20"))
"""Of the full form."""
HELD_FILES = 8
"""By how many open files the server may differ: connections come and go."""


def eventually(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def health(serve: Serve) -> tuple[int, dict[str, object]]:
    """GET /health -> status and body."""
    try:
        with urllib.request.urlopen(serve.addresses["health"], timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def is_healthy(serve: Serve) -> bool:
    return health(serve)[0] == 200


def holdings(serve: Serve) -> dict[str, int]:
    """What a leak would make more of."""
    members = serve.members()
    connections = [each for member in members for each in member.net_connections()]
    return {
        "processes": len(members),
        "regions": len(serve.regions()),
        "folders": len(list(serve.folder.iterdir())),
        "environments": len(list(ENVIRONMENTS.glob("python_env_*"))),
        "ports": len({each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}),
    }


def kill_under_load(serve: Serve, load: Load, victim: psutil.Process, seconds: float) -> float:
    """Kill -9 a process -> the seconds until the last request that failed was over; all before and after succeeded."""
    before = len(load.failed())
    assert before == 0 or max(each.ended for each in load.failed()) < time.monotonic()
    killed = time.monotonic()
    victim.kill()
    assert eventually(lambda: not is_healthy(serve), seconds)
    assert eventually(lambda: is_healthy(serve), seconds)
    recovered = time.monotonic()
    load.wait_for_success(recovered, 2 * CONCURRENCY, seconds)
    failed = load.failed()[before:]
    assert all(each.ended >= killed for each in failed)
    assert not load.wrong
    window = max((each.ended for each in failed), default=killed) - killed
    assert window <= seconds
    assert not [each for each in failed if each.began > recovered]
    return window


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_every_process_killed_once_under_load(impatient: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    kill_all(impatient, capsys, 1, LENIENT)


@pytest.mark.soak
@pytest.mark.timeout(300 + 300 * ROUNDS)
def test_every_process_killed_over_and_over_under_load(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    kill_all(serve, capsys, ROUNDS, 1.0)


def kill_all(serve: Serve, capsys: pytest.CaptureFixture[str], rounds: int, patience: float) -> None:
    """Kill each kind of stub and the server ``rounds`` times, with the promised deadlines times ``patience``."""
    assert eventually(lambda: is_healthy(serve), 30 * LENIENT)
    at_first = holdings(serve)
    files_at_first = None
    with Load(serve.http_url, CONCURRENCY) as load:
        load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
        for turn in range(rounds):
            windows = {}
            for model in MODELS:
                windows[model] = kill_under_load(serve, load, serve.stubs(model)[0], STUB_SECONDS * patience)
            if turn:  # sooner again, it is a server that keeps ending, before whose start the supervisor pauses
                time.sleep(Limits().lasting)
            windows["server"] = kill_under_load(serve, load, serve.server(), SERVER_SECONDS * patience)
            # The instances that were replaced are unloaded in the meantime
            assert eventually(lambda: holdings(serve) == at_first, 30 * LENIENT), (holdings(serve), at_first)
            files = serve.server().num_fds() + psutil.Process(serve.root).num_fds()
            files_at_first = files_at_first or files
            assert abs(files - files_at_first) <= HELD_FILES
            with capsys.disabled():
                said = ", ".join(f"{name} {seconds:.1f}" for name, seconds in windows.items())
                sys.stdout.write(
                    f"\n{turn + 1}: seconds until the last failure: {said}; {len(load.answers)} requests\n"
                )
    assert not load.wrong
    status, summary = health(serve)
    assert (status, summary["state"]) == (200, "serving")
    assert summary["restarts"] == len(serve.events("restart")) == rounds
    assert summary["heals"] == len(serve.events("heal")) >= len(MODELS) * rounds
    assert {event["model"] for event in serve.events("heal")} == set(MODELS)
    assert all("SIGKILL" in event["cause"] for event in serve.events("restart"))


@pytest.fixture(scope="module")
def healed_serve(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """One server for the tests after which it is as before."""
    running = start(tmp_path_factory.mktemp("healed"), IMPATIENT)
    yield running
    running.close()


@pytest.fixture
def healing(healed_serve: Serve) -> Serve:
    """The same, recognising, and nothing said yet."""
    assert eventually(lambda: is_healthy(healed_serve), 30 * LENIENT)
    healed_serve.forget_events()
    return healed_serve


@pytest.mark.parametrize("model", ["plate_recognition", "yolo"])
def test_the_other_processes_of_a_healed_model_end(healing: Serve, model: str) -> None:
    """Triton keeps them where a request has met the dead one."""
    with Load(healing.http_url, CONCURRENCY) as load:
        load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
        before = healing.stubs(model)
        before[0].kill()
        assert eventually(lambda: bool(healing.events("heal")), STUB_SECONDS * LENIENT)
        assert eventually(lambda: not set(healing.stubs(model)) & set(before), 30 * LENIENT)
        load.wait_for_success(time.monotonic(), 2 * CONCURRENCY, 30 * LENIENT)
    assert len(healing.stubs(model)) == len(before)
    assert [event["model"] for event in healing.events("heal")] == [model]
    assert not healing.events("restart")


def test_a_model_that_hangs_is_found_and_healed(healing: Serve) -> None:
    (stub,) = healing.stubs("lprnet")
    stub.suspend()
    assert eventually(lambda: bool(healing.events("heal")), 60 * LENIENT)
    assert eventually(lambda: is_healthy(healing), 30 * LENIENT)
    assert [event["model"] for event in healing.events("heal")] == ["lprnet"]
    assert eventually(lambda: not stub.is_running() or stub.status() == psutil.STATUS_ZOMBIE, 30)


HANGS = """
import os
import time
from pathlib import Path

from plate_nets.serving import detector

frame_of = detector.frame_of


def hangs(*args):
    while Path({victims!r}).exists() and str(os.getpid()) in Path({victims!r}).read_text().split():
        time.sleep(0.1)
    return frame_of(*args)


detector.frame_of = hangs


class TritonPythonModel:
    def initialize(self, args):
        self._model = detector.Detector(args)

    def execute(self, requests):
        return [self._model.answer(request) for request in requests]
"""


def with_detectors_that_hang(tmp_path: Path, model_repository: Path, environment: dict[str, str]) -> tuple[Serve, Path]:
    """A server -> it, and the file for the numbers of those processes of `yolo` that shall hang from then on."""
    repository = tmp_path / "models"
    shutil.copytree(model_repository, repository)
    victims = tmp_path / "victims"
    (repository / "yolo" / "1" / "model.py").write_text(HANGS.format(victims=str(victims)), encoding="utf-8")
    return Serve(tmp_path, ["--model-repository", str(repository)], environment), victims


def test_one_instance_that_hangs_is_found_though_the_others_answer(tmp_path: Path, model_repository: Path) -> None:
    serve, victims = with_detectors_that_hang(tmp_path, model_repository, {"PLATES_YOLO_STALLED_AFTER": "5"})
    try:
        with Load(serve.http_url, CONCURRENCY) as load:
            load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
            victim, _ = serve.stubs("yolo")
            victims.write_text(str(victim.pid), encoding="utf-8")
            assert eventually(lambda: bool(serve.events("heal")), 60 * LENIENT)
            healed = time.monotonic()
            load.wait_for_success(healed, 2 * CONCURRENCY, 30 * LENIENT)
        assert not load.wrong
        assert not [each for each in load.failed() if each.began > healed]
        (heal,) = serve.events("heal")
        assert (heal["model"], heal["cause"]) == ("yolo", "a process of it died")
        assert not serve.events("restart")
        assert "in hangs" in serve.log_text(), "the log says where it hung"
    finally:
        serve.close()


def test_a_model_that_hangs_under_load_is_healed(tmp_path: Path, model_repository: Path) -> None:
    """Its process lives, and the queues refuse the probe: for that alone it would look like an overload."""
    serve, victims = with_detectors_that_hang(tmp_path, model_repository, {})
    try:
        with Load(serve.http_url, 2 * CONCURRENCY) as load:
            load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
            victims.write_text(" ".join(str(stub.pid) for stub in serve.stubs("yolo")), encoding="utf-8")
            assert eventually(lambda: bool(serve.events("heal")), 60 * LENIENT)
            assert eventually(lambda: is_healthy(serve), 30 * LENIENT)
            load.wait_for_success(time.monotonic(), 2 * CONCURRENCY, 30 * LENIENT)
        assert not load.wrong
        (heal,) = serve.events("heal")
        assert (heal["model"], heal["cause"]) == ("yolo", "requests wait, and none is answered")
        assert not serve.events("restart")
    finally:
        serve.close()


def test_a_server_that_cannot_be_started_again_is_given_up(tmp_path: Path, model_repository: Path) -> None:
    """A model file goes bad while the server runs: neither healing nor restarting helps, and the command says so."""
    repository = tmp_path / "models"
    shutil.copytree(model_repository, repository)
    serve = Serve(tmp_path, ["--model-repository", str(repository)])
    try:
        assert eventually(lambda: is_healthy(serve), 30 * LENIENT)
        (repository / "yolo" / "1" / "model.xml").write_text("<net>", encoding="utf-8")
        serve.stubs("yolo")[0].kill()
        assert serve.process.wait(120 * LENIENT) == 2
        restarts = serve.events("restart")
        assert [event["pause"] for event in restarts] == [0, 1, 2, 4, 8]
        assert "yolo: a process of it died; loading it anew" in restarts[0]["cause"]
        assert "yolo/1/model.xml: does not load" in restarts[-1]["fault"]
        (gave_up,) = serve.events("gave up")
        assert gave_up["restarts"] == 5
        assert "plates: given up after 5 restarts in a row: " in serve.errors()
        assert "Traceback" not in serve.errors()
        assert serve.left() == []
    finally:
        serve.close()
