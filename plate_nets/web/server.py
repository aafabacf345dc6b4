"""Serves the application with uvicorn in its own thread, so that the main thread can watch a Triton."""

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from plate_nets.errors import ServerStartError
from plate_nets.web.settings import LOOPBACK_NAMES

_BACKLOG = 512
_SHUT_DOWN = 3
"""Seconds for requests to finish at shutdown."""
HEAD_SECONDS = 10
"""Seconds for the head of a request, and for a connection to stay open without one."""


class _Connection(H11Protocol):
    """uvicorn's connection, closed after too long without a complete request head."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no pipelined request was waiting
            self._await_head()

    def _await_head(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()


class WebServer:
    """Listens from its creation on, and answers within its block.

    Args:
        app: the application.
        address: address to listen on.
        port: 0 picks a free one.
        head: seconds for the head of a request.
        ended: called if the server ends on its own, which only an internal error causes.

    Raises:
        ServerStartError: it cannot listen there.
    """

    def __init__(
        self,
        app: ASGIApp,
        address: str = "127.0.0.1",
        port: int = 0,
        head: float = HEAD_SECONDS,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            self._socket = socket.create_server((address, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            raise ServerStartError(f"port {port} on {address}: {error.strerror}; choose another") from error
        # Connections inherit it; asyncio sets it only on sockets that name their protocol, which this one does not.
        # Without it a body waits for the acknowledgement of its head: 40 ms if the other side delays that.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = f"[{address}]" if ":" in address else address
        self.url = f"http://{name}:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=_Connection,
                ws="none",
                lifespan="on",
                timeout_keep_alive=head,  # type: ignore[arg-type]  # it only ever becomes a timer
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=True,
                forwarded_allow_ips=[*LOOPBACK_NAMES],  # a proxy on this machine says who asks, and whether over HTTPS
                timeout_graceful_shutdown=_SHUT_DOWN,
            )
        )
        self._ended = ended
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def __enter__(self) -> "WebServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def wait(self) -> None:
        """Wait until the server ends on its own."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self._server.run([self._socket])
        finally:
            if not self._server.should_exit:
                self._ended()
