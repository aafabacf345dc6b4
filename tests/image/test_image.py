"""The image, deployed correctly and wrongly: its content, start, healing and stop.

`make test-image` builds the image that PLATES_IMAGE names and runs this. It also runs the served and fault tests
against a container; this file has what only a container can meet.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from plate_nets.client import PlateClient, WireProtocol
from plate_nets.common.errors import SharedMemoryFull
from plate_nets.recognition.health import known_picture
from tests.container import ENOUGH_MEMORY, GRACE, HARDENED, IMAGE, Container, engine
from tests.faults.conftest import LENIENT
from tests.faults.load import Load
from tests.waiting import eventually

CALLERS = 4
MEGABYTES = 900
"""How much the image may add to its base."""
LARGE = np.zeros((2500, 4000, 3), np.uint8)
"""A raw frame of 30 MB."""
LARGER = np.zeros((5000, 8000, 3), np.uint8)
"""A raw frame of 120 MB, which does not fit into a model's own memory."""


@pytest.fixture(scope="module")
def image() -> str:
    assert IMAGE in os.environ, "`make test-image` builds the image and names it"
    return os.environ[IMAGE]


@pytest.fixture(scope="module")
def container(image: str) -> Iterator[Container]:
    """Started as the README says."""
    with Container(image) as container:
        yield container


def warnings(container: Container) -> list[str]:
    return [event["fault"] for event in container.events("warning")]


def reads(container: Container, protocol: WireProtocol = "http") -> bool:
    """Whether it reads the known picture over that protocol."""
    with PlateClient(container.served().url(protocol), protocol, timeout=30 * LENIENT) as client:
        return [plate.reading.text for plate in client.read(known_picture().image)] == list(known_picture().texts)


def test_the_image_contains_only_what_it_serves(image: str) -> None:
    inside = ("run", "--rm", "--network", "none", image)
    added = int(engine(*inside, "du", "--summarize", "--bytes", "/opt/plates").stdout.split()[0])
    assert added <= MEGABYTES * 1_000_000
    listing = engine(*inside, "find", "/opt/plates", "/tmp", "-xdev").stdout
    files = listing.split()
    names = {part for file in files for part in file.split("/")}
    assert "contract.py" in names
    assert not names & {"training", "yolov5", "pytest", "tests", ".cache", "converters", "model.pt"}
    packages = {file.rpartition("/site-packages/")[2] for file in files}
    assert "openvino" in packages and not packages & {"torch", "pytriton"}
    assert not [file for file in files if file.startswith("/tmp/")]


def test_the_container_has_only_the_privileges_that_it_needs(container: Container) -> None:
    for member in [container.root, *(each.pid for each in container.members())]:
        with open(f"/proc/{member}/status", encoding="ascii") as file:  # noqa: PTH123
            status = dict(line.rstrip().split(":\t", 1) for line in file if ":\t" in line)
        assert set(status["Uid"].split()) == {"1000"}
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
        assert status["NoNewPrivs"] == "1"
    assert container.run("touch", "/opt/plates/file").returncode != 0
    assert warnings(container) == []


