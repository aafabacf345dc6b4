"""Slow, numerous or contradictory senders, and uploads that are not what they claim: no other user has to wait."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame, Plate
from plate_nets.web.app import create_app
from plate_nets.web.health import Backend
from plate_nets.web.server import AHEAD, PIECE_BYTES, PIECES
from plate_nets.web.settings import WebSettings
from tests.clips import still, write_clip
from tests.faults.worst_requests import FORMS, PARTS, WORST, chunked, get
from tests.waiting import eventually
from tests.web.conftest import CAR, TEXT, TOKEN, connected, heard, running, serving
from tests.web.test_abuse import PLATES, code

VIDEOS = "/api/v1/videos"
VIDEO = {"Content-Type": "video/mp4"}
TYPED = {"Content-Type": "application/x-www-form-urlencoded"}


def head(path: str, kind: str, length: int = 1 << 20, more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n"
    ).encode()


def answered(raw: socket.socket) -> bytes:
    """Everything that comes until the connection is closed."""
    return b"".join(iter(lambda: raw.recv(65_536), b""))


def test_a_list_of_files_is_not_read_as_a_video(web: httpx.Client, tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", still(3))
    text = f"ffconcat version 1.0\nfile {clip.name}\n".encode()
    for body in (text, text.replace(b"clip.mp4", str(clip).encode()), b"#EXTM3U\n#EXTINF:1,\nclip.mp4\n"):
        (line,) = [json.loads(each) for each in web.post(VIDEOS, content=body, headers=VIDEO).iter_lines()][-1:]
        assert line["error"]["code"] == "PLATES_BAD_INPUT"


def test_a_login_body_is_limited_in_size_and_time(reader: LocalReader) -> None:
    with running(reader, WebSettings(tokens=(TOKEN,)), short=0.5) as client:
        assert code(client.post("/login", content=bytes(9000), headers=TYPED)) == (413, "PLATES_TOO_LARGE")
        files = {"token": ("a", b"x" * 100)}
        assert code(client.post("/login", files=files))[0] == 413
        with connected(client) as raw:  # a byte now and then is no pause, but takes too long in total
            raw.sendall(head("/login", TYPED["Content-Type"], 4000))
            threading.Thread(target=drip, args=(raw,), daemon=True).start()
            heard(raw, b"expected it within 0.5 s")


def drip(raw: socket.socket) -> None:
    try:
        while True:
            raw.sendall(b"x")
            time.sleep(0.05)
    except OSError:
        return


@pytest.mark.parametrize(("address", "trusted"), [("127.0.0.1", True), ("127.0.0.2", False)])
def test_the_cookie_of_a_login_is_secure_behind_https(reader: LocalReader, address: str, trusted: bool) -> None:
    """A proxy on this machine says so; others are not trusted, such as one whose address is not that of loopback."""
    with (
        running(reader, WebSettings(tokens=(TOKEN,))) as client,
        httpx.Client(
            base_url=client.base_url, transport=httpx.HTTPTransport(local_address=address), timeout=60, trust_env=False
        ) as proxy,
    ):
        for headers in ({"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}, {}):
            cookie = proxy.post("/login", data={"token": TOKEN}, headers=headers).headers["set-cookie"]
            assert ("Secure" in cookie) == (trusted and bool(headers))
            proxy.cookies.clear()


def test_a_slow_body_ends_at_its_deadline(reader: LocalReader) -> None:
    with running(reader, WebSettings(), whole=0.5, whole_video=0.5) as client:
        for path, kind in ((PLATES, "image/jpeg"), (VIDEOS, "video/mp4")):
            with connected(client) as raw:
                raw.sendall(head(path, kind))
                threading.Thread(target=drip, args=(raw,), daemon=True).start()
                heard(raw, b"PLATES_TIMED_OUT")


class Slow:
    """A slow reader that can read every picture."""

    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        return []


@pytest.mark.slow
def test_large_bodies_at_once_leave_no_memory_behind() -> None:
    app = create_app(Backend(Slow(), "local"), WebSettings())
    with serving(app) as client:
        body = bytes(60 << 20)

        def send(_: int) -> bytes:
            with connected(client) as raw:  # an HTTP client would keep copies of the body in this process
                try:
                    raw.sendall(head(PLATES, "image/jpeg", len(body)))
                    raw.sendall(body)
                    return raw.recv(12)
                except ConnectionError:  # refused before it was sent in full
                    return b"HTTP/1.1 503"

        assert client.post(PLATES, content=CAR, headers={"Content-Type": "image/jpeg"}).status_code == 200
        before = psutil.Process().memory_info().rss
        with ThreadPoolExecutor(12) as senders:
            assert set(senders.map(send, range(12))) <= {b"HTTP/1.1 400", b"HTTP/1.1 503"}
        assert eventually(lambda: psutil.Process().memory_info().rss <= before + (100 << 20), 60)


def test_a_connection_with_half_a_head_is_closed(reader: LocalReader) -> None:
    app = create_app(Backend(reader, "local"), WebSettings())
    with serving(app, head=0.3) as client:
        whole = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for begun in (b"", b"GET / HT", whole[:-2], whole + whole[:-2], head(PLATES, "text/plain") + b"x"):
            with connected(client) as raw:
                raw.sendall(begun)
                answered(raw)  # ends


def test_a_long_request_is_not_closed_by_the_limit_for_heads(reader: LocalReader) -> None:
    app = create_app(Backend(reader, "local"), WebSettings())
    with serving(app, head=0.2) as client, connected(client) as raw:
        raw.sendall(head(PLATES, "image/jpeg", len(CAR)))
        for at in range(0, len(CAR), len(CAR) // 4):
            time.sleep(0.3)
            raw.sendall(CAR[at : at + len(CAR) // 4])
        assert raw.recv(65_536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("address", FORMS)
@pytest.mark.parametrize("charset", ["punycode", "hex", "idna", "utf-16", "bz2", "nothing", "utf-8-sig", "latin-1"])
def test_a_form_in_another_charset_is_refused_before_its_body_is_read(
    web: httpx.Client, address: str, charset: str
) -> None:
    for kind in (PARTS, TYPED["Content-Type"]):
        with connected(web) as raw:
            raw.sendall(head(address, f'{kind}; charset="{charset}"'))
            heard(raw, f"body: expected a form in UTF-8, got one in {charset}".encode())


def test_a_form_may_name_its_charset(web: httpx.Client) -> None:
    for charset in ("utf-8", "UTF-8", '"utf8"'):
        body = (
            b'--x\r\nContent-Disposition: form-data; name="upload"; filename="\xd1\x84"\r\n\r\n'
            + CAR
            + b"\r\n--x--\r\n"
        )
        answer = web.post(PLATES, content=body, headers={"Content-Type": f"{PARTS}; charset={charset}"})
        assert answer.json()["pictures"][0]["file"] == "ф"


def test_a_form_with_a_long_type_or_field_is_refused(web: httpx.Client) -> None:
    answer = web.post(PLATES, content=b"", headers={"Content-Type": "multipart/form-data" + ";a" * 300})
    assert code(answer) == (400, "PLATES_BAD_INPUT")
    answer = web.post("/v1/plate-reader/", data={"camera_id": "a" * 3000}, files={"upload": CAR})
    assert answer.status_code == 413
    assert web.post("/v1/plate-reader/", data={"upload": "QQ==" * (1 << 19)}).status_code == 400


@pytest.mark.parametrize("address", ["/login", PLATES, "/none"])
def test_a_body_of_tiny_chunks_is_refused(web: httpx.Client, address: str) -> None:
    """Whoever reads it; as many as are allowed are read."""
    first = chunked(b"1\r\na\r\n" * PIECES + b"0\r\n\r\n", address)
    with connected(web) as raw:
        raw.sendall(first)
        assert b"pieces" not in raw.recv(65_536)
    with connected(web) as raw:
        raw.sendall(first[:-5] + b"1\r\na\r\n")
        said = answered(raw)
    assert said.count(b"HTTP/1.1 ") == 1
    assert f"body: expected pieces of {PIECE_BYTES} bytes or more".encode() in said


@pytest.mark.parametrize(
    "kind", ["a header", "an address", "headers", "an extension of a chunk", "a trailer", "empty lines"]
)
def test_what_surrounds_a_body_is_limited(web: httpx.Client, kind: str) -> None:
    with connected(web) as raw:
        raw.sendall(WORST[kind](1 << 20).replace(b"/v1/plate-reader/", b"/login"))
        heard(raw, b"head: expected at most 16384 bytes")


def test_requests_ahead_are_limited(web: httpx.Client) -> None:
    with connected(web) as raw:
        raw.sendall(get("/login") * AHEAD + get("/login", "Connection: close"))
        assert answered(raw).count(b"HTTP/1.1 200") == AHEAD + 1
    with connected(web) as raw, suppress(ConnectionError):
        raw.sendall(get("/login") * 100)
        assert answered(raw).count(b"HTTP/1.1 ") <= AHEAD


@pytest.mark.parametrize("at_once", [True, False])
def test_a_request_for_another_protocol_is_answered_with_its_body_read(web: httpx.Client, at_once: bool) -> None:
    """As Java's client sends its first one."""
    wish = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    with connected(web) as raw:
        first = head(PLATES, "image/jpeg", len(CAR), wish)
        for part in (first + CAR,) if at_once else (first, CAR[:99], CAR[99:]):
            raw.sendall(part)
        heard(raw, TEXT.encode())
        raw.sendall(get("/health"))  # the connection stays open
        heard(raw, b"serving")


def test_a_trailer_is_not_a_header(web: httpx.Client) -> None:
    with connected(web) as raw:
        raw.sendall(head(PLATES, "text/plain", 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        raw.sendall(b"0\r\nContent-Type: image/jpeg\r\nOrigin: http://evil.example\r\n\r\n")
        heard(raw, b"got text/plain")


@pytest.mark.parametrize(
    ("line", "status"), [("Host:  127.0.0.1 \t", 200), ("Host: 127.0.0.1\r\nHost: evil.example", 400)]
)
def test_the_host_of_a_request(web: httpx.Client, line: str, status: int) -> None:
    with connected(web) as raw:
        raw.sendall(f"GET /health HTTP/1.1\r\n{line}\r\nConnection: close\r\n\r\n".encode())
        assert answered(raw).startswith(f"HTTP/1.1 {status}".encode())
