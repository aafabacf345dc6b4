"""The settings of the port's connections."""

import asyncio
import ctypes
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from plate_nets.web.server import WebServer


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_body_does_not_wait_for_the_acknowledgement_of_its_head(address: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        cycle: Any = send.__self__  # type: ignore[attr-defined]  # uvicorn's, which alone knows the connection
        connection = cycle.transport.get_extra_info("socket")
        answer = JSONResponse({"no_delay": connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)})
        await answer(scope, receive, send)

    with WebServer(app, address) as server:
        assert httpx.get(server.url, trust_env=False).json() == {"no_delay": 1}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_end_of_the_page_is_signalled() -> None:
    ended = threading.Event()
    others = threading.enumerate()
    with WebServer(Starlette(), ended=ended.set) as server:
        (thread,) = (each for each in threading.enumerate() if each not in others)
        assert thread.ident is not None
        fault = ctypes.py_object(KeyboardInterrupt)  # asyncio passes on no other exception from a loop iteration
        for _ in range(60):  # Python drops it where it cannot raise, such as in a finalizer
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), fault)
            if ended.wait(1):
                break
        assert ended.is_set()
        server.wait()
    ended.clear()
    with WebServer(Starlette(), ended=ended.set):
        pass
    assert not ended.is_set(), "as it was left"


def test_the_page_ends_before_its_command_if_a_signal_interrupts_the_wait() -> None:
    closed = threading.Event()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.sleep(0.2)
        closed.set()

    def interrupt(number: int, frame: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGUSR1, interrupt)
    ended = threading.Timer(0.2, signal.pthread_kill, [threading.get_ident(), signal.SIGUSR1])
    try:
        with pytest.raises(SystemExit), WebServer(Starlette(lifespan=lifespan)) as server:
            ended.start()
            server.wait()
    finally:
        ended.join()
        signal.signal(signal.SIGUSR1, before)
    assert closed.is_set()
