"""What surrounds the embedded server, without starting it: ports, messages, environment."""

import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plate_nets.common.errors import InputError, MissingExtra, ServerStartError
from plate_nets.contract import MODELS
from plate_nets.triton.server import EmbeddedTriton, installation, leftovers, plan, start_watch
from plate_nets.triton.server import embedded as server_module
from plate_nets.triton.server.faults import reason, refused
from plate_nets.triton.server.installation import PROGRAM, find_installation, wheel
from plate_nets.triton.server.log import STANDARD_ERROR
from plate_nets.triton.server.plain_folder import python_environment, python_links, python_texts
from plate_nets.triton.server.ports import choose_ports, is_free
from plate_nets.triton.server.repository import check_converted
from tests.waiting import eventually

BUILT = (
    "stn/1/model.xml",
    "lprnet/1/model.xml",
    "lprnet_latin/1/model.xml",
    "lprnet_scripts/1/model.xml",
    "country/1/model.xml",
    "yolo/1/model.xml",
    "yolo/1/yolo_fast/model.xml",
    "yolo/1/corners/model.xml",
)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def converted(tmp_path: Path, model_repository: Path) -> Path:
    """A copy of the repository, with empty files instead of converted ones."""
    ignored = shutil.ignore_patterns("*.pt", "*.xml", "*.bin", "__pycache__")
    repository = Path(shutil.copytree(model_repository, tmp_path / "models", ignore=ignored))
    for file in BUILT:
        (repository / file).touch()
    return repository


def test_ports_are_free_and_distinct(taken_port: int) -> None:
    chosen = choose_ports({"http": 0, "grpc": 4242, "metrics": 0})
    assert chosen["grpc"] == 4242
    assert len({*chosen.values(), taken_port}) == 4
    assert is_free(chosen["http"])
    assert not is_free(taken_port)


@pytest.mark.parametrize("name", ["http", "grpc", "metrics"])
def test_a_port_in_use_gives_one_clear_line(converted: Path, taken_port: int, name: str) -> None:
    ports: dict[str, Any] = {f"{name}_port": taken_port}
    server = EmbeddedTriton(converted, **ports)
    with pytest.raises(ServerStartError, match=rf"^{name} port {taken_port} on 127.0.0.1 is already in use; choose"):
        server.start()


@pytest.mark.parametrize("file", BUILT)
def test_a_model_that_was_not_converted_names_the_command(converted: Path, file: str) -> None:
    (converted / file).unlink()
    with pytest.raises(ServerStartError, match=rf"{file}: not converted yet; run `python -m converters`"):
        EmbeddedTriton(converted).start()


def test_a_missing_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match=r"nowhere: no such model repository; name one with --model-repo"):
        check_converted(tmp_path / "nowhere", MODELS)
    with pytest.raises(ServerStartError, match=r"yolo: no config.pbtxt; expected the models yolo, stn"):
        check_converted(tmp_path, MODELS)


def test_the_repository_may_be_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLATES_MODEL_REPOSITORY", str(tmp_path))
    assert EmbeddedTriton().model_repository == tmp_path
    monkeypatch.delenv("PLATES_MODEL_REPOSITORY")
    assert (EmbeddedTriton().model_repository / "yolo" / "config.pbtxt").is_file()


Version = namedtuple("Version", ["major", "minor"])
"""The version of an interpreter, like `sys.version_info`."""


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("platform.system", lambda: "Darwin", r"needs Linux on x86_64, this is Darwin on \w+; use the container"),
        ("platform.machine", lambda: "aarch64", r"needs Linux on x86_64, this is Linux on aarch64; use the container"),
        ("sys.version_info", Version(3, 99), r"needs Python up to 3.12, this is 3.99; use the container$"),
        ("sys.version_info", Version(3, 7), r"no stub for Python 3.7; it has 3.10, 3.11"),
        ("numpy.__version__", "2.4.6", r"needs NumPy below 2, this is 2.4.6: .* pip install"),
        ("importlib.util.find_spec", lambda _: None, r"server needs nvidia-pytriton: pip install \"plate-nets\[embed"),
    ],
)
def test_what_the_embedded_server_lacks_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, fault: str
) -> None:
    monkeypatch.setattr(name, value)
    with pytest.raises((ServerStartError, MissingExtra), match=fault):
        wheel()


def test_a_missing_libpython_is_named(monkeypatch: pytest.MonkeyPatch, converted: Path, tmp_path: Path) -> None:
    stub = tmp_path / "python_backend_stubs" / "{}.{}".format(*sys.version_info) / "triton_python_backend_stub"
    stub.parent.mkdir(parents=True)
    stub.write_text("#!/bin/sh\necho stub: libpython3.so: cannot open >&2; exit 127\n", encoding="utf-8")
    stub.chmod(0o755)
    monkeypatch.setattr(installation, "triton_folder", lambda: tmp_path)
    with pytest.raises(ServerStartError, match=r"libpython3.so: cannot open; on Debian: apt-get install libpython3"):
        wheel()


