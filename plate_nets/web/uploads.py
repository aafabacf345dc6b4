"""What is sent -> pictures: counted while it comes, so that nothing over a bound is ever kept."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from plate_nets.errors import DeadlineExceeded, InputError, InputTooLarge
from plate_nets.web.settings import WebSettings

_NAME = 255
_DRAINED = 8
"""Times the bound that is still read and thrown away, so that a browser hears why instead of a broken connection."""


@dataclass(frozen=True)
class Upload:
    """A picture as it was sent, and the name that its sender gave it, which is text and never a path."""

    name: str
    encoded: bytes


def bounded(request: Request, most: int, idle: float) -> Request:
    """The request with a body of at most ``most`` bytes, which may not pause for longer than ``idle`` seconds.

    Reading the body raises InputTooLarge or DeadlineExceeded.
    """
    receive = request.receive
    came = 0

    async def next_part() -> Message:
        try:
            return await asyncio.wait_for(receive(), idle)
        except TimeoutError as error:
            raise DeadlineExceeded(f"body: no byte for {idle:g} s after {came} bytes") from error

    async def count() -> Message:
        nonlocal came
        message = await next_part()
        came += len(message.get("body", b""))
        declared = int(request.headers.get("content-length", "0"))  # uvicorn lets nothing but digits through
        if max(came, declared) > most:
            await _drain(next_part, message, most * _DRAINED - came, idle)
            raise InputTooLarge(f"body: expected at most {most} bytes, got {'more' if came > declared else declared}")
        return message

    return Request(request.scope, count)


async def _drain(receive: Receive, message: Message, most: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while message["type"] == "http.request" and message.get("more_body") and most > 0 and time.monotonic() < until:
        message = await receive()
        most -= len(message.get("body", b""))


@asynccontextmanager
async def form_of(request: Request, settings: WebSettings) -> AsyncIterator[FormData]:
    """The form that was sent, files of over a megabyte on disk for as long as the block lasts.

    Raises:
        InputTooLarge: too many bytes or files.
        InputError: it is no form.
        DeadlineExceeded: its sender paused for too long.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("multipart/form-data", "application/x-www-form-urlencoded"):
        raise InputError(f"body: expected multipart/form-data with pictures, got {kind[:80] or 'no content type'}")
    try:
        async with bounded(request, settings.max_body, settings.idle).form(
            max_files=settings.max_files, max_fields=settings.max_files
        ) as form:
            yield form
    except MultiPartException as error:
        raise _form_error(error.message) from error
    except HTTPException as error:  # what starlette makes of the former
        raise _form_error(str(error.detail)) from error
    except ClientDisconnect as error:
        raise InputError("body: its sender went away") from error


def _form_error(said: str) -> InputError:
    return (
        InputTooLarge(f"body: {said}")
        if said.startswith(("Too many", "Part exceeded"))
        else InputError(f"body: {said}")
    )


async def files_of(form: FormData, settings: WebSettings) -> list[Upload]:
    """The files of a form, in order.

    Raises:
        InputTooLarge: one has more bytes than a picture may have.
    """
    return [
        Upload(plain_name(each.filename), await read_file(each, settings.limits.max_bytes))
        for _, each in form.multi_items()
        if isinstance(each, UploadFile)
    ]


async def read_file(file: UploadFile, most: int) -> bytes:
    """The bytes of a file; InputTooLarge where there are more than ``most``, found before they are in memory."""
    if file.size is not None and file.size > most:
        raise InputTooLarge(f"{plain_name(file.filename)}: expected at most {most} bytes, got {file.size}")
    return await file.read()


def plain_name(name: str | None) -> str:
    """What a sender calls a file -> its last part, one line of printable characters."""
    last = (name or "").replace("\\", "/").rpartition("/")[2]
    return "".join(each for each in last if each.isprintable())[:_NAME] or "picture"
