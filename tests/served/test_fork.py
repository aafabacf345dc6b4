"""A client that was used before a fork: parent and children use it at once, each over its own connections."""

import os
import subprocess
import sys
import textwrap

import pytest

from plate_nets.common.control_key import KEY_VARIABLE
from tests.serve import Served

PROGRAM = textwrap.dedent("""
    import os
    import sys
    from pathlib import Path

    import numpy as np

    from plate_nets.client import PlateClient
    from plate_nets.recognition.health import known_picture

    known = known_picture()
    urls, shared_memory = sys.argv[2:], sys.argv[1] == "shared"
    client = PlateClient(urls if urls[1:] else urls[0], timeout=60, shared_memory=shared_memory)
    client.health()


    def ask() -> None:
        for _ in range(2):
            assert [plate.reading.text for plate in client.read(known.image)] == list(known.texts)
            assert client.read(np.zeros((240, 320, 3), np.uint8)) == []


    children = []
    for _ in range(2):
        children.append(os.fork())
        if not children[-1]:
            ask()
            sys.exit()
    ask()
    assert [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in children] == [0, 0]
    ask()
    if shared_memory:
        assert list(Path("/dev/shm").glob(f"plates-{os.getpid()}-*")), "a child removed its parent's regions"
    client.close()
    print("read")
""")


@pytest.mark.parametrize(
    ("memory", "protocols"),
    [("own", ("http", "grpc")), ("shared", ("http",)), ("shared", ("grpc",))],
    ids=["several servers", "shared memory, HTTP", "shared memory, gRPC"],
)
def test_parent_and_children_read(neighbour: Served, memory: str, protocols: tuple[str, ...]) -> None:
    urls = [f"{each}://{neighbour.http if each == 'http' else neighbour.grpc}" for each in protocols]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, memory, *urls],
        env=os.environ | {KEY_VARIABLE: neighbour.control_key},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
