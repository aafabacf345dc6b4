"""Who may use the page and the API: tokens, sessions of browsers, tokens of the page, and how often.

A browser that another site leads here sends its cookies, but that site can neither read our page nor set our header.
So a POST that comes from a browser needs the page's token. Another site can make none that carries a bearer token or
comes from no browser.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from plate_nets.answers import NO_ACCESS, NOT_ALLOWED, TOO_MANY
from plate_nets.web.faults import Refused
from plate_nets.web.settings import LOOPBACK_NAMES, WebSettings

SESSION_COOKIE = "plates_session"
PAGE_HEADER = "x-page-token"
SESSION_SECONDS = 7 * 86_400
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_FROM_BROWSER = ("origin", "referer", "cookie", "sec-fetch-site")
_REMEMBERED = 10_000
_LOGINS = 5
"""Wrong tokens that an address may try at once; then one a second."""


class Rate:
    """A bucket of ``burst`` for each name, filled again by ``rate`` a second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What each has left, and when that was so; the one asked last stands last."""

    def spend(self, name: str, count: int = 1) -> None:
        """Take ``count`` out of a bucket. Raises Refused where there are not as many left."""
        now = self._clock()
        left, since = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - since) * self._rate)
        enough = left >= count
        self._left[name] = (left - count if enough else left, now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        if not enough:
            wait = ceil((count - left) / self._rate)
            raise Refused(TOO_MANY, f"expected at most {self._rate:g} a second, ask again in {wait} s", wait)


@dataclass(frozen=True)
class Caller:
    """Who asks: its name for the rates, which is no secret, and its session's, empty where it has none."""

    name: str
    session: str = ""


class Access:
    """Decides on each request by the settings; the secrets of its sessions end with it."""

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        self.rate = Rate(settings.rate, settings.burst)
        self._logins = Rate(1, _LOGINS)
        self._secret = secrets.token_bytes(32)
        self._tokens = {_digest(token): f"token {number}" for number, token in enumerate(settings.tokens, 1)}

    def check_host(self, connection: HTTPConnection) -> None:
        """Raises Refused for a name that is not ours: a foreign one that leads to this address (DNS rebinding)."""
        name = connection.headers.get("host", "")
        host = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
        known = (*LOOPBACK_NAMES, *self.settings.hosts)
        if (self.settings.hosts or not self.settings.tokens) and host.strip("[]").lower() not in known:
            raise Refused(NOT_ALLOWED, "host: expected a name of this server; `plates web --host NAME` adds one")

    def caller(self, connection: HTTPConnection) -> Caller:
        """Who asks. Raises Refused where a token is wanted and missing or wrong."""
        address = connection.client.host if connection.client else ""
        bearer = _bearer(connection.headers)
        session = connection.cookies.get(SESSION_COOKIE, "")
        if not self._tokens:
            return Caller(address)
        if bearer:
            name = self._tokens.get(_digest(bearer))
            if name is None:
                self._logins.spend(address)
                raise Refused(NO_ACCESS, "token: it is wrong")
            return Caller(name)
        name = self._session_name(session)
        if name is None:
            raise Refused(NO_ACCESS, "token: expected `Authorization: Bearer TOKEN`, or a login")
        return Caller(name, session)

    def check_site(self, connection: HTTPConnection, caller: Caller, given: str | None = None) -> None:
        """Raises Refused for a POST that another site may have led a browser to. ``given``: a form's own page token."""
        headers = connection.headers
        if _bearer(headers) or not any(name in headers for name in _FROM_BROWSER):
            return
        token = headers.get(PAGE_HEADER, "") if given is None else given
        if not hmac.compare_digest(token.encode(), self.page_token(caller).encode()):
            raise Refused(NOT_ALLOWED, "page token: it is missing or of another session; load the page again")

    def page_token(self, caller: Caller) -> str:
        """What a page of this session sends with each POST."""
        return self._sign(f"page {caller.session}")

    def check_login(self, connection: HTTPConnection) -> None:
        """Raises Refused where somebody at this address tried too often; to be asked before a body is read."""
        self._logins.spend(connection.client.host if connection.client else "")

    def log_in(self, token: str) -> str:
        """A token -> the value of a session's cookie. Raises Refused where it is wrong."""
        digest = _digest(token)
        if digest not in self._tokens:
            raise Refused(NO_ACCESS, "token: it is wrong")
        facts = f"{int(time.time()) + SESSION_SECONDS}.{secrets.token_urlsafe(9)}.{digest[:16]}"
        return f"{facts}.{self._sign(facts)}"

    def _session_name(self, session: str) -> str | None:
        facts, _, signature = session.rpartition(".")
        if not facts or not hmac.compare_digest(signature.encode(), self._sign(facts).encode()):
            return None
        ends, _, digest = facts.split(".")
        return _of(digest, self._tokens.items()) if int(ends) > time.time() else None

    def _sign(self, facts: str) -> str:
        return hmac.new(self._secret, facts.encode(), hashlib.sha256).hexdigest()


def _of(digest: str, tokens: Iterable[tuple[str, str]]) -> str | None:
    return next((name for whole, name in tokens if whole.startswith(digest)), None)


def _bearer(headers: Headers) -> str:
    """The token of a program: `Bearer`, or `Token` as Plate Recognizer's clients write it."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() in ("bearer", "token") else ""


def _digest(token: str) -> str:
    """Tokens are compared by their hashes, so that the time it takes tells nothing of them."""
    return hashlib.sha256(token.encode()).hexdigest()
