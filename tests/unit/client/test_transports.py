"""Each call over HTTP and gRPC to a stub: what is sent, how answers are parsed, and which error a failure raises."""

import asyncio
import json
import math
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]
import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from plate_nets.client import parse_url
from plate_nets.client.shared_memory import SharedMemoryTransport
from plate_nets.client.transports import ServerAccess, Transport, calls, open_transport
from plate_nets.client.transports.base import our_errors
from plate_nets.client.transports.calls import Call, Input, infer, is_live, load, repository_index
from plate_nets.common.errors import (
    AccessDenied,
    ConnectionLost,
    DeadlineExceeded,
    InputError,
    InputTooLarge,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)
from plate_nets.contract import ModelSpec, TensorSpec
from tests.fakes.stub_server import CONFIG, METADATA, VERSION, StubServer

SECONDS = 60.0
KEY = "0123456789abcdef"
DOUBLE = ModelSpec(
    name="double",
    backend="python",
    max_batch_size=0,
    inputs=(TensorSpec("given", "FP32", (-1, 2)),),
    outputs=(TensorSpec("twice", "FP32", (-1, 2)), TensorSpec("again", "FP32", (-1, 2))),
)
ROWS = np.array([[1, 2], [3, 4]], np.float32)
GIVEN = Input(DOUBLE.inputs[0], ROWS)


def opened(url: str, protocol: str = "http", **access: Any) -> Transport:
    return open_transport(ServerAccess(parse_url(url, protocol), **access))


@pytest.fixture
def transport(stub: StubServer, protocol: str) -> Iterator[Transport]:
    with opened(stub.url(protocol), protocol, headers={"x-camera": "7"}, control_key=KEY) as transport:
        yield transport


UNRESTRICTED: list[tuple[Call[Any], object]] = [
    (is_live(), True),
    (calls.is_ready(), True),
    (calls.is_model_ready("double"), True),
    (calls.server_metadata(), METADATA),
]
RESTRICTED: list[tuple[Call[Any], object]] = [
    (calls.model_config("double"), CONFIG),
    (load("double"), None),
    (calls.unload("double"), None),
    (repository_index(), [VERSION]),
    (calls.registered_memory(), set()),
    (calls.register_memory("region", 10), None),
    (calls.unregister_memory("region"), None),
]


@pytest.mark.parametrize(("call", "meaning"), UNRESTRICTED + RESTRICTED)
def test_an_answer_has_the_same_result_over_both_protocols(
    transport: Transport, call: Call[Any], meaning: object
) -> None:
    assert transport.send(call, SECONDS) == meaning


def test_statistics_are_given_per_version(transport: Transport) -> None:
    (found,) = transport.send(calls.statistics("double", "3"), SECONDS)
    assert (found["name"], found["version"]) == ("double", "3")
    assert int(found["inference_stats"]["success"]["count"]) == 7


def test_the_control_key_is_sent_with_restricted_calls_only(transport: Transport, stub: StubServer) -> None:
    restricted, others = ([call for call, _ in each] for each in (RESTRICTED, UNRESTRICTED))
    for call in (*restricted, *others, infer(DOUBLE, GIVEN)):
        transport.send(call, SECONDS)
        headers = stub.asked[-1].headers
        assert ((KEY in headers.values()), headers["x-camera"]) == (call in restricted, "7"), call


def test_arrays_go_to_a_model_and_come_back(transport: Transport, stub: StubServer) -> None:
    """All outputs or those that are asked for, also of an array that is not contiguous."""
    sent: dict[str, Any] = {"name": "double", "input": "given", "dtype": "FP32", "region": None, "parameters": {}}
    for rows, outputs in ((ROWS, None), (ROWS.T, DOUBLE.outputs[1:])):
        found = transport.send(infer(DOUBLE, Input(DOUBLE.inputs[0], rows), outputs=outputs), SECONDS)
        assert list(found) == [each.name for each in outputs or DOUBLE.outputs]
        for array in found.values():
            np.testing.assert_array_equal(array, rows * 2)
        assert stub.asked[-1].fields == sent | {"outputs": list(found)}


@pytest.mark.parametrize(("seconds", "microseconds"), [(0.25, 250_000), (0.0, 1)])
def test_a_request_carries_its_parameters(
    transport: Transport, stub: StubServer, seconds: float, microseconds: int
) -> None:
    """0 would mean no limit."""
    transport.send(infer(DOUBLE, GIVEN, parameters={"plates_probe": True}, timeout=seconds), SECONDS)
    assert stub.asked[-1].fields["parameters"] == {"plates_probe": True, "timeout": microseconds}


def test_the_config_of_a_load_replaces_that_of_the_folder(transport: Transport, stub: StubServer) -> None:
    transport.send(load("double", {"max_batch_size": 4}), SECONDS)
    assert json.loads(stub.asked[-1].fields["config"]) == {"max_batch_size": 4}


