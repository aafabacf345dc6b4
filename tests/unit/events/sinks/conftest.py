"""A hostile server at the other end of a sink."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

Answer = Callable[[socket.socket], object]


def sends(first: bytes, then: bytes = b"", pause: float = 0.0) -> Answer:
    """Sends ``first``, and after it ``then`` again and again, if there is any."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(first)
        while then:
            connection.sendall(then)
            time.sleep(pause)

    return answer


def sends_and_waits(first: bytes) -> Answer:
    """Sends ``first``, and is silent until the other side hangs up."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(first)
        while connection.recv(1024):
            pass

    return answer


@contextmanager
def listening(answer: Answer) -> Iterator[int]:
    """A function for each connection that has sent something -> the port that it serves."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):  # the client hung up, or the test is over
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), connection:
                    connection.recv(1 << 16)
                    answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


Hostile = Callable[[Answer], str]


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    """`listening` until the end of the test: host and port."""
    with contextlib.ExitStack() as stack:
        yield lambda answer: f"127.0.0.1:{stack.enter_context(listening(answer))}"
