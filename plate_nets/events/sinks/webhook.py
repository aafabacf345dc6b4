"""Sends events as signed HTTP requests, following the Standard Webhooks specification (standardwebhooks.com)."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import http
import time
from collections.abc import Sequence

import httpx

from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError, RecordRefused, SinkError
from plate_nets.common.http_address import http_address
from plate_nets.common.intake.http_answer import answer_of
from plate_nets.events.sinks.base import Record, Sink

TIMEOUT = 10.0
_SHOWN = 200
"""How many characters of the other side's error are shown."""
_REFUSALS = frozenset((httpx.codes.BAD_REQUEST, httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.UNPROCESSABLE_ENTITY))
"""Answers after which the same request would always be refused."""
_SECRET_PREFIX = "whsec_"


def signature(secret: bytes, key: str, timestamp: str, body: bytes) -> str:
    """The value of the header ``webhook-signature``: HMAC-SHA256 over ``key.timestamp.body``, in base64."""
    signed = b".".join((key.encode(), timestamp.encode(), body))
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


class WebhookSink(Sink):
    """POSTs one event per request; ``webhook-id`` is its idempotency key.

    Only the status of the answer counts, with ``Retry-After``: its text is shown nowhere, and long bodies are not read.
    Redirects are not followed, because another address may be another receiver; the error names it.

    Args:
        url: of the receiver; a user and password in it are sent as basic authentication.
        secret: signs the requests: any text, or ``whsec_`` followed by base64; None: unsigned.
        headers: sent with each request.
        timeout: seconds for a request, from connecting to the answer's status, however slowly it comes.
    """

    batch = 1

    def __init__(
        self,
        url: str,
        secret: str | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        address = http_address("webhook", url)
        self._secret = _key(secret) if secret else None
        self._url, self._proxy = address.url, address.proxy
        self._timeout = timeout
        self._client = httpx.AsyncClient(timeout=timeout, headers=headers, **address.options)
        self._loop = asyncio.Runner()  # httpx's limits apply to each read: a trickling server would never reach one

    def send(self, records: Sequence[Record]) -> None:
        (record,) = records
        body = record.document.encode()
        timestamp = str(int(time.time()))
        headers = {
            "content-type": "application/json",
            "webhook-id": record.key,
            "webhook-timestamp": timestamp,
        }
        if self._secret:
            headers["webhook-signature"] = signature(self._secret, record.key, timestamp, body)
        try:
            request = self._client.stream("POST", self._url, content=body, headers=headers)
            answer = self._loop.run(answer_of(request, self._timeout))
        except TimeoutError as error:
            raise SinkError(f"no answer within {self._timeout:g} s{self._by_proxy}") from error
        except httpx.HTTPError as error:
            raise SinkError(f"no answer: {_why(error)}{self._by_proxy}") from error
        if answer.status in _REFUSALS:
            raise RecordRefused(_answered(answer.status))
        if not httpx.codes.is_success(answer.status):
            moved = "" if answer.location is None else self._moved(answer.location)
            raise SinkError(f"{_answered(answer.status)}{moved}{self._by_proxy}", answer.retry_after)

    def close(self) -> None:
        self._loop.run(self._client.aclose())
        self._loop.close()

    @property
    def _by_proxy(self) -> str:
        return f", through {self._proxy}" if self._proxy else ""

    def _moved(self, location: str) -> str:
        """Where a redirect leads, for the message."""
        target = self._url.join(location)
        if target == self._url:
            return ", which leads to itself"
        if target.scheme not in ("http", "https"):
            return f", which leads to {_printable(str(target))}"
        return f", which leads to {_printable(str(target))}; if that is right, write it into the sink's url"


def _answered(status: int) -> str:
    words = [each.phrase for each in http.HTTPStatus if each == status]
    return " ".join(["answered", str(status), *words])


def _why(error: BaseException) -> str:
    """The system's message about a failed connection, or httpx's."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return _printable(str(error)) or type(error).__name__


def _printable(text: str) -> str:
    """Text of the other side, without credentials."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in hide_credentials(text)[:_SHOWN])


def _key(secret: str) -> bytes:
    if not secret.startswith(_SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except binascii.Error as error:
        raise InputError(f"webhook secret: expected base64 after {_SECRET_PREFIX}") from error