def test_regions_come_and_go(transport: Transport, stub: StubServer) -> None:
    for name in ("one", "two"):
        transport.send(calls.register_memory(name, 10), SECONDS)
    assert transport.send(calls.registered_memory(), SECONDS) == {"one", "two"}
    transport.send(calls.unregister_memory("one"), SECONDS)
    assert transport.send(calls.registered_memory(), SECONDS) == {"two"}


def test_an_array_in_shared_memory_crosses_no_socket(transport: Transport, stub: StubServer) -> None:
    sharing = SharedMemoryTransport(transport)
    sharing.send(infer(DOUBLE, GIVEN), SECONDS)
    (region,) = stub.regions
    assert stub.asked[-1].fields["region"] == region
    memory = Path("/dev/shm", region)
    np.testing.assert_array_equal(np.frombuffer(memory.read_bytes()[: ROWS.nbytes], np.float32), ROWS.ravel())
    stub.regions.clear()  # as after a restart of the server
    stub.fault = (400, "INVALID_ARGUMENT", "Unable to find shared memory region")
    with pytest.raises(PlateError):
        sharing.send(infer(DOUBLE, GIVEN), SECONDS)
    stub.fault = None
    sharing.close()
    assert not memory.exists()
    with pytest.raises(ServerError, match=r"127\.0\.0\.1:\d+: the client is closed"):
        sharing.send(infer(DOUBLE, GIVEN), SECONDS)


@pytest.mark.parametrize("call", [call for call, _ in UNRESTRICTED[3:] + RESTRICTED[:3]] + [infer(DOUBLE, GIVEN)])
def test_a_call_ends_within_its_timeout(transport: Transport, stub: StubServer, call: Call[Any]) -> None:
    stub.pause = 1.0
    with pytest.raises(DeadlineExceeded, match=rf"^{transport.address}: "):
        transport.send(call, 0.1)
    stub.pause = 0.0
    assert transport.send(is_live(), SECONDS)


def test_threads_can_share_a_transport(transport: Transport) -> None:
    def ask(number: int) -> float:
        found = transport.send(infer(DOUBLE, Input(DOUBLE.inputs[0], ROWS * number)), SECONDS)
        return float(found["twice"][0, 0])

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(40))) == [2.0 * number for number in range(40)]


def test_an_answer_without_outputs_is_an_error_of_the_server(transport: Transport, stub: StubServer) -> None:
    """Triton's response cache answers like this if the first answer was an error."""
    stub.outputs = False
    with pytest.raises(ServerError, match=f"^{transport.address}: the answer lacks twice, again"):
        transport.send(infer(DOUBLE, GIVEN), SECONDS)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_is_asked_without_a_proxy(
    stub: StubServer, protocol: str, host: str, proxied: Callable[..., None]
) -> None:
    proxied("http://127.0.0.1:9")
    with opened(stub.url(protocol).replace("127.0.0.1", host), protocol) as transport:
        assert transport.send(is_live(), SECONDS)


UNREACHED = (ServerUnavailable, DeadlineExceeded)


