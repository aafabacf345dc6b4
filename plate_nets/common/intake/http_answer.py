"""Answers of other people's servers; only the status counts, and for failures when and where to ask again."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

_SHORT = 4096
"""Bytes of a body that are read and discarded, so that its connection can serve the next request."""


_LONGEST_WAIT = 300.0
"""Seconds; a longer `Retry-After` counts as this."""


@dataclass(frozen=True)
class Answer:
    status: int
    retry_after: float | None
    """Seconds after which to ask again, at most `_LONGEST_WAIT`; None if it does not say."""
    location: str | None
    """Where it redirects to, as it says."""


async def answer_of(request: AbstractAsyncContextManager[httpx.Response], timeout: float) -> Answer:
    """A request made by `httpx.AsyncClient.stream` -> what counts of its answer.

    Long bodies are not read, and none is unpacked. ``timeout`` covers the whole answer, because httpx's own limits
    apply to each read: a server that sends byte by byte would never reach one.

    Raises:
        TimeoutError: there was no status within ``timeout`` seconds.
        httpx.HTTPError: the connection failed, or the answer is not HTTP.
    """
    found = None
    try:
        async with asyncio.timeout(timeout), request as answer:
            status, headers = answer.status_code, answer.headers
            found = Answer(status, _retry_after(headers), headers.get("location") if 300 <= status < 400 else None)
            if status == httpx.codes.NO_CONTENT or int(answer.headers.get("content-length", _SHORT + 1)) <= _SHORT:
                async for _ in answer.aiter_raw():
                    pass
    except (TimeoutError, httpx.HTTPError):
        if found is None:
            raise
    return found


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds, or a date; that is compared with the answer's own date, as the clock here may be wrong."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        seconds = float(text)
    else:
        later, now = _date(text), _date(headers.get("date", "")) or datetime.now(UTC)
        seconds = (later - now).total_seconds() if later else 0.0
    return min(seconds, _LONGEST_WAIT) if seconds > 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
