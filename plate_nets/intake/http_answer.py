"""Answers of other people's servers; only the status counts."""

import asyncio
from contextlib import AbstractAsyncContextManager

import httpx

_SHORT = 4096
"""Bytes of a body that are read and discarded, so that its connection can serve the next request."""


async def status_of(request: AbstractAsyncContextManager[httpx.Response], timeout: float) -> int:
    """A request made by `httpx.AsyncClient.stream` -> the status of its answer.

    Long bodies are not read, and none is unpacked. ``timeout`` covers the whole answer, because httpx's own limits
    apply to each read: a server that sends byte by byte would never reach one.

    Raises:
        TimeoutError: there was no status within ``timeout`` seconds.
        httpx.HTTPError: the connection failed, or the answer is not HTTP.
    """
    status = None
    try:
        async with asyncio.timeout(timeout), request as answer:
            status = answer.status_code
            if status == httpx.codes.NO_CONTENT or int(answer.headers.get("content-length", _SHORT + 1)) <= _SHORT:
                async for _ in answer.aiter_raw():
                    pass
    except (TimeoutError, httpx.HTTPError):
        if status is None:
            raise
    return status
