"""Processes that live but do not work are found and ended, and their model answers again."""

import time
from pathlib import Path

from tests.faults.conftest import IMPATIENT, LENIENT
from tests.faults.load import PAUSE, Load
from tests.serve import Serve
from tests.waiting import eventually

CONCURRENCY = 4

HANGS = """
import os
import time
from pathlib import Path

from plate_nets.triton.backend import detector

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


def with_detectors_that_hang(tmp_path: Path, repository: Path, environment: dict[str, str]) -> tuple[Serve, Path]:
    """A server -> itself, and the file that lists the processes of `yolo` that hang from then on."""
    victims = tmp_path / "victims"
    (repository / "yolo" / "1" / "model.py").write_text(HANGS.format(victims=str(victims)), encoding="utf-8")
    return Serve(tmp_path, ["--model-repository", str(repository), *IMPATIENT], environment), victims


def test_one_hanging_instance_is_found_while_the_others_answer(tmp_path: Path, repository: Path) -> None:
    serve, victims = with_detectors_that_hang(tmp_path, repository, {"PLATES_YOLO_STALLED_AFTER": "5"})
    with serve:
        with Load(serve.http_url, CONCURRENCY, pause=PAUSE) as load:
            load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
            victim, _ = serve.stubs("yolo")
            victims.write_text(str(victim.pid), encoding="utf-8")
            assert eventually(lambda: serve.events("heal"), 60 * LENIENT)
            healed = time.monotonic()
            load.wait_for_success(healed, 2 * CONCURRENCY, 30 * LENIENT)
        assert not load.wrong
        assert not [each for each in load.failed() if each.began > healed]
        (heal,) = serve.events("heal")
        assert (heal["model"], heal["cause"]) == ("yolo", "a process of it died")
        assert not serve.events("restart")
        assert "in hangs" in serve.log_text(), "the log says where it hung"


def test_a_model_that_hangs_under_load_is_healed(tmp_path: Path, repository: Path) -> None:
    """Its process lives, and the queues refuse the probe. By that alone it would look like an overload."""
    serve, victims = with_detectors_that_hang(tmp_path, repository, {})
    with serve:
        with Load(serve.http_url, 2 * CONCURRENCY, pause=PAUSE) as load:
            load.wait_for_success(0.0, 2 * CONCURRENCY, 30 * LENIENT)
            victims.write_text(" ".join(str(stub.pid) for stub in serve.stubs("yolo")), encoding="utf-8")
            assert eventually(lambda: serve.events("heal"), 60 * LENIENT)
            assert eventually(serve.is_healthy, 30 * LENIENT)
            load.wait_for_success(time.monotonic(), 2 * CONCURRENCY, 30 * LENIENT)
        assert not load.wrong
        (heal,) = serve.events("heal")
        assert (heal["model"], heal["cause"]) == ("yolo", "requests wait, and none is answered")
        assert not serve.events("restart")
