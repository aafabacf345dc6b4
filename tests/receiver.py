"""A web server that receives webhooks, and fails on request."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from tests.local_http import LocalHttp, QuietHandler


@dataclass(frozen=True)
class Received:
    """A request."""

    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes


class Receiver(LocalHttp):
    """Answers each POST with the next of ``answers`` while there are any, then with 204."""

    def __init__(self, port: int = 0) -> None:
        self.answers: list[int] = []
        self.headers: dict[str, str] = {}
        """Sent with each answer."""
        self.received: list[Received] = []
        self._changed = threading.Condition()
        receiver = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                code = receiver.answers.pop(0) if receiver.answers else 204
                if code == 204:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    with receiver._changed:
                        receiver.received.append(Received(headers, body))
                        receiver._changed.notify_all()
                self.send_response(code)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

        super().__init__(Handler, port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def wait(self, count: int, seconds: float = 60) -> list[Received]:
        """The requests received, once there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, seconds), len(self.received)
            return list(self.received)
