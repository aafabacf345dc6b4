"""On SIGTERM the server announces its end, goes on serving for a while, answers every request, and exits with 0."""

import signal
import time
import urllib.request
from pathlib import Path

import psutil

from tests.faults.conftest import LENIENT
from tests.faults.load import Load
from tests.serve import Serve
from tests.waiting import eventually

CALLERS = 4
DRAIN = 3.0


def wait_for(serve: Serve, state: str) -> None:
    assert eventually(lambda: serve.health()[1]["state"] == state, 30 * LENIENT), f"not {state}"


def test_no_accepted_request_is_lost(tmp_path: Path) -> None:
    """Requests that are refused at the end get an error that lets the client ask another server."""
    with Serve(tmp_path, ["--drain", str(DRAIN), "--grpc-max-connection-age", "1"]) as serve:
        assert "--grpc-max-connection-age=1000" in serve.server().cmdline()
        wait_for(serve, "serving")
        with Load(serve.http_url, CALLERS) as http, Load(serve.addresses["grpc"], CALLERS) as grpc:
            for load in (http, grpc):
                load.wait_for_success(0.0, CALLERS, 30 * LENIENT)
            told = time.monotonic()
            serve.process.send_signal(signal.SIGTERM)
            wait_for(serve, "draining")
            assert serve.health()[0] == 503
            with urllib.request.urlopen(serve.addresses["health"].replace("/health", "/live"), timeout=10) as live:
                assert live.status == 200
            assert serve.process.wait(30 * LENIENT) == 0
        for load in (http, grpc):
            assert not load.wrong
            assert [each for each in load.since(told) if not each.fault], "it goes on serving"
            refused = [each for each in load.failed() if each.fault.startswith("ServerUnavailable")]
            # After the first refusal nothing is accepted, so connections may break under later requests
            taking_ended = min(each.ended for each in refused)
            assert taking_ended >= told + DRAIN
            lost = [each for each in load.failed() if each not in refused and each.began < taking_ended]
            assert not lost, lost[:3]
        assert [each["event"] for each in serve.events()] == ["started", "serving", "draining", "drained"]
        assert serve.events("drained")[0]["unfinished"] == []
        assert serve.left() == []
        assert serve.errors() == ""


def test_requests_over_the_time_are_cut_off_and_the_exit_code_says_so(tmp_path: Path) -> None:
    with Serve(tmp_path, ["--exit-timeout", "1"]) as serve:
        wait_for(serve, "serving")
        with Load(serve.http_url, CALLERS) as load:
            load.wait_for_success(0.0, CALLERS, 30 * LENIENT)
            for stub in serve.stubs("yolo"):
                stub.suspend()
            assert serve.finish(signal.SIGTERM) == 1
        assert serve.events("drained")[0]["unfinished"][0] == "plate_recognition"
        assert "requests in flight took over 1 s and were cut off" in serve.errors()
        assert serve.left() == []


def test_a_second_signal_ends_it_at_once_even_if_its_guard_is_stopped(tmp_path: Path) -> None:
    with Serve(tmp_path, ["--drain", "600"]) as serve:
        (guard,) = psutil.Process(serve.process.pid).children()
        guard.suspend()
        serve.process.send_signal(signal.SIGTERM)
        wait_for(serve, "draining")
        assert serve.finish(signal.SIGTERM) == 143
        assert serve.left() == []
