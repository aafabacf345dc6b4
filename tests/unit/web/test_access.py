"""Rates and tokens without a server."""

import asyncio

import pytest
from starlette.datastructures import URL
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from plate_nets.common.error_codes import NO_ACCESS, NOT_ALLOWED, TOO_MANY, ErrorAnswer
from plate_nets.common.errors import InputError
from plate_nets.web.access import Access, Rate
from plate_nets.web.faults import Refused, fault_of
from plate_nets.web.guard import Guard
from plate_nets.web.settings import WebSettings, networks_of
from plate_nets.web.uploads import plain_name


async def nothing() -> Message:
    return {"type": "http.request"}


def test_a_rate_limit_refills_and_is_separate_for_each_name() -> None:
    now = 0.0
    rate = Rate(2.0, 3, lambda: now)
    rate.spend("one", 3)
    with pytest.raises(Refused) as refused:
        rate.spend("one", 2)
    assert refused.value.retry_after == 1
    rate.spend("other", 3)
    now = 1.0
    rate.spend("one", 2)


TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize("token", ["short", "has spaces in it ok", "ключ-из-букв-кириллицы"])
def test_an_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(InputError, match="token"):
        WebSettings(tokens=(token,))


@pytest.mark.parametrize(
    ("name", "plain"),
    [("../../a.jpg", "a.jpg"), ("C:\\photos\\b.png", "b.png"), ("a\r\nb", "ab"), ("", "picture"), (None, "picture")],
)
def test_a_name_is_one_line_and_no_path(name: str | None, plain: str) -> None:
    assert plain_name(name) == plain


def test_an_internal_error_reveals_no_details() -> None:
    assert "secret" not in fault_of(RuntimeError("secret")).message


def connection(sender: str, **headers: str) -> HTTPConnection:
    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection({"type": "http", "path": "/", "headers": named, "client": (sender, 1)})


def test_wrong_tokens_are_limited_and_a_right_one_is_always_accepted() -> None:
    """Behind a proxy, they may come from the same address."""
    access = Access(WebSettings(tokens=(TOKEN,)))
    proxy = connection("203.0.113.7", authorization="Bearer wrong")
    answers = []
    for ask in (lambda: access.log_in(proxy, "wrong"), lambda: access.caller(proxy)) * 3:
        with pytest.raises(Refused) as refused:
            ask()
        answers.append(refused.value.answer)
    assert answers == [NO_ACCESS] * 5 + [TOO_MANY]
    assert access.log_in(proxy, TOKEN)


@pytest.mark.parametrize(
    ("sender", "headers", "answer"),
    [
        ("192.168.1.7", {"host": "192.168.1.2:8080"}, None),
        ("::ffff:192.168.1.7", {"host": "[fd00::2]:8080"}, None),
        ("fd00::7", {"host": "[fd00::2]"}, None),
        ("192.168.1.7", {"host": "nvr:8080"}, None),
        ("192.168.1.7", {"host": "localhost"}, None),
        ("192.169.1.7", {"host": "nvr"}, NO_ACCESS),
        ("192.168.1.7", {"host": "other-site.example"}, NOT_ALLOWED),
        ("192.168.1.7", {"host": "192.168.1.2", "x-forwarded-for": "203.0.113.7"}, NO_ACCESS),
        ("192.168.1.7", {"host": "192.168.1.2", "forwarded": "for=192.168.1.7"}, NO_ACCESS),
        ("192.168.1.7", {"host": "192.168.1.2", "authorization": "Bearer wrong"}, NO_ACCESS),
        ("", {"host": "192.168.1.2"}, NO_ACCESS),
    ],
)
def test_a_network_without_a_token(sender: str, headers: dict[str, str], answer: ErrorAnswer | None) -> None:
    """Who connects counts, not what a proxy or a client says; the name of another site is no host of ours."""
    trusted = networks_of(["10.0.0.0/8", "192.168.0.0/16", "fd00::/8"])
    access = Access(WebSettings(tokens=(TOKEN,), hosts=("nvr",), trusted=trusted))
    asking = connection(sender, **headers)
    if answer is None:
        assert access.caller(asking).name == sender
        return
    with pytest.raises(Refused) as refused:
        access.caller(asking)
    assert refused.value.answer is answer


def test_the_host_header_does_not_open_a_path_that_requires_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def built_from_the_header(connection: HTTPConnection) -> URL:
        return URL(f"http://{connection.headers['host']}{connection.scope['path']}")

    async def behind(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("this request has no token")

    async def send(message: Message) -> None:
        sent.append(message)

    sent: list[Message] = []
    monkeypatch.setattr(HTTPConnection, "url", property(built_from_the_header))
    scope = {"type": "http", "method": "GET", "path": "/metrics", "headers": [(b"host", b"x/login?")]}
    asyncio.run(Guard(behind, Access(WebSettings(tokens=(TOKEN,))))(scope, nothing, send))
    assert sent[0]["status"] == 401


def test_no_cookie_that_must_be_unquoted_reaches_the_application() -> None:
    """Unquoting 16 kB takes Python 3.11.7 0.4 s, and 64 kB 6 s."""
    seen: list[dict[str, str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(HTTPConnection(scope).cookies)

    async def send(message: Message) -> None:
        pass

    asking = connection("127.0.0.1", host="localhost", cookie='plates_language=ru; a="' + "\\a" * 9 + '"; b = 1')
    scope = {**asking.scope, "method": "GET", "query_string": b""}
    asyncio.run(Guard(app, Access(WebSettings()))(scope, nothing, send))
    assert seen == [{"plates_language": "ru", "b": "1"}]
