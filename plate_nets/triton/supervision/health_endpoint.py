"""The health port of `plates serve` and `plates watch`.

`GET /health`: 200 while all is well, otherwise 503, with the reason as JSON. `GET /live`: 200 while the process is
working, 503 if it hangs. `GET /metrics`: for Prometheus.
"""

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Protocol

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from plate_nets.common import threads
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import ServerStartError
from plate_nets.common.threads import LastingThread
from plate_nets.triton.supervision.metrics import ThreadFaults

HEALTH, LIVE, METRICS = "/health", "/live", "/metrics"
_SLOWEST = 5.0
"""Seconds for a client to send its request."""
_CHECK_INTERVAL = 0.2
"""Seconds between two checks whether to stop."""
_AT_ONCE = 64
"""Connections that are answered at the same time."""


class Summary(Protocol):
    """The state of a server or a watcher."""

    @property
    def is_live(self) -> bool:
        """Whether it is working, well or not."""

    def summary(self) -> dict[str, Any]:
        """The state for JSON; all is well if its ``state`` is "serving"."""


class HealthEndpoint(Closing):
    """An HTTP server in a thread of its own; Prometheus gets ``metrics``.

    Raises:
        ServerStartError: it cannot listen on the port.
    """

    def __init__(self, status: Summary, address: str, port: int, metrics: Collector) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = _SLOWEST

            def do_GET(self) -> None:
                if self.path == HEALTH:
                    summary = status.summary() | {"threads": threads.failing()}
                    well = summary["state"] == "serving" and not summary["threads"]
                    code = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
                    self._answer(code, "application/json", f"{json.dumps(summary)}\n".encode())
                elif self.path == LIVE:
                    live = status.is_live
                    code = HTTPStatus.OK if live else HTTPStatus.SERVICE_UNAVAILABLE
                    self._answer(code, "text/plain", b"live\n" if live else b"the supervisor hangs\n")
                elif self.path == METRICS:
                    text = generate_latest(metrics) + generate_latest(ThreadFaults())
                    self._answer(HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, text)
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)

            def _answer(self, code: HTTPStatus, kind: str, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing: probes that come every few seconds would fill the log."""

            def version_string(self) -> str:
                return "plates"

        try:
            self._server = _BoundedServer((address, port), Handler)
        except OSError as error:
            raise ServerStartError(f"health port {port} on {address}: {error.strerror}; choose another") from error
        host, port = self._server.server_address[:2]
        self.url = f"http://{host!s}:{port}{HEALTH}"
        self._server.timeout = _CHECK_INTERVAL
        self._ending = threading.Event()
        self._thread = LastingThread("health", self._answer_one, ending=self._ending)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        self._server.server_close()

    def _answer_one(self) -> bool:
        self._server.handle_request()
        return not self._ending.is_set()


class _BoundedServer(ThreadingTCPServer):
    """Answers a limited number of connections at the same time, and closes any other.

    The servers of `http.server` look up their own name when they bind, which blocks if DNS does not answer.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()
