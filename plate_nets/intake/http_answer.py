"""Answers of servers of others, of which the status alone counts."""

import asyncio
from contextlib import AbstractAsyncContextManager

import httpx

_SHORT = 4096
"""Bytes of a body that are read, and thrown away, so that its connection serves the next request too."""


async def status_of(asked: AbstractAsyncContextManager[httpx.Response], timeout: float) -> int:
    """A request as `httpx.AsyncClient.stream` makes it -> the status of its answer.

    A body that is not short is not read, and none is unpacked. httpx's own limits are for each read: who trickles would
    never meet one.

    Raises:
        TimeoutError: there was no status within ``timeout`` seconds.
        httpx.HTTPError: there is no connection, or what came is no answer.
    """
    status = None
    try:
        async with asyncio.timeout(timeout), asked as answer:
            status = answer.status_code
            if status == httpx.codes.NO_CONTENT or int(answer.headers.get("content-length", _SHORT + 1)) <= _SHORT:
                async for _ in answer.aiter_raw():
                    pass
    except (TimeoutError, httpx.HTTPError):
        if status is None:
            raise
    return status
