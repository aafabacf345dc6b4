"""Controls access to the page and the API: tokens, browser sessions, page tokens, and rates.

A browser that another site sends here includes its cookies, but that site can neither read our page nor set our header.
So a POST from a browser needs the page's token. Another site can neither add a bearer token nor hide that the request
comes from a browser.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import ceil
from typing import NoReturn

from starlette.requests import HTTPConnection

from plate_nets.common.error_codes import NO_ACCESS, NOT_ALLOWED, TOO_MANY
from plate_nets.web.faults import Refused
from plate_nets.web.settings import LOOPBACK_NAMES, WebSettings

SESSION_COOKIE = "plates_session"
PAGE_HEADER = "x-page-token"
SESSION_SECONDS = 7 * 86_400
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_FORWARDED = ("x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via")
"""Headers of a request that a proxy passed on: the proxy's address says nothing about the sender."""
_FROM_BROWSER = ("origin", "referer", "cookie", "sec-fetch-site")
_ADD_NAME = "a name of this server; add one with `plates web --host NAME`"
REPORTS = "/in/"
"""The paths of cameras' posts."""
_REMEMBERED = 10_000
_LOGINS = 5
"""Wrong tokens of an address that are answered as such in a row; after that one per second."""


class Rate:
    """A token bucket of size ``burst`` for each name, refilled at ``rate`` per second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What each bucket had left, and when; most recently used last."""

    def spend(self, name: str, count: int = 1) -> None:
        """Take ``count`` out of a bucket. Raise Refused if fewer are left."""
        now = self._clock()
        left, since = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - since) * self._rate)
        enough = left >= count
        self._left[name] = (left - count if enough else left, now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        if not enough:
            wait = ceil((count - left) / self._rate)
            raise Refused(TOO_MANY, f"expected at most {self._rate:g} per second; try again in {wait} s", wait)


@dataclass(frozen=True)
class Caller:
    """The sender of a request: its name for rate limits, which is no secret, and its session, empty without one."""

    name: str
    session: str = ""


class Access:
    """Allows or refuses each request, by the settings. The secrets of its sessions are in memory and end with it."""

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        self.rate = Rate(settings.rate, settings.burst)
        self._logins = Rate(1, _LOGINS)
        self._secret = secrets.token_bytes(32)
        self._tokens = {_digest(token): f"token {number}" for number, token in enumerate(settings.tokens, 1)}

    def check_host(self, connection: HTTPConnection) -> None:
        """Raise Refused for a foreign host name that resolves to this address (DNS rebinding)."""
        if (self.settings.hosts or not self.settings.tokens) and not self._knows(_host(connection)):
            raise Refused(NOT_ALLOWED, f"host: expected {_ADD_NAME}")

    def caller(self, connection: HTTPConnection) -> Caller:
        """The sender of a request. Raises Refused if a required token is missing or wrong."""
        address = _address(connection)
        if not self._tokens:
            return Caller(address)
        if bearer := _bearer(connection):
            return Caller(self._tokens.get(_digest(bearer)) or self._refuse(address))
        session = connection.cookies.get(SESSION_COOKIE, "")
        if name := self._session_name(session):
            return Caller(name, session)
        if self._trusts(connection):
            return Caller(address)
        raise Refused(NO_ACCESS, "token: expected `Authorization: Bearer TOKEN`, or a login")

    def _knows(self, host: str) -> bool:
        return host in (*LOOPBACK_NAMES, *self.settings.hosts)

    def _trusts(self, connection: HTTPConnection) -> bool:
        """Whether the sender is in a network that needs no token.

        A name that is not ours may be another site's that resolves to this address: its page would run in a browser of
        the network, and read everything here. No other site has our address as its name.
        """
        if any(name in connection.headers for name in _FORWARDED):
            return False
        sender, host = _ip(_address(connection)), _host(connection)
        inside = sender is not None and any(sender in network for network in self.settings.trusted)
        if inside and not self._knows(host) and _ip(host) is None:
            raise Refused(NOT_ALLOWED, f"host: expected an address or {_ADD_NAME}")
        return inside

    def check_site(self, connection: HTTPConnection, caller: Caller, form_token: str | None = None) -> None:
        """Raise Refused for a POST that another site may have caused. ``form_token``: the page token from a form."""
        headers = connection.headers
        if _bearer(connection) or not any(name in headers for name in _FROM_BROWSER):
            return
        token = headers.get(PAGE_HEADER, "") if form_token is None else form_token
        if not hmac.compare_digest(token.encode(), self.page_token(caller).encode()):
            raise Refused(NOT_ALLOWED, "page token: missing, or from another session; reload the page")

    def page_token(self, caller: Caller) -> str:
        """The token that a page of this session sends with each POST."""
        return self._sign(f"page {caller.session}")

    def log_in(self, connection: HTTPConnection, token: str) -> str:
        """A token -> the cookie value of a new session. Raises Refused if the token is wrong."""
        digest = _digest(token)
        if digest not in self._tokens:
            self._refuse(_address(connection))
        facts = f"{int(time.time()) + SESSION_SECONDS}.{secrets.token_urlsafe(9)}.{digest[:16]}"
        return f"{facts}.{self._sign(facts)}"

    def _refuse(self, address: str) -> NoReturn:
        """Refuse a wrong token. A right one is always accepted, as everyone behind a proxy may have one address."""
        self._logins.spend(address)
        raise Refused(NO_ACCESS, "token: this server does not accept it")

    def _session_name(self, session: str) -> str | None:
        facts, _, signature = session.rpartition(".")
        if not facts or not hmac.compare_digest(signature.encode(), self._sign(facts).encode()):
            return None
        ends, _, digest = facts.split(".")
        if int(ends) <= time.time():
            return None
        return next((name for whole, name in self._tokens.items() if whole.startswith(digest)), None)

    def _sign(self, facts: str) -> str:
        return hmac.new(self._secret, facts.encode(), hashlib.sha256).hexdigest()


def _address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""


def _host(connection: HTTPConnection) -> str:
    """The host that the sender asked, without its port."""
    name = connection.headers.get("host", "")
    host = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
    return host.strip("[]").lower()


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    """An address as text -> itself, an IPv4 one within IPv6 as IPv4; None: it is a name."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (isinstance(found, IPv6Address) and found.ipv4_mapped) or found


def _bearer(connection: HTTPConnection) -> str:
    """A program's token: `Bearer`, or `Token` as Plate Recognizer's clients write it.

    Cameras that post plates have a field for an address, but none for a header: they have it in the address.
    """
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() in ("bearer", "token"):
        return token.strip()
    return connection.query_params.get("token", "") if connection.scope["path"].startswith(REPORTS) else ""


def _digest(token: str) -> str:
    """Tokens are compared by hash, so that timing reveals nothing about them."""
    return hashlib.sha256(token.encode()).hexdigest()
