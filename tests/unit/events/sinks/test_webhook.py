"""The webhook: signed, retried, and never stuck at one record."""

import base64
import gzip
import hashlib
import hmac
import json
import queue
import re
import resource
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from plate_nets.common.errors import InputError, RecordRefused, SinkError
from plate_nets.events.sinks.delivery import Delivery, finish_all
from plate_nets.events.sinks.outbox import Outbox
from plate_nets.events.sinks.webhook import WebhookSink
from tests.events import event, record
from tests.receiver import Receiver
from tests.unit.events.sinks.conftest import Answer, Hostile, sends, sends_and_waits


def failure(*arguments: Any, **options: Any) -> SinkError:
    """Why a webhook does not take a record."""
    with WebhookSink(*arguments, **options) as sink, pytest.raises(SinkError) as failed:
        sink.send([record(event())])
    return failed.value


@pytest.mark.parametrize("secret", ["a secret", "whsec_" + base64.b64encode(b"a secret").decode()])
def test_a_request_is_signed_as_standard_webhooks_defines(receiver: Receiver, secret: str) -> None:
    with WebhookSink(receiver.url, secret, {"x-site": "north"}) as sink:
        sink.send([record(event())])
    (received,) = receiver.received
    assert json.loads(received.body) == event(0).to_dict()
    assert received.headers["webhook-id"] == event(0).key
    assert received.headers["x-site"] == "north"
    signed = f"{event(0).key}.{received.headers['webhook-timestamp']}.".encode() + received.body
    expected = base64.b64encode(hmac.digest(b"a secret", signed, hashlib.sha256)).decode()
    assert received.headers["webhook-signature"] == f"v1,{expected}"


def test_a_user_of_the_url_is_authenticated_and_shown_nowhere(receiver: Receiver) -> None:
    with WebhookSink(receiver.url.replace("://", "://ann:s%40crt@")) as sink:
        sink.send([record(event())])
        receiver.close()
        with pytest.raises(SinkError) as failed:
            sink.send([record(event())])
    assert receiver.received[0].headers["authorization"] == "Basic " + base64.b64encode(b"ann:s@crt").decode()
    assert "crt" not in str(failed.value)
    with pytest.raises(InputError, match=r"got ftp://host/$"):
        WebhookSink("ftp://ann:secret@host/")
    with pytest.raises(InputError, match="expected base64"):
        WebhookSink(receiver.url, "whsec_???")


@pytest.mark.parametrize(
    ("code", "error"), [(503, SinkError), (401, SinkError), (302, SinkError), (400, RecordRefused)]
)
def test_the_status_of_an_answer_decides_about_a_retry(receiver: Receiver, code: int, error: type[SinkError]) -> None:
    receiver.answers = [code]
    failed = failure(receiver.url)
    assert type(failed) is error
    assert f"answered {code}" in str(failed)


def test_failures_lose_no_record_and_refusals_do_not_stop_delivery(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers = [503, 500, 204, 422]
    said: list[str] = []
    events = [event(number) for number in range(4)]
    with closing(Outbox(tmp_path / "outbox.sqlite", ["hook"])) as outbox:
        delivery = Delivery("hook", WebhookSink(receiver.url), outbox, said.append, first_pause=0.01)
        for each in events:
            outbox.append(each)
        received = receiver.wait(3)
        assert finish_all([delivery], 60) == []
        state = delivery.state()
    assert [each.headers["webhook-id"] for each in received] == [events[index].key for index in (0, 2, 3)]
    assert (state.delivered, state.refused, state.failures, state.waiting) == (3, 1, 2, 0)
    assert said == [
        "hook: answered 503 Service Unavailable; records wait in the outbox",
        "hook: takes records again",
        f"hook: record {events[1].key} was refused and is skipped: answered 422 Unprocessable Entity",
    ]


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("3", 3, 3),
        (3600, 300, 300),
        (200, 100, 200),
        ("31536000", 300, 300),
        ("9" * 5000, 300, 300),
        *((text, None, None) for text in ("0", "-5", "soon", "", "1e3", "٣", -60, "Fri, 99 Nov 2026 99:99:99")),
    ],
)
def test_the_sink_waits_as_long_as_the_receiver_asks_within_limits(
    receiver: Receiver, text: str | int, least: float | None, most: float | None
) -> None:
    """A number stands for the date that is so many seconds from now."""
    asked_for = in_seconds(text) if isinstance(text, int) else text
    receiver.answers, receiver.headers = [429], {"Retry-After": asked_for.encode().decode("latin-1")}
    failed = failure(receiver.url)
    asked = failed.retry_after
    assert "answered 429 Too Many Requests" in str(failed)
    assert asked is None if least is None else least <= (asked or 0) <= (most or 0)


def test_the_date_of_an_answer_is_compared_with_the_clock_of_the_receiver(hostile: Hostile) -> None:
    dates = "date: Thu, 01 Jan 1970 00:00:00 GMT\r\nretry-after: Thu, 01 Jan 1970 00:00:07 GMT"
    answer = sends(f"HTTP/1.1 503 x\r\n{dates}\r\ncontent-length: 0\r\n\r\n".encode())
    assert failure(f"http://{hostile(answer)}").retry_after == 7