def test_its_own_health_check_passes(image: str, container: Container) -> None:
    check = json.loads(engine("image", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", image).stdout)
    assert check[0] == "CMD"
    found = container.run(*check[1:])
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("healthy: ")


def test_the_container_can_be_restarted(container: Container) -> None:
    engine("restart", "--time", str(GRACE), container.name)
    container.look()
    container.wait_until_healthy()
    assert reads(container, "http") and reads(container, "grpc")


@pytest.mark.alone
def test_no_accepted_request_is_lost_by_a_stop(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Meanwhile the engine's proxy may accept connections and close them, because nothing listens behind it."""
    with Container(image) as container:
        with Load(container.http_url, CALLERS) as load:
            load.wait_for_success(0.0, 2 * CALLERS, 30 * LENIENT)
            told = time.monotonic()
            engine("stop", "--time", str(GRACE), container.name)
            took = time.monotonic() - told
        assert container.inspect("{{.State.ExitCode}}") == "0"
        assert not load.wrong
        (drained,) = container.events("drained")
        assert drained["unfinished"] == []
        ended = datetime.fromisoformat(drained["time"]).timestamp() - time.time() + time.monotonic()
        failed = [each for each in load.failed() if each.began < ended]
        assert not [each for each in failed if each.began < told or "Unavailable" not in each.fault]
        with capsys.disabled():
            sys.stdout.write(f"\nstopped under load of {CALLERS} within {took:.1f} s, 0 requests lost\n")


def test_too_little_shared_memory_is_named_at_the_start_and_by_its_own_code(image: str) -> None:
    with Container(image, options=("--shm-size", "64m")) as container:
        (warning,) = warnings(container)
        assert "/dev/shm has 64 MB, expected 1024 or more" in warning
        assert "PLATES_SHARED_MEMORY" in warning
        assert "--shm-size 1g" in warning
        assert reads(container)
        for protocol in ("http", "grpc"):
            with PlateClient(container.served().url(protocol), protocol, timeout=60, retries=0) as client:
                with pytest.raises(SharedMemoryFull, match="shared memory"):
                    client.read(LARGE)
                assert [each.reading.text for each in client.read(known_picture().image)] == list(known_picture().texts)
        assert container.events("restart") == []


def test_frames_are_refused_while_others_fill_the_shared_memory(image: str) -> None:
    """Frames for which the models have too little shared memory are refused until there is room again."""
    with Container(image) as container:
        filled = container.run("sh", "-c", "cat /dev/zero > /dev/shm/filled; df /dev/shm")
        assert "100%" in filled.stdout
        assert eventually(lambda: warnings(container), 30 * LENIENT)
        assert warnings(container)[0].startswith("/dev/shm has 0 MB free, expected 16 or more")
        assert reads(container)
        with PlateClient(container.http_url, timeout=60, retries=0) as client, pytest.raises(SharedMemoryFull):
            client.read(LARGER)
        container.run("rm", "/dev/shm/filled")
        container.wait_until_healthy()
        assert reads(container)
        assert len(warnings(container)) == 1


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--shm-size", "8m"), "8.0 MB free, expected 16.0 or more for"),
        (("--tmpfs", "/dev/shm:mode=0755,size=1g"), "user 1000 may not write there, which is needed for"),
    ],
    ids=["too little for a model", "not writable"],
)
def test_shared_memory_that_cannot_be_used_ends_the_start(image: str, options: tuple[str, ...], fault: str) -> None:
    failed = engine("run", "--rm", *HARDENED, *options, image, check=False)
    assert failed.returncode == 2
    assert f"plates: /dev/shm: {fault} shared memory of the models" in failed.stderr


def test_the_container_needs_no_network(image: str) -> None:
    name = f"plate-nets-test-{os.getpid()}-alone"
    engine("run", "--detach", "--name", name, "--network", "none", *HARDENED, *ENOUGH_MEMORY, image)
    try:
        well = eventually(lambda: not engine("exec", name, "plates", "health", check=False).returncode, 60 * LENIENT)
        assert well, engine("logs", name).stderr[-5000:]
        root = engine("inspect", "--format", "{{.State.Pid}}", name).stdout.strip()
        assert unreachable(root) == 0, "somebody was to be reached, or a name looked up"
    finally:
        engine("rm", "--force", name)


def unreachable(process: str) -> int:
    """How often the kernel refused to send because the process's network namespace has no way out."""
    protocols = [line.split() for line in Path(f"/proc/{process}/net/snmp").read_text(encoding="ascii").splitlines()]
    names, values = (line for line in protocols if line[0] == "Ip:")
    over_6 = dict(line.split() for line in Path(f"/proc/{process}/net/snmp6").read_text(encoding="ascii").splitlines())
    return int(values[names.index("OutNoRoutes")]) + int(over_6["Ip6OutNoRoutes"])


def test_root_and_writable_models_are_reported_at_the_start(image: str) -> None:
    """It runs without a read-only root file system."""
    name = f"plate-nets-test-{os.getpid()}-root"
    engine("run", "--detach", "--name", name, "--user", "0", *ENOUGH_MEMORY, image)
    try:
        assert eventually(lambda: '"started"' in engine("logs", name).stderr, 60 * LENIENT), engine("logs", name)
        said = engine("logs", name).stderr.splitlines()
        root, writable = (json.loads(line)["fault"] for line in said if '"event": "warning"' in line)
        assert root.startswith("the server runs as root")
        assert writable.startswith("/opt/plates/model_repository is writable")
    finally:
        engine("rm", "--force", name)


def test_models_from_a_volume_that_is_read_only(image: str) -> None:
    volume = f"plate-nets-test-{os.getpid()}"
    models = "/opt/plates/model_repository"
    engine("run", "--rm", "--user", "0", "--volume", f"{volume}:{models}", image, "true")  # this fills it
    container = Container(image, options=(*ENOUGH_MEMORY, "--volume", f"{volume}:{models}:ro"))
    try:
        assert warnings(container) == []
        assert reads(container)
        swapped = container.run("plates", "swap", "--list", "lprnet", "--url", "127.0.0.1:8000")
        assert swapped.returncode == 0, swapped.stderr
    finally:
        container.close()
        engine("volume", "rm", volume)
