"""`python -m benchmarks` on real servers: what it writes, and what it keeps if a server lacks a model or goes away."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import bench as main
from benchmarks.http_leak import main as http_leak
from benchmarks.variants.contract import MODEL_REPOSITORY, PACKAGE
from plate_nets.cli import guarded
from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import load
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.contract import MODELS
from plate_nets.triton.server import EmbeddedTriton
from tests.commands import Result, invoke


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedTriton]:
    """A server without `plate_recognition`. Tests load that, and the last one ends the server."""
    others = [name for name in MODELS if name != "plate_recognition"]
    with EmbeddedTriton(
        model_repositories=[MODEL_REPOSITORY], packages=[PACKAGE], model_control="explicit", load=others, exit_timeout=0
    ) as server:
        yield server


def bench(*arguments: object, key: str = "") -> Result:
    """Run `python -m benchmarks` in this process, with the server's control key."""
    return invoke(guarded(main), *arguments, **{KEY_VARIABLE: key})


@pytest.fixture
def with_recognition(server: EmbeddedTriton) -> EmbeddedTriton:
    """The same, with `plate_recognition`."""
    with open_transport(ServerAccess(parse_url(server.http_url), control_key=server.control_key)) as transport:
        transport.send(load("plate_recognition"), 120)
    return server


def read(report: Path) -> Any:
    return json.loads(report.read_text(encoding="utf-8"))


def test_a_server_that_lacks_a_model(server: EmbeddedTriton, tmp_path: Path) -> None:
    done = bench("--url", server.http_url, "--json", tmp_path / "report.json", key=server.control_key)
    says = f"plates: http://{server.http_url}: the model plate_recognition is missing or not ready\n"
    assert (done.exit_code, done.stderr) == (2, says)
    assert read(tmp_path / "report.json")["loads"] == []


def test_the_growth_per_picture_is_printed(with_recognition: EmbeddedTriton) -> None:
    said = invoke(http_leak, with_recognition.http_url, "--pictures", 20)
    assert said.exit_code == 0 and re.fullmatch(r"-?\d+ bytes a picture\n", said.stdout), said.output
    other = invoke(http_leak, "127.0.0.1:9")
    assert other.exit_code == 2 and "no tritonserver of this machine listens on port 9" in other.stderr


def test_a_report_contains_the_work_of_the_server(with_recognition: EmbeddedTriton, tmp_path: Path) -> None:
    url, key, report = with_recognition.http_url, with_recognition.control_key, tmp_path / "report.json"
    options = ("--plates=0,4", "--concurrency=1,4", "--input=encoded", "--input=shm", "--seconds=0.5")
    done = bench("--url", url, "--json", report, *options, key=key)
    assert done.exit_code == 0, done.stderr
    found = read(report)
    assert found["error"] is None
    assert found["server"]["version"]
    assert key not in report.read_text(encoding="utf-8")
    assert len(found["loads"]) == 8
    for run in found["loads"]:
        assert run["frames"] > 0
        assert run["errors"] == {}
        assert run["plates_per_s"] == pytest.approx(run["plates"] * run["frames_per_s"])
        assert run["p50_ms"] <= run["p90_ms"] <= run["p99_ms"] <= run["max_ms"]
        assert run["server"]["pss_bytes"] > 100e6
        assert run["server"]["cpu_seconds"] > 0
        models = run["models"]
        behind = {"stn", "lprnet", "country"} if run["plates"] else set()
        assert set(models) == {"plate_recognition", "yolo"} | behind
        for model in models.values():
            assert sum(model["batches"].values()) == model["executions"]
            assert sum(int(size) * count for size, count in model["batches"].items()) == model["rows"]
        assert models["plate_recognition"]["requests"] >= run["frames"]
        if run["plates"]:
            assert models["lprnet"]["rows"] == run["plates"] * models["plate_recognition"]["requests"]
    assert "Triton's own times" in done.stdout


def test_the_variants_can_be_loaded_and_called(with_recognition: EmbeddedTriton, tmp_path: Path) -> None:
    options = ("--variants", "--plates=1", "--concurrency=2", "--seconds=0.5", "--json", tmp_path / "report.json")
    done = bench("--url", with_recognition.http_url, *options, key=with_recognition.control_key)
    assert done.exit_code == 0, done.stderr
    runs = {run["variant"]: run for run in read(tmp_path / "report.json")["loads"]}
    steps = {"yolo", "stn", "lprnet"}
    assert {name: set(run["models"]) & steps for name, run in runs.items()} == {
        "plate_recognition": steps,
        "plate_recognition_ensemble": steps,
        "plate_recognition_python": set(),
        "client_chain": steps,
    }
    assert all(run["frames"] > 0 and run["plates_per_s"] == run["frames_per_s"] for run in runs.values())


def test_an_open_load_over_grpc_without_the_key(with_recognition: EmbeddedTriton, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    url = f"grpc://{with_recognition.grpc_url}"
    assert bench("--url", url, "--json", report, "--plates=1", "--rate=3", "--seconds=1").exit_code == 0
    (run,) = read(report)["loads"]
    assert (run["rate"], run["concurrency"], run["models"]) == (3, None, None)
    assert run["frames"] == 3


def test_measurements_are_kept_if_the_server_is_lost(with_recognition: EmbeddedTriton, tmp_path: Path) -> None:
    server, report = with_recognition, tmp_path / "report.json"
    options = ("--url", server.http_url, "--json", str(report), "--plates=1", "--concurrency=1,2", "--seconds=3")
    environment = os.environ | {KEY_VARIABLE: server.control_key}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", *options], env=environment, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 100
    while not (report.is_file() and read_or_none(report)):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.2)
    time.sleep(0.5)
    server.stop()
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 1
    (line,) = errors.splitlines()
    assert line.startswith("plates: stopped after 2 of 2 loads: ")
    found = read(report)
    assert found["loads"][0]["frames"] > 0
    assert found["loads"][1]["stopped"]
    assert found["error"] in line


def read_or_none(report: Path) -> Any:
    """The runs so far; None while the file is being written."""
    try:
        return read(report)["loads"]
    except json.JSONDecodeError:
        return None
