"""Messages to people: once for each car, with its picture, quiet at night, and never a secret in an error."""

import base64
import io
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from plate_nets.common.day_hours import DayHours
from plate_nets.common.errors import InputError, MissingExtra, SinkError
from plate_nets.events.event import Images
from plate_nets.events.sinks.base import Notes
from plate_nets.events.sinks.notify import NotifySink
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import NotifySettings
from tests.events import event, later, record
from tests.receiver import Receiver
from tests.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
PICTURE = b"\xff\xd8 a picture"


def url(receiver: Receiver) -> str:
    return f"json://ann:s3cret-word@127.0.0.1:{receiver.port}/"


def messages(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in receiver.received]


@pytest.mark.parametrize("kinds", [("vehicle", "frame", "plate"), ("frame", "plate"), ("plate",), ()])
def test_a_message_has_plate_camera_time_list_and_picture(
    receiver: Receiver, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    """The picture is the first of these that there is."""
    for kind in kinds:
        (tmp_path / f"{kind} 1?.jpg").write_bytes(PICTURE + kind.encode())
    seen = replace(event(0, listed=True), images=Images(**{kind: f"{kind} 1?.jpg" for kind in kinds}))
    with NotifySink(url(receiver), pictures=tmp_path) as sink:
        sink.send([record(seen)])
    (message,) = messages(receiver)
    assert (message["title"], message["message"]) == (seen.plate, "gate, 2026-11-22 10:00:00\nstaff: Ann")
    pictures = [base64.b64decode(each["base64"]) for each in message["attachments"]]
    assert pictures == [PICTURE + kind.encode() for kind in kinds[:1]]


def test_a_car_is_told_once_as_soon_as_it_has_a_text(receiver: Receiver) -> None:
    """Also after a restart, and if it was two cars at first; its later records are not told."""
    unread = replace(event(0, stage="provisional"), plate="")
    first = replace(later(unread, "update"), plate="A000BC77")
    other = replace(event(1), supersedes=first.id)
    notes = Notes()
    for records in ([unread, first, later(first)], [later(later(first)), other, later(other), event(2)]):
        with NotifySink(url(receiver)) as sink:
            sink.begin(notes)
            for each in records:
                sink.send([record(each)])
    assert [message["title"] for message in messages(receiver)] == ["A000BC77", event(2).plate]


def test_what_is_remembered_has_an_end(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plate_nets.events.sinks.notify._CARS", 2)
    notes = Notes()
    with NotifySink(url(receiver)) as sink:
        sink.begin(notes)
        for number in range(4):
            sink.send([record(event(number))])
    assert json.loads(notes.read()) == [event(2).id, event(3).id]


def test_nobody_is_told_in_quiet_hours_of_the_camera_s_zone(receiver: Receiver) -> None:
    """10:00 UTC is 22:30 for this camera; the car of these hours is not told afterwards either."""
    zone = timezone(timedelta(hours=12, minutes=30))
    seen = replace(event(0, stage="provisional"), timestamp=event(0).timestamp.astimezone(zone))
    now = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
    with NotifySink(url(receiver), DayHours.parse("22:00-07:00"), now=lambda: now) as sink:
        sink.send([record(seen)])
        now += timedelta(hours=9)
        sink.send([record(later(seen))])
        assert not receiver.received
        sink.send([record(replace(event(1), timestamp=seen.timestamp))])
    assert len(receiver.received) == 1


@pytest.mark.parametrize("hours", ["", "22-7", "22:00", "22:00-22:00", "25:00-07:00", "22:00 - 07:00"])
def test_wrong_quiet_hours_are_refused(hours: str) -> None:
    with pytest.raises(InputError, match=r"quiet: expected (two )?times"):
        NotifySettings(url="json://x", quiet=hours)


def test_a_service_that_is_down_gets_the_message_later(receiver: Receiver, tmp_path: Path) -> None:
    """Recording goes on, the failure is counted and said once, and no address or password appears."""
    said: list[str] = []
    receiver.answers = [500, 500]
    recorder = Recorder(tmp_path / "outbox.sqlite", [NotifySettings(url=url(receiver))], said.append)
    for each in (first := event(0, stage="provisional"), later(first)):
        recorder.record(each)
    (delivery,) = recorder.deliveries
    assert eventually(lambda: delivery.state().failures > 0, 60)
    assert len(receiver.wait(1)) == 1
    recorder.close()
    assert delivery.state().delivered == 2 and len(receiver.received) == 1
    assert said[0].startswith("notify: no message sent: Failed to send") and "error=500" in said[0]
    assert not any("s3cret" in line or "://" in line for line in said)


def test_a_service_that_refuses_the_picture_gets_the_message(receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(PICTURE)
    receiver.answers = [413]
    with NotifySink(url(receiver), pictures=tmp_path) as sink:
        sink.send([record(replace(event(0), images=Images(frame="a.jpg")))])
        sink.send([record(replace(event(1), images=Images(frame="deleted.jpg")))])
    assert [message["attachments"] for message in messages(receiver)] == [[], []]


def test_a_service_that_is_not_there(receiver: Receiver) -> None:
    """Only the sink says so: what apprise logs may have parts of an address."""
    address, heard = url(receiver), io.StringIO()
    receiver.close()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    with NotifySink(address) as sink, pytest.raises(SinkError, match=r"no message sent: A Connection error"):
        sink.send([record(event(0))])
    logging.getLogger().removeHandler(handler)
    assert not heard.getvalue()


@pytest.mark.parametrize(
    ("host", "excluded"),
    [("127.0.0.1", ""), ("localhost", "other.example"), ("127.0.0.1", "*"), ("127.0.0.1", "127.0.0.0/8")],
)
def test_a_receiver_on_this_machine_is_reached_without_a_proxy(
    receiver: Receiver, proxied: Callable[..., None], host: str, excluded: str
) -> None:
    proxied("http://127.0.0.1:9", excluded)
    with NotifySink(url(receiver).replace("127.0.0.1", host)) as sink:
        sink.send([record(event(0))])
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("service", "variable"),
    [("json://10.1.2.3/", "http_proxy"), ("jsons://10.1.2.3/", "https_proxy"), ("ntfy://S3CRET", "https_proxy")],
)
def test_a_failing_proxy_is_named(
    proxied: Callable[..., None], monkeypatch: pytest.MonkeyPatch, service: str, variable: str
) -> None:
    proxied("http://ann:s3cret@127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with NotifySink(service) as sink, pytest.raises(SinkError, match=r"^no message sent: A Connection error") as failed:
        sink.send([record(event(0))])
    assert f", through the proxy http://127.0.0.1:9 of {variable}, which no_proxy can exclude" in str(failed.value)
    assert "s3cret" not in str(failed.value).lower()


def test_services_without_a_proxy_name_none(proxied: Callable[..., None]) -> None:
    proxied("http://127.0.0.1:9", "10.0.0.0/8")
    for service in ("mailto://ann:pw@mail.example?smtp=127.0.0.1", "json://10.1.2.3/", "json://[::1]/"):
        assert NotifySink(service)._proxy is None


@pytest.mark.parametrize("address", ["tgramm://123456:S3CRET/1", "tgram://S3CRET", "S3CRET", "https://S3CRET.example"])
def test_a_wrong_address_is_not_shown(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="notify: expected an address of a service") as refused:
        NotifySink(address)
    assert "S3CRET" not in str(refused.value) + "".join(capfd.readouterr())
    assert "S3CRET" not in repr(NotifySettings(url=address))


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(MissingExtra, match=r"notify"):
        NotifySink("json://x")
