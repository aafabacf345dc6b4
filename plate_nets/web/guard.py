"""Wraps every request: identifies the sender, checks access, and adds headers that confine a browser to this site."""

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plate_nets.common.error_codes import NO_ACCESS
from plate_nets.common.errors import InputError, PlateError
from plate_nets.web import codeproject, plate_recognizer
from plate_nets.web.access import SAFE_METHODS, Access
from plate_nets.web.faults import Refused, answer_of, error_response, fault_of

OPEN = ("/login", "/health", "/static/")
"""Paths without a token: the login, the health check, and the package's static files."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """The application behind its checks; `request.state.caller` is the sender."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        # FastAPI's routes know no HEAD; uvicorn leaves out the body of its answer
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        request = Request({**_with_plain_cookies(scope), "method": method}, receive)
        try:
            self._check(request)
        except PlateError as error:
            answer = answer_error(request, error)
            if "transfer-encoding" in request.headers:
                answer.headers["Connection"] = "close"
            await answer(scope, receive, guarded)
        else:
            await self._app(request.scope, receive, guarded)

    def _check(self, request: Request) -> None:
        if len(request.headers.getlist("host")) > 1:  # RFC 9112, 3.2
            raise InputError("head: expected one Host, got more")
        self._access.check_host(request)
        if path_of(request).startswith(OPEN):
            return
        caller = self._access.caller(request)
        request.state.caller = caller
        if request.method not in SAFE_METHODS:
            self._access.check_site(request, caller)


def _with_plain_cookies(scope: Scope) -> Scope:
    """A request -> the same without quoted cookies, which are never ours.

    Before Python 3.11.10 and 3.12.6, the time for unquoting one grows with the square of its length.
    """
    plain = [
        (name, b";".join(each for each in value.split(b";") if b'"' not in each) if name == b"cookie" else value)
        for name, value in scope["headers"]
    ]
    return {**scope, "headers": plain}


def answer_error(request: Request, error: Exception) -> Response:
    """An exception -> the answer in the sender's format: a page, Plate Recognizer's, CodeProject.AI's, or ours."""
    if wants_page(request):
        if isinstance(error, Refused) and error.answer is NO_ACCESS:
            return RedirectResponse("/login", 303)
        if not path_of(request).startswith("/api/"):
            return PlainTextResponse(fault_of(error).message, int(answer_of(error).http))
    if plate_recognizer.is_own(path_of(request)):
        return plate_recognizer.error_response(error)
    if codeproject.is_own(path_of(request)):
        return codeproject.error_response(error)
    return error_response(error)


def path_of(request: Request) -> str:
    """The path that is routed. Starlette builds `request.url` from the header Host, older ones without checking it."""
    return str(request.scope["path"])


def wants_page(request: Request) -> bool:
    """Whether the sender is a browser asking for a page, rather than a program asking for data."""
    return request.method in SAFE_METHODS and "text/html" in request.headers.get("accept", "")
