"""Bodies of requests, part by part."""

import asyncio
import time
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

import pytest
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.types import Message, Receive

from plate_nets.common.errors import InputError, InputTooLarge, ServerOverloaded
from plate_nets.web.forms import in_slices, read_form
from plate_nets.web.settings import WebSettings
from plate_nets.web.uploads import Uploads

MEGABYTE = 1 << 20


def test_all_bodies_together_are_limited() -> None:
    """One sender gets at most half. What it holds is free again when it is gone."""
    uploads = Uploads(WebSettings(max_held=4 * MEGABYTE))

    async def take(receive: Receive) -> int:
        scope = {"type": "http", "headers": [], "client": ("127.0.0.1", 1)}
        async with uploads.picture(Request(scope, receive)) as upload:
            return len(upload.encoded)

    async def ask() -> None:
        parts = [{"type": "http.request", "body": bytes(3 * MEGABYTE // 2), "more_body": True}]
        counted, gone = asyncio.Event(), asyncio.Event()

        async def unfinished() -> Message:
            if parts:
                return parts.pop()
            counted.set()  # the first part, because a second one is requested
            await gone.wait()
            return {"type": "http.disconnect"}

        async def whole() -> Message:
            return {"type": "http.request", "body": bytes(MEGABYTE), "more_body": False}

        holding = asyncio.create_task(take(unfinished))
        await counted.wait()
        with pytest.raises(ServerOverloaded, match="too many requests are being sent"):
            await take(whole)
        gone.set()
        with pytest.raises(InputError, match="the sender disconnected"):
            await holding
        assert await take(whole) == MEGABYTE

    asyncio.run(ask())


def messages(*parts: bytes) -> Iterator[Message]:
    for part in parts:
        yield {"type": "http.request", "body": part, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


def receiver(each: Iterator[Message]) -> Receive:
    async def receive() -> Message:
        return next(each)

    return receive


URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


def form_of(kind: str, text: bytes, size: int = 1 << 20) -> FormData:
    """A form that comes in parts of this size."""
    parts = [text[at : at + size] for at in range(0, len(text), size)]

    async def read() -> FormData:
        scope = {"type": "http", "headers": [(b"content-type", kind.encode())]}
        async with read_form(Request(scope, receiver(messages(*parts))), 2, 2000, asyncio.Lock()) as form:
            return form

    return asyncio.run(read())


FIELDS = [("upload", "é+ %2B%"), ("a=&b", "100 % sure"), ("", "и так"), ("empty", "")]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_form_is_the_same_in_parts_of_any_size(size: int) -> None:
    """Also if an escape, or a character of several bytes, is cut."""
    for text in (urlencode(FIELDS), "a&&&&&b=%&c=%4&d=%zz&e=%e2%82&upload=%ff%c3%a9&"):
        form = form_of(URLENCODED, text.encode(), size)
        assert form.multi_items() == parse_qsl(text, keep_blank_values=True)


@pytest.mark.parametrize("text", ["&".join("a" * 9), "upload=" + "a" * 2001, "upload=" + "%41" * 2001, "b" * 2001])
def test_a_form_with_too_many_or_too_long_fields_is_refused(text: str) -> None:
    with pytest.raises(InputTooLarge, match="body: "):
        form_of(URLENCODED, text.encode())


PART = b'--x\r\nContent-Disposition: form-data; name="upload"\r\n\r\n%b\r\n--x'


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("after", [b" " * 80 + b"--\r\n", b"x", b"-a", b"\n", b"\ra"])
def test_a_line_that_goes_on_after_its_boundary_is_refused(size: int, after: bytes) -> None:
    with pytest.raises(InputError, match="to end after its boundary and fewer than 80 blanks"):
        form_of(MULTIPART, PART % b"a" + after + b"a" * 100, size)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blanks_after_a_boundary_and_what_resembles_one_are_allowed(size: int) -> None:
    text = PART % b"a--xx\r\n--y" + b" " * 79 + PART.removeprefix(b"--x") % b"b" + b"--\r\n"
    assert form_of(MULTIPART, text, size).getlist("upload") == ["a--xx\r\n--y", "b"]


def test_blanks_in_a_field_are_kept() -> None:
    blanks = "--y" + " " * 1000
    assert form_of(MULTIPART, PART % blanks.encode() + b"--\r\n")["upload"] == blanks


def test_a_field_is_as_long_as_its_text() -> None:
    """Clients escape some characters of base64."""
    assert form_of(URLENCODED, b"upload=" + b"%2B" * 2000)["upload"] == "+" * 2000


def test_large_forms_take_turns_with_everything_else() -> None:
    """However many are sent: between two slices of any of them, everything else runs."""

    async def take() -> tuple[int, int]:
        turns, slices, elses = asyncio.Lock(), 0, 0
        ended = asyncio.Event()

        async def parse() -> None:
            nonlocal slices
            receive = in_slices(receiver(messages(bytes(MEGABYTE))), turns)
            body = bytearray()
            while (message := await receive())["more_body"]:
                body += message["body"]
                slices += 1
            assert body == bytes(MEGABYTE)

        async def everything_else() -> None:
            nonlocal elses
            while not ended.is_set():
                elses += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(everything_else())
        await asyncio.gather(*(parse() for _ in range(8)))
        ended.set()
        await other
        return slices, elses

    slices, elses = asyncio.run(take())
    assert elses >= slices > 8


def test_slices_that_take_long_are_short() -> None:
    async def sizes() -> list[int]:
        receive, found = in_slices(receiver(messages(bytes(MEGABYTE // 32))), asyncio.Lock()), []
        while (message := await receive())["more_body"]:
            found.append(len(message["body"]))
            time.sleep(0.001)  # what parsing it takes
        return found

    assert max(asyncio.run(sizes())[1:]) <= 1024
