"""Messages about faults reveal nothing: no name of shared memory, no path, no key, no traceback."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc
from tritonclient.utils import InferenceServerException

from plate_nets.client import PlateClient, parse_url
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import PlateError, SharedMemoryFull
from plate_nets.contract import PLATE_RECOGNITION
from plate_nets.recognition.health import known_picture
from plate_nets.types import Frame
from tests.bombs import BOMBS
from tests.faults.conftest import IMPATIENT, LENIENT
from tests.faults.hostile import INFER, LEAK, PICTURES, Rng, Target, binary, mutated, oversized, tensor
from tests.nginx import TOKEN, nginx
from tests.serve import NAMESPACE, SHARED_MEMORY, Serve, Start
from tests.waiting import eventually

REGION = re.compile(rb"plates_\d+_|shm_region|python_backend_shm|key '")
TRITONS_OWN = re.compile(r"[|+]| ?\d+# ")
"""How lines of the log begin that list the options of Triton, or its own stack after a signal."""
PREFIX = re.compile(r"[IWE]\d{4} \S+ \d+ \w+\.\w+:\d+\] ")
"""The beginning of a line in Triton's log: the time and the place in the sources."""
ROOM = "24m"
"""Shared memory that is enough to start a server, but not enough for a frame like `LARGE`."""
LARGE = np.zeros((3000, 3300, 3), np.uint8)
PROTOCOLS = ("http", "grpc")


def names_nothing(told: str) -> None:
    for private in (LEAK, REGION):
        assert not private.search(told.encode(errors="replace")), told


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[Serve]:
    """`plates serve` with little shared memory."""
    mount = f'mount -t tmpfs -o size={ROOM} tmpfs {SHARED_MEMORY} && exec "$@"'
    with Serve(tmp_path, prefix=[*NAMESPACE, "--mount", "sh", "-c", mount, "sh"]) as serve:
        yield serve


def test_full_shared_memory_is_reported_without_its_name(cramped: Serve, tmp_path: Path) -> None:
    """Triton names the region, which CVE-2025-23320 exploits. The client and the proxy remove the name."""
    assert eventually(cramped.is_healthy, 30 * LENIENT)
    http, grpc = (str(parse_url(cramped.addresses[each])) for each in PROTOCOLS)
    for protocol in PROTOCOLS:
        with PlateClient(cramped.addresses[protocol], retries=0) as client, pytest.raises(SharedMemoryFull) as caught:
            client.read(LARGE)
        names_nothing(str(caught.value))
    header = {"inputs": [tensor("input__0", list(LARGE.shape), "UINT8", LARGE.nbytes)]}
    with nginx(http, grpc, tmp_path / "nginx") as proxy:
        length = str(len(json.dumps(header)))
        body = binary(header, LARGE.tobytes())[1]
        status, answer = proxy.ask("POST", INFER, body, Inference_Header_Content_Length=length)
        assert (status, b"shared memory pool size for ***" in answer) == (500, True), answer
        names_nothing(answer.decode())
        picture = tritonclient.grpc.InferInput("input__0", LARGE.shape, "UINT8").set_data_from_numpy(LARGE)
        with (
            tritonclient.grpc.InferenceServerClient(
                f"localhost:{proxy.grpcs}", ssl=True, root_certificates=str(proxy.ca)
            ) as stranger,
            pytest.raises(InferenceServerException, match=r"shared memory pool size for \*\*\*") as refused,
        ):
            stranger.infer(PLATE_RECOGNITION.name, [picture], headers={"authorization": f"Bearer {TOKEN}"})
        names_nothing(str(refused.value))
        for scheme in ("https", "grpcs"):
            with proxy.client(scheme) as client, pytest.raises(SharedMemoryFull):
                client.read(LARGE)


@pytest.mark.timeout(900)
def test_no_error_reveals_a_name_a_path_or_the_key(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks all messages after every kind of bad picture, dead and stopped processes, and the end of a server."""
    monkeypatch.setenv(KEY_VARIABLE, "0123456789abcdef" * 4)
    with start(tmp_path, IMPATIENT) as serve:
        assert eventually(serve.is_healthy, 30 * LENIENT)
        before, errors = len(serve.log_text()), len(serve.errors())
        told = [each for protocol in PROTOCOLS for each in asked(serve.addresses[protocol])]
        assert len(told) > 30
        for harm, event in harms(serve):
            serve.forget_events()
            harm()
            assert eventually(lambda kind=event: serve.events(kind), 60 * LENIENT)  # type: ignore[misc]
            told.append(json.dumps(serve.health()[1]))
            assert eventually(serve.is_healthy, 60 * LENIENT)
            told += [json.dumps(serve.health()[1]), *map(json.dumps, serve.events())]
        assert serve.control_key
        for each in (*told, serve.log_text()):
            assert serve.control_key not in each
        for each in (*told, *serve.errors()[errors:].splitlines(), *serve.log_text()[before:].splitlines()):
            if not TRITONS_OWN.match(each):
                names_nothing(PREFIX.sub("", each))


def asked(url: str) -> Iterator[str]:
    """Send pictures that are refused -> the messages of the client's exceptions."""
    pictures: list[bytes | Frame] = [made() for made in BOMBS.values()]
    pictures += [mutated(Rng(number), PICTURES[number % len(PICTURES)]) for number in range(16)]
    pictures += [oversized(Rng(number)) for number in range(12)] + [np.zeros((2, 2, 3), np.uint8)]
    with PlateClient(url, retries=0) as client:
        for picture in pictures:
            try:
                client.read(picture)
            except PlateError as error:
                yield str(error)


def harms(serve: Serve) -> Iterator[tuple[Callable[[], object], str]]:
    """Calls that end or stop a process, each with the kind of event that must follow."""
    http, grpc = (parse_url(serve.addresses[each]).port for each in PROTOCOLS)
    target = Target(http, grpc, timeout=60)
    picture = known_picture().image
    outputs = [{"name": "texts", "parameters": {"classification": 1}}]
    request = {"inputs": [tensor("image", [len(picture)], "UINT8", len(picture))], "outputs": outputs}
    yield serve.stubs("stn")[0].kill, "heal"
    yield serve.stubs("yolo")[0].suspend, "heal"
    yield lambda: target.ask_http(*binary(request, picture)), "restart"