@pytest.mark.parametrize(
    ("free", "megabytes"), [(0, 1), (64 << 20, 2), (1 << 30, 32), (100 << 30, 32), ((1 << 30) - 1, 31)]
)
def test_regions_leave_room_in_shared_memory(free: int, megabytes: int) -> None:
    assert plan.region_size(free) == megabytes << 20


def test_servers_listen_on_loopback_only_and_share_no_name(converted: Path) -> None:
    ports = {"http": 1, "grpc": 2, "metrics": 3}
    planned, other = (plan.plan_server(wheel(), [converted], ports, 1.0) for _ in range(2))
    assert planned.folder != other.folder
    assert planned.region_prefix != other.region_prefix
    assert [each for each in planned.command if "address" in each] == [
        "--http-address=127.0.0.1",
        "--grpc-address=127.0.0.1",
        "--metrics-address=127.0.0.1",
    ]
    assert {"--http-port=1", "--grpc-port=2", "--metrics-port=3"} < set(planned.command)


def test_the_stub_finds_this_python() -> None:
    environment = python_environment(Path("/own"), {"PATH": "/bin", "PYTHONHOME": "/x", "LANG": "C"})
    assert environment["PATH"] == "/own/python/bin:/bin"
    assert "PYTHONHOME" not in environment
    assert environment["LANG"] == "C"
    assert environment["OMP_WAIT_POLICY"] == "PASSIVE"
    assert environment["MALLOC_TRIM_THRESHOLD_"] == str(64 << 20)
    assert python_links()["python/bin/python3"] == sys.executable
    assert "home = /own/python_base/bin\n" in python_texts(Path("/own"))["python/pyvenv.cfg"]


