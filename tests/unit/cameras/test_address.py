"""Sources as users write them, and what is shown of them."""

from pathlib import Path

import pytest

from plate_nets.cameras.address import SourceAddress, SourceKind, parse_source
from plate_nets.cameras.settings import CameraSettings
from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rtsp://ann:secret@host:554/ch1?x=1", "rtsp://host:554/ch1?x=1"),
        ("rtsp://ann:se@cr/et@host/ch1", "rtsp://host/ch1"),
        ("rtsp://ann:a secret@host/ch1", "rtsp://host/ch1"),
        ("rtsp://ann:p@ss w@rd@host/ch1", "rtsp://host/ch1"),
        ("no rtsp://ann:a\nsecret@host/x, mqtt://bob:his own@other/y", "no rtsp://other/y"),
        ("http://host/cgi?user=ann&password=secret&ch=1", "http://host/cgi?user=***&password=***&ch=1"),
        ("http://host/a?channel=1&TOKEN=secret#x", "http://host/a?channel=1&TOKEN=***#x"),
        ("rtsp://h/s?access_token=a/b_Qw==&auth-token=c&x=1", "rtsp://h/s?access_token=***&auth-token=***&x=1"),
        ("rtsp://h/user=ann_password=a_b_channel=1_x=0.sdp?x", "rtsp://h/user=***_password=***_channel=1_x=0.sdp?x"),
        ("rtsp://h/user=ann&password=secret&channel=1&x=0.sdp", "rtsp://h/user=***&password=***&channel=1&x=0.sdp"),
        ("rtsp://h/user=ann_password=_channel=1.sdp", "rtsp://h/user=***_password=***_channel=1.sdp"),
        ("http://h/v.cgi?loginuse=ann&loginpas=secret", "http://h/v.cgi?loginuse=***&loginpas=***"),
        ("https://h/v?X-Amz-Signature=secret&sig=secret", "https://h/v?X-Amz-Signature=***&sig=***"),
        ("https://h/v?x_sessionid=secret", "https://h/v?x_sessionid=***"),
        ("rtsp://h/live?authmode=0&keyframe=1&signal=2&passive=3&channel=1&subtype=0&users=4",) * 2,
        ("open 'rtsp://ann:secret@host/x' failed: no", "open 'rtsp://host/x' failed: no"),
        ("clips/car.mp4", "clips/car.mp4"),
        ("", ""),
    ],
)
def test_credentials_are_hidden(text: str, shown: str) -> None:
    assert hide_credentials(text) == shown
    assert hide_credentials(shown) == shown


@pytest.mark.parametrize(
    ("text", "kind", "live"),
    [
        ("rtsp://host/ch1", "stream", True),
        ("HTTPS://host/mjpeg", "stream", True),
        ("/dev/video0", "device", True),
        ("car.mp4", "file", False),
        (str(Path(__file__).parent), "folder", False),
    ],
)
def test_the_text_of_a_source_determines_its_kind(text: str, kind: SourceKind, live: bool) -> None:
    address = parse_source(text)
    assert (address.kind, address.live, address.location) == (kind, live, text)


PASSWORDS = ("secret", "a secret", "se@cret of", "se\tcret")


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_id_of_a_camera_contains_no_password(password: str) -> None:
    camera = CameraSettings(f"rtsp://ann:{password}@host/ch1")
    assert (camera.id, str(camera.address)) == ("host-ch1", "rtsp://host/ch1")
    camera = CameraSettings("rtsp://host/user=ann_password=s3cret_channel=1.sdp")
    assert camera.id == "host-user-_password-_channel-1.sdp"


def test_an_address_shows_no_password() -> None:
    address = parse_source("rtsp://ann:secret@host:8554/ch1")
    assert address.endpoint == ("host", 8554)
    assert "secret" not in f"{address} {address!r}"
    assert parse_source("rtsp://ann:secret@host/ch1").endpoint == ("host", 554)
    assert SourceAddress("file", "a.mp4").endpoint is None


@pytest.mark.parametrize(
    "text",
    ["rtsp://", "rtsp://ann:secret@host:port/x", *(f"ftp://ann:{each}@host/x" for each in PASSWORDS)],
)
def test_an_invalid_source_is_refused_without_showing_its_password(text: str) -> None:
    with pytest.raises(InputError, match=r"^source: expected ") as refused:
        parse_source(text)
    assert "cret" not in str(refused.value)
    assert not text.startswith("ftp") or str(refused.value).endswith("got ftp://host/x")
