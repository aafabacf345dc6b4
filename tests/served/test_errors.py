"""Every code of the table, answered by a real server on both protocols, and what it costs the server."""

import http.client
import json
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil
import pytest
import torch
import tritonclient.grpc
import tritonclient.http
from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException

from plate_nets.client import PlateClient, WireProtocol, parse_url
from plate_nets.common.control_key import headers
from plate_nets.common.error_codes import (
    BAD_INPUT,
    INTERNAL,
    MODEL_DIED,
    TIMED_OUT,
    TOO_LARGE,
    UNAVAILABLE,
    find_answer,
)
from plate_nets.common.errors import (
    AccessDenied,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)
from plate_nets.contract import MODELS
from plate_nets.countries import default_schemes
from plate_nets.triton.server import EmbeddedTriton, default_repository
from tests.bombs import HUGE
from tests.frames import Placed, compose, encode
from tests.served.conftest import Served
from tests.waiting import eventually

PROTOCOLS: tuple[WireProtocol, ...] = ("http", "grpc")
EVERY = " or ".join(scheme.name for scheme in default_schemes())
LIBRARIES = {"http": tritonclient.http, "grpc": tritonclient.grpc}
CAR = compose(480, 640, [Placed("A123BC77", 100, 300)])
SLOW = np.frombuffer(encode(CAR.repeat(12, 0).repeat(12, 1), ".jpg"), np.uint8)
"""The same with 44 megapixels: decoding takes most of its time."""
CALLERS = 64
NOTHING = np.frombuffer(b"no picture", np.uint8)


def ask(
    url: str, protocol: WireProtocol, array: NDArray[Any], name: str = "input__0", **options: Any
) -> tuple[str, str]:
    """Send one request with NVIDIA's client -> status and message of the error; empty without one."""
    library = LIBRARIES[protocol]
    tensor = library.InferInput(name, array.shape, "UINT8").set_data_from_numpy(array)
    with library.InferenceServerClient(url) as client:
        try:
            client.infer("plate_recognition", [tensor], **options)
        except InferenceServerException as error:
            return str(error.status()).removeprefix("StatusCode."), str(error.message())
    return "", ""


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("row", "name", "array"),
    [
        (BAD_INPUT, "input__0", CAR[:2]),
        (BAD_INPUT, "image", NOTHING),
        (TOO_LARGE, "image", np.frombuffer(HUGE, np.uint8)),
    ],
)
def test_errors_of_the_caller(served: Served, protocol: WireProtocol, row: Any, name: str, array: Any) -> None:
    status, message = ask(served.url(protocol), protocol, array, name)
    assert status in (row.http, row.grpc)
    assert message.startswith(f"{row.phrase}: {name}: expected ")
    with PlateClient(served.url(protocol), protocol) as client, pytest.raises(row.error):
        client.read(array if name == "input__0" else array.tobytes())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_ends_at_its_own_timeout(served: Served, protocol: WireProtocol) -> None:
    """The timeout ends while the detector decodes, so the reader's networks do not run."""
    before = served.executions("stn", "lprnet")
    for _ in range(20):
        status, message = ask(served.url(protocol), protocol, SLOW, "image", timeout=100_000)
        kind, _ = find_answer(message, status)
        if kind is TIMED_OUT:
            break
        # On a busy machine, the timeout ends before the work begins
        assert kind.error is ServerOverloaded, (status, message)
    assert (status in (TIMED_OUT.http, TIMED_OUT.grpc)) and message.startswith(
        "PLATES_TIMED_OUT: the request's timeout of 0.1 s was over before "
    )
    assert served.executions("stn", "lprnet") == before


