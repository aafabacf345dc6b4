"""`PlateClient` without a server: addresses, faults found before sending, what cannot be reached."""

import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from plate_nets.client.client import PlateClient, WireProtocol, _error, _outputs, parse_url, plates
from plate_nets.errors import (
    AccessDenied,
    DeadlineExceeded,
    InputError,
    InputTooLarge,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
)
from plate_nets.types import Box, Plate

FRAME = np.zeros((20, 30, 3), np.uint8)
PROTOCOLS: tuple[WireProtocol, ...] = ("http", "grpc")


@pytest.mark.parametrize(
    ("url", "protocol", "expected"),
    [
        ("localhost:8000", "http", ("localhost:8000", "http", False)),
        ("localhost", "http", ("localhost:8000", "http", False)),
        ("localhost", "grpc", ("localhost:8001", "grpc", False)),
        ("http://localhost:9000/", "http", ("localhost:9000", "http", False)),
        ("grpc://10.0.0.1:9001", "http", ("10.0.0.1:9001", "grpc", False)),
        ("https://plates.example:443", "grpc", ("plates.example:443", "http", True)),
        ("grpcs://plates.example", "http", ("plates.example:8001", "grpc", True)),
    ],
)
def test_an_address_says_where_and_how(url: str, protocol: str, expected: tuple[str, str, bool]) -> None:
    assert parse_url(url, protocol) == expected


@pytest.mark.parametrize("url", ["", "http://", "localhost:port", ":8000", "ftp://localhost:21"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="expected"):
        PlateClient(url)


@pytest.mark.parametrize(
    "image", [FRAME[..., 0], FRAME.astype(np.float32), FRAME[..., :2], "car.jpg", None, FRAME.tolist()]
)
def test_what_is_no_picture_is_refused_before_it_is_sent(image: object) -> None:
    with PlateClient("127.0.0.1:1") as client, pytest.raises(InputError, match="expected bytes, or a BGR frame"):
        client.read(image)  # type: ignore[arg-type]


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_at_the_address(closed_port: int, protocol: WireProtocol) -> None:
    with PlateClient(f"127.0.0.1:{closed_port}", protocol, timeout=20) as client:
        for ask in (lambda: client.read(FRAME), client.is_ready, client.health):
            with pytest.raises(ServerUnavailable, match=f"127.0.0.1:{closed_port}"):
                ask()


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []
        thread = threading.Thread(target=lambda: _accept(listener, held), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in held:
            connection.close()


def _accept(listener: socket.socket, held: list[socket.socket]) -> None:
    while True:
        try:
            held.append(listener.accept()[0])
        except OSError:
            return


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_answer_in_time(silent_server: int, protocol: WireProtocol) -> None:
    with PlateClient(f"127.0.0.1:{silent_server}", protocol, timeout=0.3) as client, pytest.raises(DeadlineExceeded):
        client.read(FRAME)


def test_a_server_that_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(10)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"127.0.0.1:{listener.getsockname()[1]}"
        with PlateClient(url, timeout=5, retries=0) as client, pytest.raises(ServerUnavailable):
            client.read(FRAME)
        thread.join()


def _trickle(listener: socket.socket, answer: bytes, ended: threading.Event) -> None:
    connection, _ = listener.accept()
    connection.recv(100)
    for number in range(len(answer)):
        try:
            connection.sendall(answer[number : number + 1])
        except OSError:
            break
        if ended.wait(0.05):
            break
    connection.close()


@pytest.mark.parametrize("ask", [lambda client: client.read(FRAME), lambda client: client.is_ready()])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_trickles_meets_the_deadline(
    protocol: WireProtocol, ask: Callable[[PlateClient], object]
) -> None:
    """A byte every 50 ms: no single wait is long."""
    http = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + bytes(9999)
    grpc = b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4\1\0\0\0\0" * 99  # the frames of HTTP/2 that begin a connection
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answer = http if protocol == "http" else grpc
        thread = threading.Thread(target=_trickle, args=(listener, answer, ended))
        thread.start()
        url = f"127.0.0.1:{listener.getsockname()[1]}"
        started = time.monotonic()
        with PlateClient(url, protocol, timeout=0.5) as client, pytest.raises(DeadlineExceeded):
            ask(client)
        assert time.monotonic() - started < 5
        ended.set()
        thread.join()


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose queue of connections is full: Linux drops what else comes, as a firewall would."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        yield port
        for each in waiting:
            each.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_connecting_into_the_void_meets_the_deadline(full_port: int, protocol: WireProtocol) -> None:
    started = time.monotonic()
    with PlateClient(f"127.0.0.1:{full_port}", protocol, timeout=0.5) as client:
        for ask in (lambda: client.read(FRAME), client.is_ready):
            with pytest.raises(DeadlineExceeded):
                ask()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_deadline_holds_for_all_attempts_together(closed_port: int, protocol: WireProtocol) -> None:
    started = time.monotonic()
    url = f"127.0.0.1:{closed_port}"
    with PlateClient(url, protocol, timeout=1, retries=1000) as client, pytest.raises(ServerUnavailable):
        client.read(FRAME)
    assert time.monotonic() - started < 5


class NotTriton(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        return None


def test_a_server_that_is_not_triton() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), NotTriton) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        with PlateClient(f"127.0.0.1:{other.server_port}", timeout=5) as client:
            with pytest.raises(ServerError, match="not an answer of Triton"):
                client.read(FRAME)
            with pytest.raises(ServerUnavailable):
                PlateClient(f"127.0.0.1:{other.server_port}", "grpc", timeout=5).read(FRAME)
        other.shutdown()
        thread.join()


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
        ("500", "Stub process 'plate_recognition_0_0' is not healthy.", ServerUnavailable),
        ("StatusCode.UNAVAILABLE", "This protocol is restricted, expecting header 'key'", AccessDenied),
        ("401", "", AccessDenied),
        ("500", "PLATES_INTERNAL: stn: out of memory", ServerError),
        ("404", "unknown model", ServerError),
        ("None", "", ServerError),
    ],
)
def test_a_status_becomes_an_error_of_our_tree(status: str, message: str, kind: type[PlateError]) -> None:
    assert type(_error("host:1", status, message)) is kind


