"""Reads forms from bodies that are limited already, at no more cost than other bodies of their size.

They are parsed in slices, one between two turns of everything else, in UTF-8 alone.
"""

import asyncio
import re
import time
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote_to_bytes

from python_multipart.multipart import QuerystringParser, parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from plate_nets.common.errors import InputError, InputTooLarge

_FIELDS = 8
_SLICES = (1 << 10, 256 << 10)
"""The fewest and the most bytes of a form that are parsed at once; in between, others have their turn."""
_TURN = 0.5e-3
"""Seconds that a slice should take at most: a thread that checks the server's health waits that long for the
interpreter each time that it has waited for something else."""
_LONGEST = 0.05
"""Seconds between two slices at most: writing a file may take any time."""
_TYPE = 512
"""Characters of the type of a form, of which a boundary has at most 256."""
_PADDING = 80
"""Blanks after a boundary."""
_SEPARATORS = re.compile(rb"&{2,}")
_MULTIPART = b"multipart/form-data"
_URL_ENCODED = b"application/x-www-form-urlencoded"
_UTF_8 = ("utf-8", "utf8")


@asynccontextmanager
async def read_form(request: Request, files: int, field: int, turns: asyncio.Lock) -> AsyncIterator[FormData]:
    """The form of a request: at most this many files, and fields of at most ``field`` bytes, in UTF-8.

    A form of another charset is refused before its body is read: some take a time that grows with its square.
    """
    kind, parameters = parse_options_header(request.headers.get("content-type", "")[:_TYPE])
    expected = "multipart/form-data with pictures" if files else "a form"
    if kind not in (_MULTIPART, _URL_ENCODED):
        raise InputError(f"body: expected {expected}, got {kind[:80].decode('latin-1') or 'no content type'}")
    if len(request.headers["content-type"]) > _TYPE:
        raise InputError(f"body: expected {expected} with a type of at most {_TYPE} characters, got more")
    charset = parameters.get(b"charset", b"utf-8").decode("latin-1").lower()
    if charset not in _UTF_8:
        raise InputError(f"body: expected a form in UTF-8, got one in {charset[:80]}")
    boundary = parameters.get(b"boundary", b"")
    sliced = Request(request.scope, in_slices(_delimited(request.receive, boundary), turns))
    try:
        if kind == _URL_ENCODED:
            yield await _read_fields(sliced, max(files, _FIELDS), field)
        else:
            async with sliced.form(max_files=files, max_fields=max(files, _FIELDS), max_part_size=field) as form:
                yield form
    except MultiPartException as error:
        raise _form_error(error.message) from error
    except HTTPException as error:  # how starlette reports a limit
        raise _form_error(str(error.detail)) from error
    except ClientDisconnect as error:
        raise InputError("body: the sender disconnected") from error


def in_slices(receive: Receive, turns: asyncio.Lock) -> Receive:
    """A body in messages of any size -> in messages that take about `_TURN` seconds each, within `_SLICES` bytes.

    Of all bodies with the same ``turns``, one gets a slice each time that the event loop has run everything else; after
    a slice that took longer, the others have as long.
    """
    message: Message = {}
    at, (least, most) = 0, _SLICES
    size, given = least, time.perf_counter()

    async def next_slice() -> Message:
        nonlocal message, at, size, given
        took = time.perf_counter() - given
        size = min(size * 2, most) if took < _TURN / 2 else max(size // 2, least)
        if at >= len(message.get("body", b"")):
            message, at = await receive(), 0
        async with turns:
            await asyncio.sleep(min(took, _LONGEST) if took > _TURN else 0)
        body = message.get("body", b"")
        part, at = body[at : at + size], at + size
        given = time.perf_counter()
        return {**message, "body": part, "more_body": message.get("more_body", False) or at < len(body)}

    return next_slice


def _delimited(receive: Receive, boundary: bytes) -> Receive:
    """Raise InputError for a line that begins with the boundary and goes on, which RFC 2046 forbids.

    The parser would take each byte of such a line by itself, and each of many blanks, which the RFC allows.
    """
    if not boundary:
        return receive
    end = rb"--|[ \t]{0,%d}\r\n" % (_PADDING - 1)
    longer = re.compile(rb"\r\n--%b(?!%b)(?=[\s\S]{%d})" % (re.escape(boundary), end, _PADDING + 1))
    before = b"\r\n"

    async def checked() -> Message:
        nonlocal before
        message = await receive()
        window = before + message.get("body", b"")
        if longer.search(window):
            raise InputError(f"body: expected a line to end after its boundary and fewer than {_PADDING} blanks")
        before = window[-_TYPE - _PADDING :]
        return message

    return checked


async def _read_fields(request: Request, most: int, longest: int) -> FormData:
    """A URL-encoded form -> its fields, decoded as they come.

    Starlette decodes each at once, which takes 30 times its memory, and a second for some megabytes.
    """
    found: list[tuple[str, str | UploadFile]] = []
    name, value = _Unquoted(longest), _Unquoted(longest)

    def begin() -> None:
        nonlocal name, value
        name, value = _Unquoted(longest), _Unquoted(longest)

    def end() -> None:
        if len(found) == most:
            raise InputTooLarge(f"body: expected at most {most} fields, got more")
        found.append((name.text(), value.text()))

    parser = QuerystringParser(
        {
            "on_field_start": begin,
            "on_field_name": lambda data, start, end: name.add(data[start:end]),
            "on_field_data": lambda data, start, end: value.add(data[start:end]),
            "on_field_end": end,
        }
    )
    async for part in request.stream():
        parser.write(_SEPARATORS.sub(b"&", part))  # the parser takes each of them by itself
    parser.finalize()
    return FormData(found)


class _Unquoted:
    """A text from its percent-encoded bytes, which come in parts."""

    def __init__(self, longest: int) -> None:
        self._left = longest
        self._rest = b""
        """The beginning of an escape whose end is in the next part."""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._texts: list[str] = []

    def add(self, part: bytes) -> None:
        """Decode a part. Raise InputTooLarge for too many bytes."""
        part = self._rest + part
        cut = part.find(b"%", max(0, len(part) - 2))
        whole, self._rest = (part, b"") if cut < 0 else (part[:cut], part[cut:])
        plain = unquote_to_bytes(whole.replace(b"+", b" "))
        self._left -= len(plain)
        if self._left < 0:
            raise InputTooLarge("body: a field has too many bytes")
        self._texts.append(self._decoder.decode(plain))

    def text(self) -> str:
        return "".join(self._texts) + self._decoder.decode(self._rest, final=True)


def _form_error(message: str) -> InputError:
    too_large = message.startswith(("Too many", "Part exceeded", "Field exceeded"))
    return (InputTooLarge if too_large else InputError)(f"body: {message}")