def test_work_stops_after_the_caller_hangs_up(served: Served) -> None:
    """Over gRPC. Triton 24.10 does not notice an HTTP caller who hangs up; only its `timeout` stops the work."""
    before = served.executions("yolo", "stn")

    def spared() -> bool:
        yolo, stn = (now - then for now, then in zip(served.executions("yolo", "stn"), before, strict=True))
        return stn < yolo

    for seconds in np.geomspace(0.1, 10, 14):  # one of them ends while the detector decodes, on a fast machine too
        ask(served.grpc, "grpc", SLOW, "image", client_timeout=float(seconds))
        if spared():
            break
    assert eventually(spared, 60)
    with PlateClient(served.grpc, "grpc", timeout=100) as client:
        assert client.read(CAR)  # the detector has passed on its finished work before this
    assert spared()


def idle(served: Served) -> list[int]:
    """How often the detector has run, once it has done what an earlier test sent."""
    seen: list[int] = []
    while seen != (now := served.executions("yolo")):
        seen = now
        time.sleep(0.5)
    return seen


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_that_waited_too_long_is_not_started(served: Served, protocol: WireProtocol) -> None:
    """A timeout of a microsecond ends before the detector gets the request: in the queue, or just after it."""
    before = idle(served)
    status, message = ask(served.url(protocol), protocol, CAR, timeout=1)
    kind, _ = find_answer(message, status)
    assert (kind.phrase, kind.error) == ("Request timeout expired", ServerOverloaded), (status, message)
    assert served.executions("yolo") == before


@pytest.mark.parametrize("field", [b'"parameters":{"x":"\xff"}', b'"parameters":{"\xff":true}', b'"id":"\xff"'])
def test_invalid_text_gets_an_error_without_a_traceback(served: Served, field: bytes) -> None:
    body = b'{"inputs":[{"name":"image","shape":[1],"datatype":"UINT8","data":[1]}],' + field + b"}"
    connection = http.client.HTTPConnection(served.http, timeout=30)
    connection.request("POST", "/v2/models/plate_recognition/infer", body)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["error"][:24]) == (400, "PLATES_BAD_INPUT: image:")
    connection.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_full_queue_refuses_at_once(served: Served, protocol: WireProtocol) -> None:
    """Of many at once, 4 are processed and 16 wait. The rest is refused at once.

    On a busy machine, the callers may come one by one, so they try a few times.
    """
    refused: list[tuple[PlateError, float]] = []
    gate = threading.Barrier(CALLERS)

    def read(client: PlateClient) -> int:
        gate.wait(60)
        started = time.monotonic()
        try:
            return len(client.read(CAR))
        except ServerOverloaded as error:
            refused.append((error, time.monotonic() - started))
            return 0

    url = served.url(protocol)
    with PlateClient(url, protocol, timeout=100, retries=0) as client, ThreadPoolExecutor(CALLERS) as threads:
        for _ in range(10):
            answers = list(threads.map(read, [client] * CALLERS))
            if refused:
                break
    assert refused and len(refused) < CALLERS
    assert sum(answers) == CALLERS - len(refused)
    assert any("Exceeds maximum queue size" in str(error) for error, _ in refused)
    with PlateClient(url, protocol, timeout=100) as client:
        assert [plate.reading.text for plate in client.read(CAR)] == ["A123BC77"]


def test_retries_get_an_answer_from_a_busy_server(served: Served) -> None:
    with PlateClient(served.http, timeout=100, retries=100) as client, ThreadPoolExecutor(32) as threads:
        assert sum(len(plates) for plates in threads.map(client.read, [CAR] * 32)) == 32


class Fails(torch.nn.Module):
    """Works while `stn` is warmed up with zeros, and fails with anything else."""

    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        assert bool((crops == 0).all()), "/secret/path"
        return crops


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedTriton]:
    """A server whose `stn` fails, run by torch."""
    repository = tmp_path_factory.mktemp("broken") / "model_repository"
    shutil.copytree(default_repository(), repository)
    config = repository / "stn" / "config.pbtxt"
    config.write_text(config.read_text(encoding="utf-8").replace('"true"', '"false"'), encoding="utf-8")
    torch.jit.script(Fails()).save(str(repository / "stn" / "1" / "model.pt"))
    with EmbeddedTriton(repository, model_control="explicit", load=list(MODELS), exit_timeout=0) as server:
        yield server


