"""Serves the application with uvicorn in its own thread, so that the main thread can watch a Triton."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Self

import httptools
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError, ServerStartError
from plate_nets.web.faults import error_response
from plate_nets.web.settings import LOOPBACK_NAMES

_BACKLOG = 512
_SHUT_DOWN = 3
"""Seconds for requests to finish at shutdown."""
_AWAKE = 0.5
"""Seconds after which a wait looks for signals at the latest."""
HEAD_SECONDS = 10
"""Seconds for the head of a request, and for a connection to stay open without one."""
HEAD_BYTES = 16 << 10
"""Bytes of a request's address and headers together, as Node.js has it."""
PIECES = 4096
"""Pieces of a body, chunks or parts of the stream, whose size does not matter."""
PIECE_BYTES = 32
"""Bytes that the pieces of a longer body have on average at least; each costs as much as some hundred bytes."""
AHEAD = 16
"""Requests of a connection that may wait for the answers before them."""


class _Refused(Exception):
    """Why a sender is refused, in one line. Raised within httptools, which then parses no further."""


_LONG = f"head: expected at most {HEAD_BYTES} bytes, got more"


class _Connection(HttpToolsProtocol):
    """uvicorn's connection with limits.

    They are on the head of a request in bytes and in time, on tiny pieces of a body, and on requests sent ahead.
    httptools limits none of them, and parses all that was received at once.
    """

    _waiting: asyncio.TimerHandle | None = None
    _refused = False
    _in_head = False
    _head = 0
    """Bytes of the head so far, and of the trailer after the body."""
    _unknown = 0
    """Bytes received since the parser last found something: half a line, or the extension of a chunk."""
    _pieces = 0
    _body = 0
    """Bytes of the body so far."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._unset_keepalive_if_required()
        self._unknown += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # it took what follows the head for another protocol
            again = self._plain_head() + data[upgrade.args[0] :]
            self.parser = httptools.HttpRequestParser(self)
            self.data_received(again)
        except httptools.HttpParserError as error:
            ours = isinstance(error, httptools.HttpParserCallbackError)
            reason = error.__context__ if ours else error
            self._refuse(str(reason) if isinstance(reason, _Refused) else f"request: {reason}")
        else:
            if self._unknown > HEAD_BYTES:
                self._refuse(_LONG)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head = self._unknown = self._pieces = self._body = 0

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + 4)  # with `: ` and the end of the line
        if self._in_head:  # nobody reads the trailer of a chunked body
            super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self.parser.get_method() == b"CONNECT":
            raise _Refused("method: CONNECT is not allowed")
        if self.parser.should_upgrade():
            return
        if len(self.pipeline) >= AHEAD:
            raise _Refused(f"requests: expected at most {AHEAD} before their answers")
        super().on_headers_complete()
        self._stop_waiting()

    def on_body(self, body: bytes) -> None:
        self._unknown = 0
        self._pieces += 1
        self._body += len(body)
        if self._pieces > PIECES and self._body < self._pieces * PIECE_BYTES:
            raise _Refused(f"body: expected pieces of {PIECE_BYTES} bytes or more, got {PIECES} that are smaller")
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no pipelined request was waiting
            self._await_head()

    def _count_head(self, count: int) -> None:
        self._unknown = 0
        self._head += count
        if self._head > HEAD_BYTES:
            raise _Refused(_LONG)

    def _plain_head(self) -> bytes:
        """The head without the wish for another protocol, which a server may ignore (RFC 9110, 7.8)."""
        lines = (b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade")
        return b"%b %b HTTP/1.1\r\n%b\r\n" % (self.parser.get_method(), self.url, b"".join(lines))

    def _refuse(self, message: str) -> None:
        """Answer if no other answer is on its way. What is still sent is then ignored until the sender ends."""
        self._refused = True
        cycle = self.cycle
        begun = cycle is not None and cycle.response_started and (cycle.more_body or not cycle.response_complete)
        if begun or self.pipeline:
            self.transport.close()
            return
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        answer = error_response(InputError(message))
        answer.headers["Connection"] = "close"
        head = b"".join(b"%b: %b\r\n" % header for header in answer.raw_headers)
        self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[answer.status_code], head, bytes(answer.body)))
        self.transport.write_eof()  # closing at once would discard the answer on its way
        self.flow.resume_reading()
        self._await_head()

    def _await_head(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()


class WebServer(Closing):
    """Listens from its creation on, and answers within its block.

    Args:
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
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def wait(self) -> None:
        # Not a `join`: one that a signal interrupts takes the thread for ended (CPython gh-90882). Not one wait: if
        # another thread takes the signal, as one that starts just then may, this one is not woken to handle it.
        while not self._finished.wait(_AWAKE):
            pass

    def _run(self) -> None:
        try:
            self._server.run([self._socket])
        finally:
            self._finished.set()
            if not self._server.should_exit:
                self._ended()
