"""Starts that cannot succeed: one clear line, an exit code other than 0, and nothing half started."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

import plate_nets
from tests.faults.conftest import LENIENT
from tests.serve import ANY_PORTS, NAMESPACE, SHARED_MEMORY, Serve, system_server, without_waiting
from tests.waiting import eventually

FAILED = 2
ENDS_SECONDS = 10.0
"""Promised maximum from the death of a model's process to the end of a start."""
WITHOUT_CAPABILITIES = ("setpriv", "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()
"""A prefix for commands of root, who could otherwise read and write anything."""


@dataclass(frozen=True)
class Failure:
    """The output of a failed start, and what it left."""

    code: int
    said: str
    left: list[object]


def fail_to_serve(
    tmp_path: Path, arguments: Sequence[str] = (), prefix: Sequence[str] = (), ports: Sequence[str] = ANY_PORTS
) -> Failure:
    """Run `plates serve` -> how it failed; ``prefix`` comes before the command."""
    folder = tmp_path / "tmp"
    folder.mkdir(exist_ok=True)
    regions = set(SHARED_MEMORY.iterdir())
    before = set(psutil.Process().children(recursive=True))
    command = [*prefix, sys.executable, "-m", "plate_nets", "serve", "--scheme", "russia", *ports, *arguments]
    result = subprocess.run(
        command, env=os.environ | {"TMPDIR": str(folder)}, capture_output=True, text=True, timeout=200, check=False
    )
    assert result.stdout == ""
    mine = [each for each in set(SHARED_MEMORY.iterdir()) - regions if str(os.getpid()) in each.name]
    processes = [each for each in set(psutil.Process().children(recursive=True)) - before if each.is_running()]
    return Failure(result.returncode, without_waiting(result.stderr), [*processes, *mine, *folder.iterdir()])


def check(failure: Failure, *words: str) -> None:
    """Check for one line with these words, exit code 2, and nothing left."""
    assert failure.code == FAILED, failure.said
    assert failure.said.startswith("plates: ")
    assert failure.said.count("\n") == 1, failure.said
    for word in words:
        assert word in failure.said
    assert "Traceback" not in failure.said
    assert failure.left == []


def full(folder: Path) -> list[str]:
    """A prefix for a command: its own mount namespace, in which a folder is a file system of one megabyte."""
    return [*NAMESPACE, "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"', str(folder)]


@pytest.fixture
def repository(repository: Path) -> Path:
    """The same with one process for each model."""
    for config in repository.glob("*/config.pbtxt"):
        text = config.read_text(encoding="utf-8")
        config.write_text(re.sub(r"(instance_group \[\s*\{\s*count:) \d+", r"\1 1", text), encoding="utf-8")
    return repository


def test_shared_memory_is_full(tmp_path: Path) -> None:
    failure = fail_to_serve(tmp_path, prefix=full(SHARED_MEMORY))
    warning, _, said = failure.said.partition("\n")
    assert json.loads(warning)["event"] == "warning"
    check(replace(failure, said=said), "/dev/shm: 1.0 MB free, expected 16.0 or more")


def test_the_disk_is_full(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    failure = fail_to_serve(tmp_path, prefix=full(tmp_path / "tmp"))
    check(failure, f"{tmp_path}/tmp: 1.0 MB free, expected", "for the server's files")


@pytest.mark.parametrize("name", ["http", "health"])  # one that Triton opens, one that the supervisor does
def test_a_port_is_taken(tmp_path: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        failure = fail_to_serve(tmp_path, ["--" + name + "-port", str(port)])
    check(failure, f"{name} port {port} on 127.0.0.1", "in use", "choose another")


@pytest.mark.parametrize("path", ["stn/1/model.xml", "."])
def test_what_cannot_be_read_is_reported(tmp_path: Path, repository: Path, path: str) -> None:
    unreadable = repository / path
    unreadable.chmod(0)
    failure = fail_to_serve(tmp_path, ["--model-repository", str(repository)], WITHOUT_CAPABILITIES)
    unreadable.chmod(0o755)
    check(failure, str(unreadable), "Permission denied")


@pytest.mark.parametrize("option", ["--log", "--events", "--control-key-file"])
def test_a_file_cannot_be_written(tmp_path: Path, option: str) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    failure = fail_to_serve(tmp_path, [option, str(folder / "file")], WITHOUT_CAPABILITIES)
    check(failure, f"{folder}/file", "Permission denied")


def test_a_model_that_dies_at_the_start_ends_it(tmp_path: Path, repository: Path) -> None:
    """Triton would wait for it, and be started again, for minutes. A model may have a stub of its own."""
    stub, died = repository / "yolo" / "triton_python_backend_stub", tmp_path / "died"
    line = "echo libodd.so: cannot open >&2; exit 127"
    stub.write_text(f"#!/bin/sh\n[ -e '{died}' ] || : >'{died}'\n{line}\n", encoding="utf-8")
    stub.chmod(0o755)
    failure = fail_to_serve(tmp_path, ["--model-repository", str(repository)])
    assert time.time() - died.stat().st_mtime < ENDS_SECONDS * LENIENT, "of the first death"
    check(failure, "a process of ", "before the server was ready: ", "ended with code 127", "open; install the")


@pytest.mark.parametrize("name", [f"Ü документы it's $HOME; & x/{'long' * 50} ", "newline\n"])
def test_a_server_starts_in_every_folder(tmp_path: Path, model_repository: Path, name: str) -> None:
    """The environment, the package, the models and the temporary folder are in it. One model of each backend loads."""
    folder = tmp_path / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    paths = (sysconfig.get_path("purelib"), folder / "checkout")  # as those of editable installations
    (packages / "own.pth").write_text("".join(f"{each}\n" for each in paths if "\n" not in str(each)), "utf-8")
    ignored = shutil.ignore_patterns("__pycache__", "model.pt")
    for each in (Path(plate_nets.__file__).parent, model_repository):
        shutil.copytree(each, folder / "checkout" / each.name, ignore=ignored)
    code = (
        "import sys; from plate_nets.triton.server import EmbeddedTriton\n"
        "with EmbeddedTriton(model_control='explicit', load=['yolo', 'stn'], exit_timeout=0): print(sys.prefix)"
    )
    result = subprocess.run(
        [folder / "env" / "bin" / "python", "-c", code],
        cwd=folder / "checkout",
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert result.stdout == f"{folder / 'env'}\n"


def test_the_reason_is_reported_even_if_the_log_is_standard_error(tmp_path: Path, repository: Path) -> None:
    (repository / "yolo" / "1" / "model.bin").write_bytes(b"")
    failure = fail_to_serve(tmp_path, ["--model-repository", str(repository), "--log", "-"])
    assert failure.code == FAILED
    *log, last = failure.said.splitlines()
    assert any("loading: yolo:1" in line for line in log), "its log goes there"
    assert last.startswith("plates: the server ") and "ready: failed to load 'yolo'" in last
    assert "model.xml: cannot be loaded" in last
    assert failure.left == []


def test_a_server_is_started_again_until_that_cannot_help(tmp_path: Path, repository: Path) -> None:
    """It aborts as it starts, so it is started again. A model file is damaged while it runs, then gone. Neither healing
    nor a restart helps, and the command says so. Without the file, Triton is not even started."""
    environment = system_server(tmp_path)
    program, once = tmp_path / "system" / "bin" / "tritonserver", tmp_path / "once"
    shell, rest = program.read_text(encoding="utf-8").split("\n", 1)
    abort = f'[ -e "{once}" ] || {{ touch "{once}"; kill -ABRT $$; }}'
    program.write_text(f"{shell}\n{abort}\n{rest}", encoding="utf-8")
    options = ["--model-repository", str(repository), "--restart-pause", "0.1"]
    with Serve(tmp_path, options, environment) as serve:
        assert once.exists()
        assert eventually(serve.is_healthy, 30 * LENIENT)
        file = repository / "yolo" / "1" / "model.xml"
        file.write_text("<net>", encoding="utf-8")
        serve.stubs("yolo")[0].kill()
        assert eventually(lambda: serve.events("restart"), 60 * LENIENT)
        file.unlink()
        assert serve.process.wait(120 * LENIENT) == 2
        restarts = serve.events("restart")
        assert [event["pause"] for event in restarts] == [0, 0.1, 0.2, 0.4, 0.8]
        assert "yolo: a process of it died; reloading it" in restarts[0]["cause"]
        assert "yolo/1/model.xml: cannot be loaded" in restarts[0]["fault"]
        assert "yolo/1/model.xml: not converted yet" in restarts[-1]["fault"]
        (gave_up,) = serve.events("gave up")
        assert gave_up["restarts"] == 5
        assert "plates: gave up after 5 restarts in a row: " in serve.errors()
        assert "Traceback" not in serve.errors()
        assert serve.left() == []
