"""deploy/nginx/plates.conf in a real nginx before a real server: TLS, tokens, limits, blocked paths."""

import contextlib
import gzip
import http.client
import json
import queue
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest
import tritonclient.grpc
from tritonclient.utils import InferenceServerException

from plate_nets.client import PlateClient
from plate_nets.common.control_key import headers as key_header
from plate_nets.common.control_key import metadata as key_metadata
from plate_nets.common.errors import AccessDenied, InputTooLarge, ServerUnavailable
from plate_nets.recognition.health import known_picture
from tests.nginx import INFER, TOKEN, Proxy, encoded, nginx
from tests.serve import Served
from tests.waiting import eventually

PICTURE = known_picture().image


@pytest.fixture(scope="module")
def proxy(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with nginx(served.http, served.grpc, tmp_path_factory.mktemp("nginx")) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def the_server_lives(served: Served) -> Iterator[None]:
    """To the end of these tests: nothing would start it again."""
    yield
    with PlateClient(served.http, timeout=60, retries=0) as client:
        client.health()


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_a_client_with_a_token_reads_plates(proxy: Proxy, scheme: str) -> None:
    with proxy.client(scheme) as client:
        assert client.is_ready()
        client.health()


@pytest.mark.parametrize("token", ["", "x" * 43, TOKEN[:-1], TOKEN + "t", TOKEN.upper(), '" barrier-3'])
@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_no_token_or_a_wrong_one_is_refused(proxy: Proxy, scheme: str, token: str) -> None:
    with proxy.client(scheme, token) as client, pytest.raises(AccessDenied):
        client.read(PICTURE)
    assert proxy.ask("GET", "/v2/health/ready", token=token)[0] == 401


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_the_client_refuses_an_untrusted_certificate(proxy: Proxy, scheme: str) -> None:
    port = proxy.https if scheme == "https" else proxy.grpcs
    sent = {"authorization": f"Bearer {TOKEN}"}
    with (
        PlateClient(f"{scheme}://localhost:{port}", timeout=20, retries=0, headers=sent) as client,
        pytest.raises(ServerUnavailable),
    ):
        client.read(PICTURE)


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_the_versions_of_the_models_can_be_asked_for(proxy: Proxy, scheme: str) -> None:
    with proxy.client(scheme) as client:
        names = [part.partition(":")[0] for part in client.model_version().split()]
    assert names == ["yolo", "stn", "lprnet", "lprnet_latin", "lprnet_scripts", "country"]


def test_requests_without_tls_are_refused(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("localhost", proxy.https, timeout=60)
    connection.request("GET", "/v2/health/ready", headers={"Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    assert answer.status == 400
    assert b"HTTPS" in answer.read()


def test_old_tls_is_refused(proxy: Proxy) -> None:
    context = ssl.create_default_context(cafile=proxy.ca)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("localhost", proxy.https), 60) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="localhost")


def test_a_body_over_the_limit_is_refused_before_it_is_forwarded(proxy: Proxy) -> None:
    with proxy.client("https") as client, pytest.raises(InputTooLarge):
        client.read(b"\0" * (33 << 20))


@pytest.mark.parametrize(
    "path",
    [
        *("/v2/repository/index", "/v2/repository/models/stn/unload", "/v2/systemsharedmemory/status", "/metrics", "/"),
        *(f"/v2/models/plate_recognition/{name}" for name in ("config", "stats", "trace/setting", "generate")),
        *("/v2/models/yolo/infer", "/v2/models/yolo/config", "/v2/models/stats", "/v2/logging", "/v2/trace/setting"),
        *("//v2/logging", "/v2%2flogging", "/v2/models/plate_recognition/../../logging"),
        "/v2/models/plate_recognition%2f..%2f..%2flogging",
        "/v2/models/plate_recognition/infer/../../yolo/infer",
    ],
)
def test_other_paths_are_blocked_even_with_the_control_key(proxy: Proxy, served: Served, path: str) -> None:
    for method in ("GET", "POST"):
        status, body = proxy.ask(method, path, b"{}" if method == "POST" else b"", **key_header(served.control_key))
        assert (status, json.loads(body)) == (404, {"error": "not served here"}), body


def test_an_invalid_request_is_answered_in_json(proxy: Proxy) -> None:
    status, body = proxy.ask("GET", "/v2/models/plate_recognition%00/infer")
    assert (status, "error" in json.loads(body)) == (400, True), body


def test_other_grpc_methods_are_blocked_even_with_the_control_key(proxy: Proxy, served: Served) -> None:
    sent = {"authorization": f"Bearer {TOKEN}"} | key_metadata(served.control_key)
    with tritonclient.grpc.InferenceServerClient(
        f"localhost:{proxy.grpcs}", ssl=True, root_certificates=str(proxy.ca)
    ) as client:
        assert client.is_server_live(headers=sent)
        for call in (client.get_model_repository_index, client.get_log_settings, client.get_inference_statistics):
            with pytest.raises(InferenceServerException) as caught:
                call(headers=sent)
            assert caught.value.status() == "StatusCode.UNIMPLEMENTED"


def test_requests_that_crash_an_old_triton_stop_at_the_proxy(proxy: Proxy) -> None:
    """Deep nesting, a bomb, and a header that would hide either (docs/explanation/security.md)."""
    deep = b'{"inputs":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"
    assert proxy.ask("POST", INFER, deep)[0] == 400
    assert proxy.ask("POST", INFER, deep, Inference_Header_Content_Length=str(len(deep)))[0] == 400
    bomb = gzip.compress(b"\0" * (64 << 20))
    assert proxy.ask("POST", INFER, bomb, Content_Encoding="gzip", Inference_Header_Content_Length="5")[0] == 415


@pytest.mark.parametrize(
    ("outputs", "parameters"),
    [
        ([{"name": "texts", "parameters": {"classification": 1}}], {}),
        ([{"name": "scores", "parameters": {"binary_data": True, "classification": 2**31}}], {}),
        ([{"name": "texts"}], {"plates_probe": True}),
        ([{"name": "texts"}], {f"p{number}": 1 for number in range(300)}),
        ([{"name": "texts", "parameters": {"shared_memory_region": "x"}}], {}),
    ],
    ids=["classification of texts", "of scores", "probe", "hundreds", "shared memory"],
)
def test_parameters_that_crash_triton_stop_at_the_proxy(
    proxy: Proxy, outputs: list[dict[str, object]], parameters: dict[str, object]
) -> None:
    status, answer = proxy.infer(PICTURE, outputs, **parameters)
    assert (status, b"not served here" in answer) == (400, True), answer


def test_parameters_that_recognition_needs_pass(proxy: Proxy) -> None:
    outputs: list[dict[str, object]] = [{"name": "texts", "parameters": {"binary_data": False}}]
    status, answer = proxy.infer(PICTURE, outputs, timeout=10_000_000, sure="0.8")
    assert status == 200, answer
    assert known_picture().texts[0].encode() in answer


@pytest.mark.parametrize("length", ["99999999999", "9999", "-1", "0x10", "1e3", " "])
def test_an_absurd_length_of_the_json_is_refused(proxy: Proxy, length: str) -> None:
    assert proxy.ask("POST", INFER, b"{}", Inference_Header_Content_Length=length)[0] == 400


def test_the_proxy_checks_grpc_requests_too(proxy: Proxy) -> None:
    assert proxy.infer_grpc(PICTURE).as_numpy("texts")[0, 0].decode() in known_picture().texts
    for refused in ({"classes": 1}, {"compression": "gzip"}, {"compression": "deflate"}):
        with pytest.raises(InferenceServerException) as caught:
            proxy.infer_grpc(PICTURE, **refused)
        assert caught.value.status() == "StatusCode.INVALID_ARGUMENT", caught.value


def test_streams_are_refused(proxy: Proxy) -> None:
    with tritonclient.grpc.InferenceServerClient(
        f"localhost:{proxy.grpcs}", ssl=True, root_certificates=str(proxy.ca)
    ) as client:
        answers: queue.Queue[object] = queue.Queue()
        client.start_stream(lambda result, error: answers.put(error), headers={"authorization": f"Bearer {TOKEN}"})
        picture = tritonclient.grpc.InferInput("image", [len(PICTURE)], "UINT8")
        picture.set_data_from_numpy(np.frombuffer(PICTURE, np.uint8))
        with contextlib.suppress(InferenceServerException):  # the stream may already have been refused
            client.async_stream_infer("plate_recognition", [picture])
        assert "UNIMPLEMENTED" in str(answers.get(timeout=60))


def test_the_proxy_joins_chunks_before_the_server_gets_them(proxy: Proxy) -> None:
    header = json.dumps(encoded(PICTURE)).encode()
    body = header + PICTURE
    with proxy.connect() as connection:
        connection.sendall(
            f"POST {INFER} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
            f"Inference-Header-Content-Length: {len(header)}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        connection.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200, answer.read()
        assert known_picture().texts[0].encode() in answer.read()


def test_a_client_cannot_exceed_its_connection_limit(proxy: Proxy) -> None:
    """32 requests never end their body. The next one is refused at once, and those with other tokens are not."""
    waiting = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 9\r\n"
    with ExitStack() as stack:
        for _ in range(32):
            connection = stack.enter_context(proxy.connect())
            connection.sendall((waiting + "Inference-Header-Content-Length: 5\r\n\r\n").encode())
        assert eventually(lambda: proxy.ask("GET", "/v2/health/live")[0] == 429, 5)
        assert proxy.ask("GET", "/v2/health/live", token="x")[0] == 401
    assert eventually(lambda: proxy.ask("GET", "/v2/health/live")[0] == 200, 30)


def test_the_proxy_does_not_reveal_its_version(proxy: Proxy) -> None:
    for path in ("/", INFER, "/v2/health/live"):
        connection = http.client.HTTPSConnection(
            "localhost", proxy.https, timeout=60, context=ssl.create_default_context(cafile=proxy.ca)
        )
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.headers["Server"] == "nginx"
        assert b"nginx/" not in answer.read()
