"""The only entrance for HTTP bodies. It counts bytes as they come, so nothing over a limit is kept.

Each body is limited in bytes, in pauses and in total time. All of them together are limited in memory and on disk, so
that senders are refused before the machine is full.
"""

import asyncio
import ctypes
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from plate_nets.common.contexts import Closing
from plate_nets.common.errors import DeadlineExceeded, InputError, InputTooLarge, ServerOverloaded
from plate_nets.web.faults import invalid_body
from plate_nets.web.forms import read_form
from plate_nets.web.settings import WebSettings

SHORT = 8192
"""Bytes of a body typed by a person: a login, an address, a correction."""
_NAME = 255
_DRAINED = 8
"""Multiple of the limit that is still read and discarded, so that a browser shows the error and not a broken
connection."""
_LARGE = 8 << 20
"""Size of a request, bytes, from which on its memory is returned to the system."""
_SOON = 1.0
_TRIM: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""glibc's function; other allocators have none."""


T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Upload:
    """A picture as sent, and the name given by its sender, which is text and never a path."""

    name: str
    encoded: bytes


@dataclass(frozen=True)
class Room:
    """Bytes that all requests together may hold; one sender may hold half of them."""

    max_bytes: int
    held: Counter[str] = field(default_factory=Counter)
    """Bytes by sender."""


class Held(Closing):
    """The bytes that one request holds of a room, charged as they come, until it is closed."""

    def __init__(self, room: Room, request: Request) -> None:
        self._room = room
        self._sender = _sender(request)
        self.count = 0

    def take(self, count: int) -> None:
        """Raise ServerOverloaded if there is no room for this many bytes more."""
        held, most = self._room.held, self._room.max_bytes
        if held.total() + count > most or 2 * (held[self._sender] + count) > most:
            raise ServerOverloaded("body: too many requests are being sent at once; try again later")
        held[self._sender] += count
        self.count += count

    def close(self) -> None:
        self._room.held[self._sender] -= self.count
        if not self._room.held[self._sender]:
            del self._room.held[self._sender]
        self.count = 0


class StoredVideo(Closing):
    """A received video in a file that is deleted when it is closed."""

    def __init__(self, file: IO[bytes], held: Held) -> None:
        self._file = file
        self._held = held
        self.path = file.name

    def close(self) -> None:
        self._file.close()
        self._held.close()