@pytest.mark.parametrize("hangs", [True, False])
def test_an_error_names_the_proxy_of_grpc(hangs: bool, proxied: Callable[..., None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1] if hangs else 9
        proxied(f"http://ann:s3cret@127.0.0.1:{port}", "10.0.0.0/8")
        with opened("grpc://192.0.2.1:8001") as transport, pytest.raises(UNREACHED) as failed:
            transport.send(is_live(), 1)
    assert f"proxy http://127.0.0.1:{port} of http_proxy" in str(failed.value)
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize("excluded", ["192.0.2.0/24", "192.0.2.1", "*"])
def test_no_proxy_is_followed_by_grpc(excluded: str, proxied: Callable[..., None]) -> None:
    """192.0.2.1 answers nobody (RFC 5737), so that only the message can tell."""
    proxied("http://127.0.0.1:9", excluded)
    with opened("grpc://192.0.2.1:8001") as transport, pytest.raises(UNREACHED) as failed:
        transport.send(is_live(), 0.5)
    assert "proxy" not in str(failed.value) and "127.0.0.1" not in str(failed.value)


def test_a_refusal_is_an_input_error_only_if_the_call_has_a_picture(transport: Transport, stub: StubServer) -> None:
    stub.fault = (400, "INVALID_ARGUMENT", "failed to load 'double'")
    with pytest.raises(InputError, match=r"^failed to load"):
        transport.send(infer(DOUBLE, GIVEN), SECONDS)
    with pytest.raises(ServerError, match=f"^{transport.address}: failed to load 'double'"):
        transport.send(load("double"), SECONDS)


def test_an_answered_error_leaves_the_connection_open(stub: StubServer) -> None:
    with opened(stub.http_url) as transport:
        transport.send(is_live(), SECONDS)
        before = transport._of_thread.client  # type: ignore[attr-defined]
        stub.fault = (503, "UNAVAILABLE", "Exceeds maximum queue size")
        with pytest.raises(ServerOverloaded):
            transport.send(infer(DOUBLE, GIVEN), SECONDS)
        assert transport._of_thread.client is before  # type: ignore[attr-defined]


def test_a_call_on_a_closed_grpc_client_reports_that_it_is_closed(stub: StubServer) -> None:
    with opened(stub.grpc_url, "grpc") as transport:
        transport.send(is_live(), SECONDS)
    with pytest.raises(ServerError, match=f"^{stub.grpc_url}: the client is closed"):
        transport.send(is_live(), SECONDS)


@pytest.mark.parametrize("seconds", [1e12, math.inf])
def test_a_call_without_a_timeout_may_take_any_time(transport: Transport, seconds: float) -> None:
    """gRPC ended a call at once if it could not represent its time."""
    assert transport.send(is_live(), seconds) is True


@pytest.mark.parametrize("secret", [KEY + "\r\nx: y", KEY + "я", KEY + "\0"])
@pytest.mark.parametrize("given", ["headers", "control_key"])
def test_an_invalid_secret_is_not_shown_in_the_error(stub: StubServer, protocol: str, given: str, secret: str) -> None:
    access = {"headers": {"authorization": f"Bearer {secret}"}, "control_key": secret}
    with pytest.raises(InputError, match="expected printable ASCII characters") as caught:
        opened(stub.url(protocol), protocol, **{given: access[given]})
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_control_key_may_end_with_a_newline(stub: StubServer, protocol: str) -> None:
    with opened(stub.url(protocol), protocol, control_key=KEY + "\n") as transport:
        transport.send(repository_index(), SECONDS)
    assert KEY in stub.asked[-1].headers.values()


def test_an_outer_timeout_is_not_converted(stub: StubServer) -> None:
    stub.pause = 1.0
    outer = gevent.Timeout(0.1)
    with opened(stub.http_url) as transport, pytest.raises(gevent.Timeout) as caught, outer:
        transport.send(is_live(), SECONDS)
    assert caught.value is outer


def test_a_missing_file_of_the_authority(protocol: str) -> None:
    with pytest.raises(InputError, match="ca: expected a PEM file, got /nowhere"):
        opened("localhost", protocol, ca=Path("/nowhere"))


def test_an_asynchronous_client_sends_the_same_calls(stub: StubServer) -> None:
    import tritonclient.http.aio as library  # imported here: takes a second

    async def ask() -> tuple[Any, Any]:
        async with library.InferenceServerClient(stub.http_url) as client:
            asked: tuple[Call[Any], ...] = (infer(DOUBLE, GIVEN), repository_index())
            doubled, index = [call.parse(await call.ask(library, client, {})) for call in asked]
            return doubled, index

    with ThreadPoolExecutor(1) as thread:  # the browser of other tests may run a loop in this thread
        doubled, index = thread.submit(lambda: asyncio.run(ask())).result()
    np.testing.assert_array_equal(doubled["twice"], ROWS * 2)
    assert index == [VERSION]


ADDRESS = parse_url("host:1")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        ("400", "PLATES_BAD_INPUT: image: expected", InputError),
        ("500", "in ensemble: PLATES_BAD_INPUT: image: expected", InputError),
        ("400", "PLATES_TOO_LARGE: image: expected at most", InputTooLarge),
        ("400", "unexpected shape for input 'input__0'", InputError),
        ("413", "Request Entity Too Large", InputTooLarge),
        ("StatusCode.INVALID_ARGUMENT", "inference input data-type is 'FP32'", InputError),
        ("StatusCode.RESOURCE_EXHAUSTED", "Received message larger than max", InputTooLarge),
        ("StatusCode.DEADLINE_EXCEEDED", "Deadline Exceeded", DeadlineExceeded),
        ("503", "PLATES_TIMED_OUT: after 0.2 s", DeadlineExceeded),
        ("StatusCode.UNAVAILABLE", "failed to connect", ServerUnavailable),
        ("StatusCode.UNAVAILABLE", "[request id: <id_unknown>] Exceeds maximum queue size", ServerOverloaded),
        ("503", "Request timeout expired", ServerOverloaded),
        ("503", "PLATES_OVERLOADED: yolo: Exceeds maximum queue size", ServerOverloaded),
        ("429", "slow down", ServerOverloaded),
        ("503", "the server is stopping", ServerUnavailable),
        ("404", "Request for unknown model: 'yolo' has no available versions", ServerUnavailable),
        ("404", "Request for unknown model: 'yolo' is not found", ServerUnavailable),
        ("500", "stn: Model stn - Error when running inference: Server not ready", ServerUnavailable),
        ("500", "Stub process 'plate_recognition_0_0' is not healthy.", ModelDied),
        ("StatusCode.UNAVAILABLE", "This protocol is restricted, expecting header 'key'", AccessDenied),
        ("401", "", AccessDenied),
        ("500", "PLATES_INTERNAL: stn: out of memory", ServerError),
        ("404", "unknown model", ServerError),
        (None, "", ServerError),
        (None, None, ServerError),
    ],
)
def test_an_answered_error_becomes_one_of_our_exceptions(
    status: str | None, message: str | None, kind: type[PlateError]
) -> None:
    with pytest.raises(kind) as caught, our_errors(ADDRESS):
        raise InferenceServerException(message, status)
    assert type(caught.value) is kind
    said = str(caught.value)
    assert said.startswith("host:1: ") is issubclass(kind, ServerError)
    assert "PLATES_BAD_INPUT" not in said, "the server's prefix is not part of the message"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ConnectionRefusedError(111, "Connection refused"), ServerUnavailable, "[Errno 111] Connection refused"),
        (ConnectionResetError(), ConnectionLost, "ConnectionResetError"),
        (BrokenPipeError(32, "Broken pipe"), ConnectionLost, "[Errno 32] Broken pipe"),
        (HTTPException("connection closed"), ConnectionLost, "connection closed"),
        (ValueError("Expected"), ServerError, "expected an answer from Triton, got something else: Expected"),
        (KeyError("model_stats"), ServerError, "expected an answer from Triton, got something else: 'model_stats'"),
        (DeadlineExceeded("no answer within 2 s"), DeadlineExceeded, "no answer within 2 s"),
    ],
)
def test_a_missing_answer_becomes_one_of_our_exceptions(error: Exception, kind: type[PlateError], text: str) -> None:
    with pytest.raises(ServerError) as caught, our_errors(ADDRESS):
        raise error
    assert type(caught.value) is kind
    assert str(caught.value) == f"host:1: {text}"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Stream removed (Socket closed)", ConnectionLost),
        ("Stream removed (recvmsg:Connection reset by peer (104))", ConnectionLost),
        ("Stream removed (ping timeout)", ConnectionLost),
        ("failed to connect to all addresses; last error: UNKNOWN: Connection reset by peer", ServerUnavailable),
        ("Server is stopping, scheduler for model has stopped accepting new inference requests", ServerUnavailable),
    ],
)
def test_a_broken_connection_is_distinguished_from_a_failed_one(said: str, kind: type[PlateError]) -> None:
    """From gRPC's own text, because NVIDIA's client keeps nothing else."""

    class Broken(Call[bool]):
        def ask(self, library: Any, client: Any, options: Any) -> Any:
            raise InferenceServerException(said, "StatusCode.UNAVAILABLE")

    with opened("grpc://host:1") as transport, pytest.raises(ServerError) as caught:
        transport.send(Broken("is_server_live", {}, bool), SECONDS)
    assert type(caught.value) is kind


