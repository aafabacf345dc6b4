"""`PlateClient` without a server: addresses, faults found before sending, unreachable servers."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest

from plate_nets.client import PlateClient, WireProtocol, plates
from plate_nets.common.errors import (
    ConnectionLost,
    DeadlineExceeded,
    InputError,
    InputTooLarge,
    ServerError,
    ServerUnavailable,
)
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Box, Plate, Reading
from tests.fakes.stub_server import StubServer
from tests.local_http import LocalHttp, QuietHandler

FRAME = np.zeros((20, 30, 3), np.uint8)


@pytest.mark.parametrize(
    "url",
    ["", "http://", "localhost:port", ":8000", "ftp://localhost:21", [], ["a", ""], ["dns:///"], ["dns:///https://a"]],
)
def test_an_invalid_address_is_refused(url: str | list[str]) -> None:
    with pytest.raises(InputError, match="expected"):
        PlateClient(url)


@pytest.mark.parametrize(
    "image", [FRAME[..., 0], FRAME.astype(np.float32), FRAME[..., :2], "car.jpg", None, FRAME.tolist()]
)
def test_something_other_than_a_picture_is_refused_before_it_is_sent(image: object) -> None:
    with PlateClient("127.0.0.1:1") as client, pytest.raises(InputError, match="expected bytes, or a BGR frame"):
        client.read(image)  # type: ignore[arg-type]


def test_nothing_answers_at_the_address(protocol: WireProtocol) -> None:
    with PlateClient("127.0.0.1:9", protocol, timeout=20) as client:
        for ask in (lambda: client.read(FRAME), client.is_ready, client.health):
            with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:9"):
                ask()


def test_the_version_names_the_networks_that_the_server_has(stub: StubServer, protocol: WireProtocol) -> None:
    stub.missing = frozenset(("lprnet",))
    with PlateClient(stub.url(protocol), protocol, timeout=60) as client:
        assert client.model_version() == "yolo:10 stn:10 lprnet_latin:10 lprnet_scripts:10 country:10"


@contextmanager
def answered_once(answer: bytes) -> Iterator[str]:
    """A server that sends one client a byte every 50 ms, hangs up, and accepts no second one -> its address."""
    ended = threading.Event()

    def trickle() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(100)
            for number in range(len(answer)):
                connection.sendall(answer[number : number + 1])
                if ended.wait(0.05):
                    break

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
        thread.join()


def test_a_server_that_hangs_up() -> None:
    with answered_once(b"") as url, PlateClient(url, timeout=5) as client, pytest.raises(ConnectionLost):
        client.read(FRAME)


@pytest.mark.parametrize("ask", [lambda client: client.read(FRAME), lambda client: client.is_ready()])
def test_a_server_that_sends_slowly_exceeds_the_deadline(
    protocol: WireProtocol, ask: Callable[[PlateClient], object]
) -> None:
    """No single wait is long."""
    http = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + bytes(9999)
    grpc = b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4\1\0\0\0\0" * 99  # the HTTP/2 frames that begin a connection
    with answered_once(http if protocol == "http" else grpc) as url:
        started = time.monotonic()
        with PlateClient(url, protocol, timeout=0.5) as client, pytest.raises(DeadlineExceeded):
            ask(client)
        assert time.monotonic() - started < 5


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose connection queue is full: Linux drops further connections, as a firewall would."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield int(listener.getsockname()[1])


def test_connecting_without_an_answer_ends_at_the_deadline(full_port: int, protocol: WireProtocol) -> None:
    started = time.monotonic()
    with PlateClient(f"127.0.0.1:{full_port}", protocol, timeout=0.5) as client:
        for ask in (lambda: client.read(FRAME), client.is_ready):
            with pytest.raises(DeadlineExceeded):
                ask()
    assert time.monotonic() - started < 10


class NotTriton(QuietHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")


def test_a_server_that_is_not_triton() -> None:
    with closing(LocalHttp(NotTriton)) as other, PlateClient(f"127.0.0.1:{other.port}", timeout=5) as client:
        with pytest.raises(ServerError, match="expected an answer from Triton, got something else"):
            client.read(FRAME)
        with pytest.raises(ServerUnavailable):
            PlateClient(f"127.0.0.1:{other.port}", "grpc", timeout=5).read(FRAME)


def test_rows_become_plates() -> None:
    outputs = {
        "coordinates": np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32),
        "scores": np.array([0.5, 0.25], np.float32),
        "texts": np.array([[b"A123BC77"], [b""]], np.object_),
        "readings": np.array([[b"A123BC77"], [b"A12"]], np.object_),
        "confidences": np.array([0.75, 0.125], np.float32),
    }
    read = Plate(Box(1, 2, 3, 4), 0.5, Reading("A123BC77", "A123BC77", 0.75, (), "private", "russia"))
    unread = Plate(Box(5, 6, 7, 8), 0.25, Reading("", "A12", 0.125, (), "", "russia"))
    assert plates(outputs) == [read, unread]
    assert all(plate.logits is None for plate in plates(outputs))
    outputs["characters"] = np.array([[0.75] * 8, [0.5, 0.25, 0.125, 0, 0, 0, 0, 0]], np.float32)
    outputs["logits"] = np.stack([np.full((23, 18), row, np.float32) for row in (1, 2)])
    found = plates(outputs)
    assert [plate.reading.characters for plate in found] == [(0.75,) * 8, (0.5, 0.25, 0.125)]
    assert [plate.logits.shape for plate in found if plate.logits is not None] == [(23, 18)] * 2
    assert found[1].logits is not None and found[1].logits[0, 0] == 2
    assert [replace(plate.reading, characters=()) for plate in found] == [read.reading, unread.reading]
    assert "country" not in found[0].to_dict(), "nobody asked"
    outputs["countries"] = np.array([[b"ru"], [b"unknown"]], np.object_)
    outputs["country_confidences"] = np.array([0.75, 0], np.float32)
    outputs["grounds"] = np.array([[b"white"], [b"yellow"]], np.object_)
    outputs["ground_confidences"] = np.array([1, 0.5], np.float32)
    names = ("country", "country_confidence", "ground", "ground_confidence")
    values = [("ru", 0.75, "white", 1.0), ("unknown", 0.0, "yellow", 0.5)]
    for plate, expected in zip(plates(outputs), values, strict=True):
        assert tuple(getattr(plate, name) for name in names) == expected
        assert plate.to_dict().items() >= dict(zip(names, expected, strict=True)).items()


def test_a_picture_over_the_limits_is_refused_before_it_is_sent(protocol: WireProtocol) -> None:
    """Nothing listens there, and the frame's 1.2 GB are never touched."""
    with PlateClient("127.0.0.1:9", protocol, retries=0) as client:
        with pytest.raises(InputTooLarge, match="input__0: expected at most 50000000 pixels, got 400000000"):
            client.read(np.zeros((20_000, 20_000, 3), np.uint8))
        with pytest.raises(InputTooLarge, match="image: expected at most 67108864 bytes, got 67108865"):
            client.read(bytes((64 << 20) + 1))
    wider = PlateClient("127.0.0.1:9", protocol, retries=0, limits=FrameLimits(max_bytes=1 << 30))
    with wider as client, pytest.raises(ServerUnavailable):
        client.read(bytes((64 << 20) + 1))
