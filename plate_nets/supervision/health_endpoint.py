"""`GET /health`: 200 while the server recognises, 503 otherwise, and why, as JSON; `GET /metrics`: for Prometheus."""

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from plate_nets.errors import ServerStartError
from plate_nets.supervision.events import Status
from plate_nets.supervision.metrics import StatusCollector

HEALTH, METRICS = "/health", "/metrics"
_SLOWEST = 5.0
"""Seconds that an asker has to send its question."""


class HealthEndpoint:
    """An HTTP server of its own thread.

    Raises:
        ServerStartError: it cannot listen on the port.
    """

    def __init__(self, status: Status, address: str, port: int) -> None:
        metrics = StatusCollector(status)

        class Handler(BaseHTTPRequestHandler):
            timeout = _SLOWEST

            def do_GET(self) -> None:
                if self.path == HEALTH:
                    summary = status.summary()
                    well = summary["state"] == "serving"
                    code = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE
                    self._answer(code, "application/json", f"{json.dumps(summary)}\n".encode())
                elif self.path == METRICS:
                    self._answer(HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(metrics))
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)

            def _answer(self, code: HTTPStatus, kind: str, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: those who ask every few seconds would fill the log."""

            def version_string(self) -> str:
                return "plates"

        try:
            self._server = ThreadingHTTPServer((address, port), Handler)
        except OSError as error:
            raise ServerStartError(f"health port {port} on {address}: {error.strerror}; choose another") from error
        self._server.daemon_threads = True
        host, port = self._server.server_address[:2]
        self.url = f"http://{host!s}:{port}{HEALTH}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