def test_an_internal_error_is_not_converted() -> None:
    with pytest.raises(ZeroDivisionError), our_errors(ADDRESS):
        raise ZeroDivisionError


@pytest.mark.parametrize(("spoken", "other"), [("http", "grpc"), ("grpc", "http")])
def test_the_error_names_the_other_protocol_of_a_port(stub: StubServer, spoken: str, other: str) -> None:
    url = stub.url(other)
    said = f"^{url}: (does not speak|closes) .*; for .* write {other}://{url}$"
    with opened(url, spoken) as transport, pytest.raises(ServerError, match=said):
        transport.send(calls.is_ready(), SECONDS)


def test_tritons_http_port_closes_grpc_connections() -> None:
    words = "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:127.0.0.1:8000: Socket closed"
    with pytest.raises(ServerUnavailable, match=r"^host:1: closes .* write http://host:1$"), our_errors(ADDRESS):
        raise InferenceServerException(words, "StatusCode.UNAVAILABLE")


@pytest.mark.parametrize(("key", "says"), [("", "got none; set PLATES_CONTROL_KEY"), (KEY, "got a wrong one")])
def test_a_missing_key_is_distinguished_from_a_wrong_one(stub: StubServer, protocol: str, key: str, says: str) -> None:
    stub.fault = (403, "UNAVAILABLE", "This API is restricted, expecting header 'plates-control-key'")
    denied = pytest.raises(AccessDenied, match=f"expected its control key, {says}")
    with opened(stub.url(protocol), protocol, control_key=key) as transport, denied:
        transport.send(repository_index(), SECONDS)
