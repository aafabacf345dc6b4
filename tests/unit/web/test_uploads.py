"""Bodies of requests, part by part."""

import asyncio

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive

from plate_nets.errors import InputError, ServerOverloaded
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