def test_the_server_s_prefix_is_not_part_of_the_message() -> None:
    assert str(_error("host:1", "400", "PLATES_BAD_INPUT: image: expected a picture")) == "image: expected a picture"


def test_an_answer_without_outputs_is_an_error_of_the_server() -> None:
    """Triton's response cache answers so where the first answer was an error."""

    class Empty:
        def as_numpy(self, name: str) -> None:
            return None

    with pytest.raises(ServerError, match="localhost: an answer without coordinates, texts"):
        _outputs("localhost", Empty())


def test_rows_become_plates() -> None:
    outputs = {
        "coordinates": np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32),
        "scores": np.array([0.5, 0.25], np.float32),
        "texts": np.array([[b"A123BC77"], [b""]], np.object_),
        "readings": np.array([[b"A123BC77"], [b"A12"]], np.object_),
        "confidences": np.array([0.75, 0.125], np.float32),
    }
    assert plates(outputs) == [
        Plate(Box(1, 2, 3, 4), 0.5, "A123BC77", "A123BC77", 0.75),
        Plate(Box(5, 6, 7, 8), 0.25, "", "A12", 0.125),
    ]


HEAVY = ("torch", "openvino", "pytriton", "safetensors", "training", "plate_nets.nets")


@pytest.mark.parametrize("module", ["plate_nets.client.client", "plate_nets.recognition.health", "plate_nets.cli"])
def test_the_client_needs_no_torch(module: str) -> None:
    code = f"import sys, {module}, tritonclient.http, tritonclient.grpc; print(*set(sys.modules) & set({HEAVY!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


SERVED = ("plate_nets.serving.recognition", "plate_nets.serving.detector", "plate_nets.serving.network_model")


@pytest.mark.parametrize("module", SERVED)
def test_serving_imports_nothing_of_training(module: str) -> None:
    code = (
        "import sys, types; sys.modules['triton_python_backend_utils'] = types.ModuleType('fake')\n"
        f"import {module}\n"
        "print(*{name.split('.')[0] for name in sys.modules} & {'training', 'yolov5', 'torchvision', 'converters'})\n"
        "print('torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    training, torch = found.stdout.splitlines()
    assert training == ""
    assert torch == "False", "on a CPU no served network needs it"
