"""Pictures in shared memory get the same answers, and nothing is left in /dev/shm."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.client import PlateClient, WireProtocol
from plate_nets.common.control_key import KEY_VARIABLE, new_key
from plate_nets.common.errors import DeadlineExceeded, InputError, ServerError, ServerOverloaded, ServerUnavailable
from plate_nets.triton.server import EmbeddedTriton, choose_ports
from plate_nets.types import Plate
from tests.frames import Placed, compose, encode
from tests.served.conftest import Served

PROTOCOLS: tuple[WireProtocol, ...] = ("http", "grpc")
SMALL = compose(480, 640, [Placed("A123BC77", 100, 300), Placed("M456OP199", 380, 120)])
LARGE = compose(1080, 1920, [Placed("K777AA97", 200, 500, 240)])


def regions(process: int) -> list[Path]:
    """The regions of a process's clients."""
    return list(Path("/dev/shm").glob(f"plates-{process}-*"))


def sharing_client(neighbour: Served, protocol: WireProtocol) -> PlateClient:
    url = neighbour.url(protocol)
    return PlateClient(url, protocol, timeout=120, shared_memory=True, control_key=neighbour.control_key)


@pytest.fixture(params=PROTOCOLS)
def sharing(neighbour: Served, request: pytest.FixtureRequest) -> Iterator[PlateClient]:
    before = regions(os.getpid())
    with sharing_client(neighbour, request.param) as client:
        yield client
    assert regions(os.getpid()) == before


def test_shared_memory_gives_the_same_answers_as_the_socket(sharing: PlateClient, neighbour: Served) -> None:
    with PlateClient(neighbour.http, timeout=120) as client:
        for image in (SMALL, LARGE, encode(SMALL, ".jpg"), SMALL[:, ::2]):
            assert sharing.read(image) == client.read(image)
    sharing.health()


def test_a_region_is_used_again_and_replaced_by_a_larger_one(sharing: PlateClient) -> None:
    found = []
    for image in (SMALL, SMALL, LARGE, SMALL):
        sharing.read(image)
        found.append(regions(os.getpid()))
    assert [len(each) for each in found] == [1, 1, 1, 1]
    assert found[0] == found[1] != found[2] == found[3]


def test_threads_do_not_share_a_region(sharing: PlateClient) -> None:
    alone = [sharing.read(SMALL), sharing.read(LARGE)]
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda number: sharing.read((SMALL, LARGE)[number % 2]), range(8)))
    assert answers == alone * 4
    assert len(regions(os.getpid())) <= 2


def test_a_bad_picture_is_reported_and_its_region_kept(sharing: PlateClient) -> None:
    sharing.read(SMALL)
    before = regions(os.getpid())
    with pytest.raises(InputError, match="something else"):
        sharing.read(b"no picture")
    with pytest.raises(InputError, match="pixels a side"):
        sharing.read(np.zeros((2, 2, 3), np.uint8))
    assert len(sharing.read(SMALL)) == 2
    assert regions(os.getpid()) == before


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_late_answer_leaves_nothing_behind(neighbour: Served, protocol: WireProtocol) -> None:
    """The server may still read the region when its client gives up and closes."""
    late = PlateClient(
        neighbour.url(protocol), protocol, timeout=0.02, shared_memory=True, control_key=neighbour.control_key
    )
    with late, pytest.raises((DeadlineExceeded, ServerOverloaded)):  # on a busy machine it ended before it began
        late.read(LARGE)
    assert regions(os.getpid()) == []
    with PlateClient(neighbour.http, timeout=120) as client:
        client.health()


def test_nothing_is_left_when_the_interpreter_ends(neighbour: Served) -> None:
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from plate_nets.client import PlateClient
        client = PlateClient(sys.argv[1], shared_memory=True)
        client.health()
        import os
        print(os.getpid(), len(list(Path("/dev/shm").glob(f"plates-{os.getpid()}-*"))), flush=True)
        sys.exit("an error nobody expected")
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, neighbour.http],
        env=os.environ | {KEY_VARIABLE: neighbour.control_key},
        capture_output=True,
        text=True,
        check=False,
    )
    process, count = map(int, done.stdout.split())
    assert count == 1
    assert done.stderr.strip() == "an error nobody expected"
    assert regions(process) == []


def when_back(client: PlateClient) -> list[Plate]:
    """A gRPC channel that lost its server waits a second or more before it tries again."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return client.read(SMALL)
        except ServerUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("key", "got"), [("", "none"), ("0" * 43, "a wrong one")], ids=["no key", "another key"])
def test_without_the_control_key_the_error_names_it(
    neighbour: Served, protocol: WireProtocol, key: str, got: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with (
        PlateClient(neighbour.url(protocol), protocol, shared_memory=True, control_key=key) as client,
        pytest.raises(ServerError, match=f"control key, got {got}.*; shared memory needs .* its control key") as caught,
    ):
        client.read(SMALL)
    assert neighbour.control_key not in str(caught.value)
    assert regions(os.getpid()) == []


def test_a_server_that_was_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SCHEME_VARIABLE, "russia")  # fewer models to load, twice
    ports = choose_ports({"http": 0, "grpc": 0})
    key = new_key()
    options: dict[str, Any] = {f"{name}_port": port for name, port in ports.items()}
    options |= {"exit_timeout": 0, "control_key": key}
    sharing: dict[str, Any] = {"shared_memory": True, "control_key": key, "timeout": 60}
    with (
        PlateClient(f"127.0.0.1:{ports['http']}", **sharing) as http,
        PlateClient(f"grpc://127.0.0.1:{ports['grpc']}", **sharing) as grpc,
    ):
        with EmbeddedTriton(**options):
            answers = [http.read(SMALL), grpc.read(SMALL)]
            before = regions(os.getpid())
        for client in (http, grpc):
            with pytest.raises(ServerUnavailable):
                client.read(SMALL)
        with EmbeddedTriton(**options):
            assert [when_back(http), when_back(grpc)] == answers
            assert regions(os.getpid()) == before
    assert regions(os.getpid()) == []
