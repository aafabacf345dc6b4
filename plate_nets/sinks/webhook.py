"""Events as signed HTTP requests, after the Standard Webhooks specification (standardwebhooks.com)."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Sequence

import httpx

from plate_nets.credentials import hide_credentials
from plate_nets.errors import InputError, RecordRefused, SinkError
from plate_nets.sinks.base import Record, Sink

TIMEOUT = 10.0
_REFUSALS = frozenset((httpx.codes.BAD_REQUEST, httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.UNPROCESSABLE_ENTITY))
"""Answers after which the same request would be refused for ever."""
_SECRET_PREFIX = "whsec_"


def signature(secret: bytes, key: str, timestamp: str, body: bytes) -> str:
    """What the header ``webhook-signature`` holds: HMAC-SHA256 over ``key.timestamp.body``, in base64."""
    signed = b".".join((key.encode(), timestamp.encode(), body))
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


class WebhookSink(Sink):
    """POSTs one event a request; ``webhook-id`` is its idempotency key. Redirects are not followed.

    Args:
        url: of the receiver; a user and password in it are sent as basic authentication.
        secret: signs the requests: any text, or ``whsec_`` with base64 after it; None: unsigned.
        headers: sent with each request.
    """

    batch = 1

    def __init__(self, url: str, secret: str | None = None, headers: dict[str, str] | None = None) -> None:
        try:
            address = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise InputError(f"webhook {hide_credentials(url)}: {error}") from error
        if address.scheme not in ("http", "https") or not address.host:
            raise InputError(f"webhook: expected an http:// or https:// URL, got {hide_credentials(url)}")
        self._secret = _key(secret) if secret else None
        auth = (address.username, address.password) if address.userinfo else None
        # In the URL they would be in httpx's log
        self._url = address.copy_with(username=None, password=None)
        self._client = httpx.Client(timeout=TIMEOUT, headers=headers, auth=auth)

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
            answer = self._client.post(self._url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise SinkError(f"no answer: {hide_credentials(str(error)) or type(error).__name__}") from error
        if answer.status_code in _REFUSALS:
            raise RecordRefused(f"answered {answer.status_code} {answer.reason_phrase}")
        if not answer.is_success:
            raise SinkError(f"answered {answer.status_code} {answer.reason_phrase}")

    def close(self) -> None:
        self._client.close()


def _key(secret: str) -> bytes:
    if not secret.startswith(_SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except binascii.Error as error:
        raise InputError(f"webhook secret: expected base64 after {_SECRET_PREFIX}") from error