class Uploads:
    """Receives the bodies of requests.

    All methods raise InputTooLarge for too many bytes, DeadlineExceeded for a sender that pauses or takes too long,
    ServerOverloaded if all bodies together are too large, and InputError for unexpected content.
    """

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._memory = Room(settings.max_held)
        self._disk = Room(settings.max_stored)
        self._trimming = False
        self._turns = asyncio.Lock()

    async def text(self, request: Request, max_bytes: int = SHORT) -> bytes:
        """Read a body as a whole: short ones, and tables."""
        seconds = self._settings.short if max_bytes <= SHORT else self._settings.whole
        with Held(self._memory, request) as held:
            return bytes(await self._read(request, max_bytes, seconds, held))

    async def document(self, request: Request, model: type[T]) -> T:
        """Read a short body as the JSON of a model."""
        try:
            return model.model_validate_json(await self.text(request))
        except ValidationError as error:
            raise invalid_body(error) from error

    @asynccontextmanager
    async def picture(self, request: Request) -> AsyncIterator[Upload]:
        """The body as a picture, for the duration of the block."""
        settings = self._settings
        with Held(self._memory, request) as held, self._given_back(held):
            yield Upload("picture", bytes(await self._read(request, settings.limits.max_bytes, settings.whole, held)))

    @asynccontextmanager
    async def form(self, request: Request) -> AsyncIterator[FormData]:
        """The form; files of over a megabyte are on disk for the duration of the block."""
        settings = self._settings
        with Held(self._memory, request) as held, self._given_back(held):
            bounded = _bounded(request, settings.max_body, settings.idle, settings.whole, held)
            in_base64 = -(-settings.limits.max_bytes // 3) * 4
            async with read_form(bounded, settings.max_files, in_base64, self._turns) as form:
                yield form

    @asynccontextmanager
    async def login(self, request: Request) -> AsyncIterator[FormData]:
        """A form of a few kB, accepted without a token."""
        with Held(self._memory, request) as held:
            short = _bounded(request, SHORT, self._settings.idle, self._settings.short, held)
            async with read_form(short, 0, SHORT, self._turns) as form:
                yield form

    async def video(self, request: Request) -> StoredVideo:
        """The body as a video, on disk until it is closed."""
        settings = self._settings
        file = tempfile.NamedTemporaryFile(prefix="plates-video-")  # noqa: SIM115  it is closed with what is returned
        video = StoredVideo(file, held := Held(self._disk, request))
        try:
            async for part in _parts(_bounded(request, settings.max_video, settings.idle, settings.whole_video, held)):
                await asyncio.to_thread(file.write, part)
            file.flush()
        except BaseException:
            video.close()
            raise
        return video

    async def _read(self, request: Request, max_bytes: int, seconds: float, held: Held) -> bytearray:
        body = bytearray()  # a list of parts would fragment memory that could then not be returned
        async for part in _parts(_bounded(request, max_bytes, self._settings.idle, seconds, held)):
            body += part
        return body

    @contextmanager
    def _given_back(self, held: Held) -> Iterator[None]:
        """Return free memory to the system a little after the block; the allocator would keep it."""
        try:
            yield
        finally:
            if held.count > _LARGE and _TRIM and not self._trimming:
                self._trimming = True
                asyncio.get_running_loop().call_later(_SOON, self._trim, _TRIM)

    def _trim(self, trim: Callable[[int], object]) -> None:
        self._trimming = False
        asyncio.get_running_loop().run_in_executor(None, trim, 0)


def _sender(request: Request) -> str:
    """The sender's name for rate limits; before a login, its address."""
    caller = getattr(request.state, "caller", None)
    return caller.name if caller else f"address {request.client.host if request.client else ''}"


async def _parts(request: Request) -> AsyncIterator[bytes]:
    try:
        async for part in request.stream():
            yield part
    except ClientDisconnect as error:
        raise InputError("body: the sender disconnected") from error


def _bounded(request: Request, max_bytes: int, idle: float, seconds: float, held: Held) -> Request:
    """Limit the body of a request to ``max_bytes`` bytes.

    It may not pause longer than ``idle`` seconds nor take more than ``seconds``; its bytes are charged to ``held``.
    """
    receive = request.receive
    received = 0
    declared = int(request.headers.get("content-length", "0"))  # httptools only accepts digits
    until = time.monotonic() + seconds

    async def next_part() -> Message:
        left = until - time.monotonic()
        try:
            return await asyncio.wait_for(receive(), min(idle, left))
        except TimeoutError as error:
            what = f"expected it within {seconds:g} s" if left < idle else f"no byte for {idle:g} s"
            raise DeadlineExceeded(f"body: {what}, got {received} bytes") from error

    async def count() -> Message:
        nonlocal received
        message = await next_part()
        part = len(message.get("body", b""))
        received += part
        try:
            if max(received, declared) > max_bytes:
                got = "more" if received > declared else declared
                raise InputTooLarge(f"body: expected at most {max_bytes} bytes, got {got}")
            held.take(part)
        except (InputTooLarge, ServerOverloaded):
            await _drain(next_part, message, max_bytes * _DRAINED - received, min(idle, seconds))
            raise
        return message

    return Request(request.scope, count)


async def _drain(receive: Receive, message: Message, max_bytes: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while message["type"] == "http.request" and message.get("more_body") and max_bytes > 0 and time.monotonic() < until:
        message = await receive()
        max_bytes -= len(message.get("body", b""))


def plain_name(name: str | None) -> str:
    """The last part of the sender's file name, as one line of printable characters."""
    last = (name or "").replace("\\", "/").rpartition("/")[2]
    return "".join(each for each in last if each.isprintable())[:_NAME] or "picture"