@pytest.mark.parametrize("name", ["a b", "документы", "it's", "$HOME", "newline\n", "space "])
def test_triton_gets_plain_paths_only(
    converted: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = converted.rename(tmp_path / name)
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    planned = plan.plan_server(wheel(), [odd], {}, 1.0)
    (path,) = [each.partition("=")[2] for each in planned.command if each.startswith("--model-repository=")]
    assert planned.links[str(Path(path).relative_to(planned.folder))] == str(odd)
    assert re.fullmatch(r"[\w./-]+", path, re.ASCII)
    assert planned.without_links(f"{path}/yolo/1/model.xml: damaged") == f"{odd}/yolo/1/model.xml: damaged"
    links = planned.links.items()
    assert planned.environment["LD_LIBRARY_PATH"].startswith(f"{planned.folder}/libraries/0")
    assert ("plate_nets", str(Path(plan.__file__).parents[2])) in links


def test_too_few_file_descriptors_are_named(converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    with pytest.raises(ServerStartError, match=r"may have 64 file descriptors, expected 256 or more; raise"):
        plan.plan_server(wheel(), [converted], {}, 1.0)


LOG = """\
I1121 02:31:50.046108 9861 grpc_server.cc:2558] "Started GRPCInferenceService at 127.0.0.1:43919"
E1121 02:31:50.046200 9861 server.cc:241] "CudaDriverHelper has not been initialized."
W1121 02:31:50.046274 9861 metrics.cc:798] "DCGM unable to start: DCGM initialization error"
E1121 02:31:51.000000 9861 model_lifecycle.cc:642] "failed to load 'stn' version 1: Internal: m.pt: damaged\\n\\nAt:\\n"
E1121 02:31:51.000000 9861 pb_stub.cc:1] "ERROR: Failed to create instance: TritonModelException: model.pt: damaged"
E1121 02:31:51.000001 9861 model_lifecycle.cc:642] "failed to load 'stn' version 1: Internal: m.pt: damaged"
[libprotobuf ERROR /build/src/google/protobuf/text_format.cc:337] Error parsing text-format: 17:3: Expected ",".
error: creating server: Internal - failed to load all models
"""


def test_the_server_s_own_errors_are_found_in_its_log() -> None:
    assert reason(LOG) == (
        "failed to load 'stn' version 1: Internal: m.pt: damaged; Error parsing text-format: 17:3: Expected \",\"."
    )
    assert reason(LOG, 1) == "failed to load 'stn' version 1: Internal: m.pt: damaged"
    assert reason("error: creating server: Internal") == "error: creating server: Internal"
    assert reason("something\nelse") == "something else"
    assert reason("") == "its log is empty"


def test_an_exception_in_a_model_is_not_a_passing_fault() -> None:
    assert refused(LOG)
    assert not refused("E1121 02:31:51.000000 9861 pb_stub.cc:1] Stub process 'yolo' is not healthy.")


def test_stopping_a_server_that_is_not_running_does_nothing() -> None:
    server = EmbeddedTriton()
    server.stop()
    assert server.log_text() == server.region_prefix == ""
    with pytest.raises(ServerStartError, match="is not running"):
        server.wait(0)


def command(monkeypatch: pytest.MonkeyPatch, converted: Path, **arguments: Any) -> list[str]:
    """The command that an EmbeddedTriton with these arguments runs."""
    found: list[str] = []
    monkeypatch.setattr(EmbeddedTriton, "_wait_until_ready", lambda self: found.extend(self._plan.command))
    guard = converted.parent / "guard.py"
    guard.write_text("input()", encoding="utf-8")  # stops after planning
    monkeypatch.setattr(server_module, "_GUARD", guard)
    with EmbeddedTriton(converted, **arguments):
        return found


@pytest.mark.parametrize(
    ("scheme", "models"),
    [
        ("russia", ["yolo", "stn", "lprnet", "country", "plate_recognition"]),
        ("uzbekistan", ["yolo", "stn", "lprnet_latin", "country", "plate_recognition"]),
    ],
)
def test_readers_that_no_scheme_needs_are_not_loaded(
    monkeypatch: pytest.MonkeyPatch, converted: Path, scheme: str, models: list[str]
) -> None:
    monkeypatch.setenv("PLATES_PLATE_RECOGNITION_SCHEME", scheme)
    monkeypatch.setattr(server_module, "check_converted", lambda *_: None)
    words = command(monkeypatch, converted)
    loaded = [word.partition("=")[2] for word in words if word.startswith("--load-model")]
    assert "--model-control-mode=explicit" in words and loaded == models
    monkeypatch.setenv("PLATES_PLATE_RECOGNITION_SCHEME", "brazil, russia,latin,china")
    words = command(monkeypatch, converted)
    assert "--model-control-mode=none" in words and not [word for word in words if "load-model" in word]


def test_an_unknown_scheme_is_named(monkeypatch: pytest.MonkeyPatch, converted: Path) -> None:
    monkeypatch.setenv("PLATES_PLATE_RECOGNITION_SCHEME", "atlantis")
    with pytest.raises(ServerStartError, match=r"expected algeria, .* or a file \*\.toml, got 'atlantis'"):
        EmbeddedTriton(converted).start()


def test_models_are_controlled_and_chosen_on_request(
    monkeypatch: pytest.MonkeyPatch, converted: Path, tmp_path: Path
) -> None:
    words = command(monkeypatch, converted, model_control="explicit")
    assert {"--model-control-mode=explicit", "--load-model=lprnet", "--load-model=stn"} < set(words)
    words = command(
        monkeypatch,
        converted,
        model_control="explicit",
        load=["stn", "other"],
        model_repositories=[tmp_path],
        options=["--exit-on-error=false"],
    )
    assert {"--load-model=stn", "--load-model=other", "--exit-on-error=false"} < set(words)
    paths = [word.rpartition("/")[2] for word in words if word.startswith("--model-repository=")]
    assert paths == ["0", "1"]
    assert "--load-model=lprnet" not in words


def test_each_server_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch, converted: Path) -> None:
    one, other = EmbeddedTriton(converted), EmbeddedTriton(converted)
    assert one.control_key != other.control_key
    words = command(monkeypatch, converted, control_key="0123456789abcdef")
    names = "model-repository,model-config,shared-memory,statistics,trace,logging"
    assert [word for word in words if "restricted" in word] == [
        f"--http-restricted-api={names}:plates-control-key=0123456789abcdef",
        f"--grpc-restricted-protocol={names}:plates-control-key=0123456789abcdef",
    ]


@pytest.mark.parametrize("key", ["short", "0123456789abcdef:", "0123456789abcdef=", "0123456789 abcdef", "ключ" * 10])
def test_a_key_that_triton_could_misread_is_refused(converted: Path, key: str) -> None:
    with pytest.raises(InputError, match="control key: expected 16 characters or more") as caught:
        EmbeddedTriton(converted, control_key=key)
    assert key not in str(caught.value)


def test_a_full_folder_is_named(tmp_path: Path) -> None:
    assert plan.free_space(tmp_path, 0, "nothing") > 0
    with pytest.raises(ServerStartError, match=r" MB free, expected 1000000000000.0 or more for much"):
        plan.free_space(tmp_path, 10**12 << 20, "much")


@pytest.mark.parametrize("expected", [("--http-max-input-size", "--allow-client-shm"), ()])
def test_a_server_gets_the_options_that_it_knows(
    expected: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "\n".join(f"{each} <value>" for each in ("--http-port", *expected))
    program = tmp_path / "tritonserver"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{options}' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert tuple(each.partition("=")[0] for each in find_installation("system").options) == expected


def test_empty_folders_of_ended_servers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running server may have an empty one too: it is younger than its server."""
    old, packed, young = (tmp_path / f"python_env_{name}" for name in ("old", "packed", "young"))
    for folder in (old, packed, young):
        folder.mkdir()
    (packed / "library").touch()
    for folder in (old, packed):
        os.utime(folder, (1, 1))
    monkeypatch.setattr(leftovers, "ENVIRONMENTS", tmp_path)
    program = tmp_path / PROGRAM
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as running:
        os.utime(young, (time.time() + 60, time.time() + 60))
        leftovers.remove_abandoned_environments()
        assert sorted(tmp_path.glob("python_env_*")) == [packed, young]
        running.kill()


@pytest.mark.parametrize(
    ("fault", "starts"),
    [
        ("failed to run warmup sample '1': Stub process 'stn_0_0' is not healthy", 5),
        ("another program has bound the address: already in use", 5),
        ("failed to load 'stn': the weights are damaged", 1),
    ],
)
def test_a_start_with_a_passing_fault_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, converted: Path, fault: str, starts: int
) -> None:
    launched: list[object] = []

    def fail(_: EmbeddedTriton) -> None:
        raise ServerStartError(fault)

    monkeypatch.setattr(server_module, "check_converted", lambda *_: None)
    monkeypatch.setattr(EmbeddedTriton, "_launch", lambda _, installed: launched.append(installed))
    monkeypatch.setattr(EmbeddedTriton, "_wait_until_ready", fail)
    with pytest.raises(ServerStartError, match=fault):
        EmbeddedTriton(converted).start()
    assert len(launched) == starts


GUARD = """\
import pathlib, sys, time
plan = sys.stdin.readline()
starts = pathlib.Path({folder!r})
number = len(list(starts.iterdir()))
(starts / str(number)).touch()
if number == 0:
    print("E1125 05:44:10.1 7 model_lifecycle.cc:642]", {message!r}, flush=True)
sys.stdin.read()
"""


def first_start_prints(message: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a stand-in be started, which prints this at the first start -> a folder with a file for each start."""
    launched, guard = folder / "starts", folder / "guard.py"
    launched.mkdir()
    guard.write_text(GUARD.format(folder=str(launched), message=message), encoding="utf-8")
    monkeypatch.setattr(server_module, "_GUARD", guard)
    monkeypatch.setattr(server_module, "check_converted", lambda *_: None)
    monkeypatch.setattr(server_module, "accepts", lambda *_: True)
    return launched


@pytest.mark.parametrize(
    ("error", "log", "starts"),
    [
        ("failed to load 'lprnet' version 1: Internal: Stub process 'lprnet_0_0' is not healthy.", None, 2),
        ("failed to load 'lprnet' version 1: Internal: the weights are damaged", STANDARD_ERROR, 1),
    ],
)
def test_a_server_that_stays_after_a_model_failed_to_load_is_ended(
    monkeypatch: pytest.MonkeyPatch, converted: Path, tmp_path: Path, error: str, log: Path | None, starts: int
) -> None:
    """On an overloaded machine Triton stays: neither ready nor ended. It is started again if the fault passes."""
    launched = first_start_prints(error, tmp_path, monkeypatch)
    monkeypatch.setattr(start_watch, "ENDS_WITHIN", 0.2)
    monkeypatch.setattr(server_module, "is_ready", lambda _: len(list(launched.iterdir())) == 2)
    server = EmbeddedTriton(converted, start_timeout=60, log=log)
    if starts == 2:
        server.start()
    else:
        with pytest.raises(ServerStartError, match=r"^the server did not become ready: failed to load 'lprnet' vers"):
            server.start()
    server.stop()
    assert len(list(launched.iterdir())) == starts


def test_a_slow_start_tells_once_which_models_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, converted: Path, tmp_path: Path
) -> None:
    first_start_prints("successfully loaded 'stn'", tmp_path, monkeypatch)
    server = EmbeddedTriton(converted)
    answers = iter((False, False, False, True))

    def is_ready(_: str) -> bool:
        assert eventually(lambda: "loaded" in server.log_text(), 60)
        return next(answers)

    monkeypatch.setattr(server_module, "_PATIENCE", 0.0)
    monkeypatch.setattr(server_module, "is_ready", is_ready)
    awaited: list[str] = []
    server.start(awaited.append)
    server.stop()
    assert awaited == [", ".join(each for each in server.models if each != "stn")]
