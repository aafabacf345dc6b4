"""Whoever is at the other end of a sink, and means no good."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

Answer = Callable[[socket.socket], object]


@pytest.fixture
def hostile() -> Iterator[Callable[[Answer], int]]:
    """What is done with each connection, once something came of it -> the port where that is done."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(answer: Answer) -> None:
        with contextlib.suppress(OSError):  # the client has hung up, or the test is over
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), connection:
                    connection.recv(1 << 16)
                    answer(connection)

    def start(answer: Answer) -> int:
        threading.Thread(target=serve, args=(answer,), daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