def test_outages_are_recognised_on_both_protocols(broken: EmbeddedTriton) -> None:
    """One server meets a fault of ours, a missing key, a dead process, an absent inner model and its own absence."""
    urls: dict[WireProtocol, str] = {"http": broken.http_url, "grpc": broken.grpc_url}
    control = tritonclient.http.InferenceServerClient(broken.http_url, network_timeout=60)

    def expect(words: str, statuses: tuple[str, str], error: type[PlateError]) -> None:
        for protocol, status in zip(PROTOCOLS, statuses, strict=True):
            found, message = ask(urls[protocol], protocol, CAR)
            assert (found, words in message) == (status, True), message
            assert "/" not in message and "Traceback" not in message
            with (
                PlateClient(urls[protocol], protocol, retries=0) as client,
                pytest.raises(error, match=r"^127\.0\.0\.1:\d+: ") as caught,
            ):
                client.read(CAR)
            assert type(caught.value) is error

    expect("PLATES_INTERNAL: stn: unexpected", (INTERNAL.http, INTERNAL.grpc), ServerError)

    for protocol in PROTOCOLS:
        with LIBRARIES[protocol].InferenceServerClient(urls[protocol]) as stranger:
            with pytest.raises(InferenceServerException) as caught:
                stranger.unload_model("stn")
            status = str(caught.value.status()).removeprefix("StatusCode.")
            assert find_answer(str(caught.value.message()), status)[0].error is AccessDenied

    for process in psutil.Process().children(recursive=True):
        if "/yolo/1/" in (command := " ".join(process.cmdline())) and broken.region_prefix in command:
            process.kill()
    expect("PLATES_MODEL_DIED: yolo: Stub process", (MODEL_DIED.http, MODEL_DIED.grpc), ModelDied)

    control.unload_model("yolo", headers=headers(broken.control_key))
    expect("PLATES_UNAVAILABLE: yolo: ", (UNAVAILABLE.http, UNAVAILABLE.grpc), ServerUnavailable)

    control.unload_model("plate_recognition", headers=headers(broken.control_key))
    expect("has no available versions", ("404", "NOT_FOUND"), ServerUnavailable)
    control.close()


@pytest.mark.parametrize(
    ("odd", "status", "says"),
    [
        ({"parameters": {"timeout": -1}}, 500, "Unable to parse 'timeout'"),
        ({"outputs": [{"name": "texts", "parameters": {"binary_data": "x"}}]}, 500, "Unable to parse 'binary_data'"),
        ({"parameters": {"sequence_id": "x" * 200}}, 501, "cannot be longer than 128 characters"),
        ({"parameters": {"scheme": 5}}, 400, "PLATES_BAD_INPUT: scheme: expected comma-separated names of schemes"),
        ({"parameters": {"sure": "often"}}, 400, "PLATES_BAD_INPUT: sure: expected a probability between 0 and 1"),
        ({"parameters": {"sure": 80}}, 400, "PLATES_BAD_INPUT: sure: expected a probability between 0 and 1, got 80"),
        ({"parameters": {"scheme": "atlantis"}}, 400, f"PLATES_BAD_INPUT: scheme: expected {EVERY}, got 'atlantis'"),
    ],
)
def test_odd_parameters_get_the_status_that_the_document_names(
    served: Served, odd: dict[str, Any], status: int, says: str
) -> None:
    frame = {"name": "input__0", "shape": [16, 16, 3], "datatype": "UINT8", "data": [0] * 768}
    body = json.dumps({"inputs": [frame], **odd})
    server = parse_url(served.http)
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("POST", "/v2/models/plate_recognition/infer", body)
    answer = connection.getresponse()
    assert answer.status == status and says in answer.read().decode()
    connection.close()