def test_a_long_retry_after_delays_no_end(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers, receiver.headers = [503], {"Retry-After": "300"}
    said: queue.Queue[str] = queue.Queue()
    outbox = Outbox(tmp_path / "outbox.sqlite", ["hook"])
    delivery = Delivery("hook", WebhookSink(receiver.url), outbox, said.put, first_pause=0.01)
    outbox.append(event(0))
    assert said.get(timeout=60) == "hook: answered 503 Service Unavailable; records wait in the outbox"
    assert finish_all([delivery], 60) == []
    assert delivery.state().failures == 1 and receiver.received == []  # it has not asked again before that
    outbox.close()


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("{other}/new", "leads to {other}/new; if that is right, write it into the sink's url"),
        ("/new?token=s3cret", "leads to {own}/new?token=***; if that is right, write it into the sink's url"),
        ("http://bob:pw@other.example/", "leads to http://other.example/; if that is right, write it into"),
        ("{own}/hook", "leads to itself"),
        ("", "leads to itself"),
        ("file:///etc/passwd", "leads to file:/etc/passwd"),
        ("/" + "x" * 9000, "leads to {own}/xxxx"),
    ],
)
def test_a_redirect_is_named_and_not_followed(receiver: Receiver, location: str, said: str) -> None:
    url = receiver.url.replace("://", "://ann:s%40crt@")
    with closing(Receiver()) as other:
        places = {"own": receiver.url.removesuffix("/hook"), "other": other.url.removesuffix("/hook")}
        receiver.headers = {"Location": location.format(**places)}
        for code in (301, 302, 307, 308):
            receiver.answers = [code]
            text = str(failure(url, "a secret"))
            assert text.startswith(f"answered {code} ")
            assert said.format(**places) in text
            assert len(text) < 400
            assert not any(secret in text for secret in ("crt", "s3cret", "pw@"))
        assert other.received == []


def test_a_receiver_on_this_machine_is_reached_without_a_proxy(
    receiver: Receiver, proxied: Callable[..., None]
) -> None:
    proxied("http://127.0.0.1:9")
    for host in ("127.0.0.1", "localhost"):
        with WebhookSink(receiver.url.replace("127.0.0.1", host)) as sink:
            sink.send([record(event())])
    assert len(receiver.received) == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (sends(b"HTTP/1.1 502 x\r\ncontent-length: 0\r\n\r\n"), "answered 502 Bad Gateway"),
        (sends_and_waits(b""), "no answer within 1 s"),
        (None, "no answer"),
    ],
    ids=["error", "hangs", "not there"],
)
def test_a_failing_proxy_is_named(
    hostile: Hostile, proxied: Callable[..., None], answer: Answer | None, said: str
) -> None:
    proxy = hostile(answer) if answer else "127.0.0.1:9"
    proxied(f"http://ann:s3cret@{proxy}")
    text = str(failure("http://receiver.example/hook", timeout=1))
    assert re.match(f"{said}.*, through the proxy http://{proxy} of http_proxy", text)
    assert "s3cret" not in text


OK = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(bytes(1 << 27))


BODIES = {
    "without an end": sends(OK + b"\r\n", bytes(1 << 16)),
    "gzip bomb": sends(OK + f"content-encoding: gzip\r\ncontent-length: {len(BOMB)}\r\n\r\n".encode() + BOMB),
    "trickled": sends(OK + b"content-length: 4000\r\n\r\n", b".", pause=0.1),
}
TRICKLED_HEAD = sends(OK + b"x: ", b".", pause=0.1)


@pytest.mark.parametrize("answer", BODIES.values(), ids=BODIES)
def test_only_the_status_of_an_answer_is_read(hostile: Hostile, answer: Answer) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with WebhookSink(f"http://{hostile(answer)}", timeout=5) as sink:
        for number in range(2):
            sink.send([record(event(number))])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kB"


def test_a_missing_answer_is_reported_in_time(hostile: Hostile) -> None:
    assert str(failure(f"http://{hostile(TRICKLED_HEAD)}", timeout=1)) == "no answer within 1 s"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 500 \x1b[2J\x1b]0;owned\x07\r\ncontent-length: 0\r\n\r\n", "answered 500 Internal Server Error"),
        (b"\x1b[2J" * 10_000 + b"\r\n\r\n", "no "),
        (
            b"HTTP/1.1 301 x\r\nlocation: http://h:\xff]0;owned/\r\ncontent-length: 0\r\n\r\n",
            "no answer: Invalid URL in location header",
        ),
    ],
    ids=["control bytes", "no HTTP", "redirect to no address"],
)
def test_text_of_the_other_side_does_not_reach_the_terminal(hostile: Hostile, answer: bytes, said: str) -> None:
    text = str(failure(f"http://{hostile(sends(answer))}"))
    assert text.startswith(said) and text.isprintable() and len(text) < 300
