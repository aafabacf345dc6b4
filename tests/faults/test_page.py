"""Attacks on `plates web` beside a good caller that must not notice; each soak prints a row.

The attacks are those on a page that broke 0.3.0; unit tests repeat those by files, addresses and sinks. The fuzzer
generates each request from its number, so a failure names the request that repeats it.
"""

import json
import os
import random
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

import av
import httpx
import numpy as np
import psutil
import pytest
from ulid import ULID

from plate_nets.web.access import PAGE_HEADER
from tests.clips import passing, write_clip
from tests.faults.beside import GROWTH, ONCE_OR_OFTEN, TIMES, GoodCaller, say
from tests.faults.conftest import LENIENT
from tests.faults.hostile import PICTURES, Rng, mutated
from tests.faults.worst_requests import WORST
from tests.frames import encode
from tests.web.conftest import CAR, TEXT
from tests.web.test_command import started
from tests.web.test_reports import post

MINUTES = float(os.environ.get("PLATES_SOAK_MINUTES", "60"))
TOKENS = ("a-token-of-a-stranger", "the-token-of-the-good")
SHORT = 300
"""Requests of the fuzzer in the short form."""


@dataclass
class Page:
    """`plates web --local`, an attacker with a token, and a good caller with another."""

    url: str
    folder: Path
    good: GoodCaller = field(init=False)

    def client(self, token: str = TOKENS[0]) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False)

    def connect(self) -> socket.socket:
        parts = urlsplit(self.url)
        return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    tmp_path = tmp_path_factory.mktemp("page")
    (tmp_path / "tokens").write_text("\n".join(TOKENS), encoding="utf-8")
    (tmp_path / "staff.csv").write_text("plate,label\nA001BC77,Ann\n", encoding="utf-8")
    options = ("--local", "--token-file", "tokens", "--watch-list", "staff.csv", "--events", "e.db", "--rate", "100000")
    with started(tmp_path, *options) as (process, said):
        page = Page(said[0].split()[1], tmp_path)
        with page.client(TOKENS[1]) as client:

            def ask() -> None:
                answer = client.post("/api/v1/plates", files={"file": CAR})
                assert answer.json()["pictures"][0]["plates"][0]["text"] == TEXT, answer.text

            with GoodCaller(psutil.Process(process.pid), ask) as page.good:
                yield page


def head(path: str, kind: str, length: int, more: str = "") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {TOKENS[0]}", f"Content-Type: {kind}")
    return "\r\n".join((*lines, f"Content-Length: {length}", f"{more}\r\n")).encode()


def video(page: Page, body: bytes) -> None:
    with page.client() as client:
        answer = client.post("/api/v1/videos", content=body, headers={"Content-Type": "video/mp4"})
    assert answer.status_code == 503 or "error" in json.loads(answer.text.splitlines()[-1]), answer.text


def giant(page: Page) -> bytes:
    """Four pictures of 16000x16000 pixels."""
    path = page.folder / "giant.mkv"
    if not path.exists():
        picture = encode(np.zeros((16_000, 16_000, 3), np.uint8), ".jpg")
        with av.open(str(path), "w") as container:
            stream = container.add_stream("mjpeg", rate=25)
            stream.pix_fmt, stream.height, stream.width = "yuvj420p", 96, 128
            for number in range(4):
                packet = av.Packet(picture)
                packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, 25)
                container.mux(packet)
    return path.read_bytes()


def slow_logins(page: Page) -> None:
    """Logins that announce a body of 100 MB; no token limits their rate."""
    for _ in range(5):
        with page.connect() as raw, suppress(ConnectionError):
            raw.sendall(head("/login", "application/x-www-form-urlencoded", 100 << 20) + bytes(1 << 16))
            assert raw.recv(1 << 16).split()[1] in (b"413", b"429")


def slow_videos(page: Page) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(page.connect()).sendall(head("/api/v1/videos", "video/mp4", 1 << 20) + b"x")
        clip = page.folder / "clip.mp4"
        if not clip.exists():
            write_clip(clip, passing(4), fps=4)
        with page.client(TOKENS[1]) as client:
            answer = client.post("/api/v1/videos", content=clip.read_bytes(), headers={"Content-Type": "video/mp4"})
        assert json.loads(answer.text.splitlines()[-1]) == {"done": True}


def large_bodies(page: Page) -> None:
    """The sender is another process with the lowest priority, so that it takes no cores, as on another machine."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=os.nice, initargs=(19,)) as outside:
        assert outside.submit(send_large_bodies, page.url).result() <= {400, 503}


def send_large_bodies(url: str) -> set[int]:
    """Send 40 bodies at once -> the codes that came back. A connection that breaks counts as 503."""
    body = bytes(60 << 20)

    def send(_: int) -> int:
        with Page(url, Path()).client() as client, suppress(httpx.TransportError):
            return client.post("/api/v1/plates", content=body, headers={"Content-Type": "image/jpeg"}).status_code
        return 503

    with ThreadPoolExecutor(40) as senders:
        return set(senders.map(send, range(40)))


def half_heads(page: Page) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(page.connect()).sendall(b"GET / HTTP/1.1\r\nHost: 127")


def two_lengths(page: Page) -> None:
    with page.connect() as raw:
        raw.sendall(
            head("/api/v1/plates", "image/jpeg", 5, "Transfer-Encoding: chunked\r\n")
            + b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        )
        said = b"".join(iter(lambda: raw.recv(1 << 16), b""))
    assert said.startswith(b"HTTP/1.1 400") and said.count(b"HTTP/1.1") == 1, "the rest is not read"


def wrong_values(page: Page) -> None:
    with page.client() as client:
        assert client.get("/api/v1/events", params={"since": "0001-01-01T00:00:00+23:59"}).status_code == 400
        assert client.post("/v1/plate-reader/", data={"upload": "é"}).status_code == 400
        table = b'plate,label\nB777BB77,"a\0b"\nB778BB77,"a\nb"\n'
        assert client.post("/api/v1/lists/staff.csv", content=table).status_code == 400


ATTACKS: dict[str, Callable[[Page], None]] = {
    "A1 a list of local files as a video": lambda page: video(page, b"ffconcat version 1.0\nfile clip.mp4\n"),
    "A5 logins of 100 MB": slow_logins,
    "A8 four slow senders of videos": slow_videos,
    "A9 a video of 16000x16000 pictures": lambda page: video(page, giant(page)),
    "A10 40 bodies of 60 MB": large_bodies,
    "A18 300 half heads": half_heads,
    "A19 two lengths": two_lengths,
    "A17, A21 times, base64 and labels": wrong_values,
}
LONG = ("A10 40 bodies of 60 MB",)
"""Attacks that only the soak makes."""


@pytest.mark.parametrize("times", ONCE_OR_OFTEN)
@pytest.mark.parametrize(
    "attack", [pytest.param(each, marks=pytest.mark.soak if each in LONG else ()) for each in ATTACKS]
)
def test_an_attack_affects_no_other_client(
    page: Page, capsys: pytest.CaptureFixture[str], attack: str, times: int
) -> None:
    row = page.good.beside(attack, lambda: ATTACKS[attack](page), times)
    if times > 1:
        say(capsys, row)


HEALTH_SECONDS = 0.3
"""Promised maximum that `/health` takes, whatever others send."""
WORST_BYTES = 1 << 20
"""Bytes of each worst request; of a tenth of it, no fault of 1.0.0 took longer than a busy machine does."""
LEAST_WAITS = 5
"""How many waits beside each kind of worst request are judged at least."""


def beside_the_worst(page: Page, count: int, times: int) -> dict[str, list[float]]:
    """Eight senders of each kind of worst request -> how long another one waited for `/health`, each time.

    Each kind is sent until there are some waits beside it.
    """
    waits: dict[str, list[float]] = {}
    with page.client("") as other, ThreadPoolExecutor(8) as senders:

        def ask() -> None:
            assert other.get("/health").json() == {"state": "serving"}

        def send(request: bytes) -> None:
            with page.connect() as raw, suppress(ConnectionError):  # refused before it was sent in full
                raw.sendall(request)
                raw.recv(1 << 16)

        with GoodCaller(psutil.Process(), ask) as good:
            for kind, make in WORST.items():
                began = time.monotonic()
                head = b" HTTP/1.1\r\n"
                allowed = make(count).replace(head, head + f"Authorization: Bearer {TOKENS[0]}\r\n".encode())
                waits[kind] = []
                while len(waits[kind]) < LEAST_WAITS:
                    list(senders.map(send, [allowed] * 8 * times))
                    waits[kind] = good.waits(began)
        assert not good.faults, good.faults[:3]
    return waits


def test_the_worst_requests_affect_no_other_client(page: Page) -> None:
    """A busy machine delays an answer now and then; a page that stands still delays each one beside such a request."""
    found: dict[str, list[float]] = {}
    page.good.beside("the worst requests", lambda: found.update(beside_the_worst(page, WORST_BYTES, 1)), 1)
    for kind, waits in found.items():
        assert statistics.median(waits) < HEALTH_SECONDS * LENIENT, (kind, waits)
        assert max(waits) < 2 * LENIENT, (kind, waits)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_more_of_the_worst_requests_affect_no_other_client(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    found = {kind: max(waits) for kind, waits in beside_the_worst(page, WORST_BYTES, TIMES).items()}
    for kind, longest in found.items():
        say(capsys, f"eight senders of {kind}, {TIMES} times: the longest wait for /health {longest:.2f} s")
    assert max(found.values()) < HEALTH_SECONDS, {kind: each for kind, each in found.items() if each >= HEALTH_SECONDS}


def posts(page: Page, count: int) -> float:
    """Posts of eight cameras that read plates by themselves -> the seconds until all are events in the store."""
    began = time.monotonic()

    def camera(name: str) -> None:
        with page.client() as client:
            for number in range(count // 8):
                post(client, "dahua", camera=name, uuid=str(number)).raise_for_status()

    names = [str(ULID()) for _ in range(8)]
    with ThreadPoolExecutor(8) as cameras:
        list(cameras.map(camera, names))
    seconds = time.monotonic() - began
    with page.client() as client:
        for name in names:
            asked = {"camera": name, "since": "2026-11-21T00:00:00Z", "until": "2026-11-24T00:00:00Z"}
            counts = client.get("/api/v1/events/hours", params=asked).json()["counts"]
            assert sum(counts) == count // 8
    return seconds


def test_posts_of_cameras_affect_no_other_client(page: Page) -> None:
    page.good.beside("posts of cameras", lambda: posts(page, 80), 1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_posts_of_cameras_affect_no_other_client(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    seconds: list[float] = []
    row = page.good.beside("10,000 posts of cameras", lambda: seconds.append(posts(page, 10_000)), 1)
    say(capsys, f"{row}; kept after {seconds[0]:.0f} s")


PATHS = (
    "/", "/login", "/logout", "/health", "/metrics", "/static/page.js", "/sample.jpg", "/api/docs", "/api/openapi.json",
    "/api/v1/health", "/api/v1/plates", "/api/v1/videos", "/v1/plate-reader/", "/api/v1/events", "/api/v1/events/x",
    "/api/v1/events/cameras", "/api/v1/events/x/correction", "/api/v1/events/x/plate.jpg", "/api/v1/lists",
    "/api/v1/lists/staff.csv", "/api/v1/lists/staff/entries", "/api/v1/lists/staff/entries/A001BC77", "/none",
)  # fmt: skip
FIELDS = ("upload", "upload_url", "token", "page")
PARAMETERS = (
    "text", "distance", "camera", "list", "since", "until", "limit", "cursor", "crops", "sure", "vehicles", "lang", "x",
)  # fmt: skip
WORDS = (
    "", "0", "-1", "0.5", "1e400", "nan", "2", "9" * 40, "²", "é" * 300, "a\0b", "a\nb", "%", "*?[", "' OR 1=1 --",
    "../../etc", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-11-22", "A001BC77", "\u2028", "true",
    "en", "x" * 9000,
)  # fmt: skip
KINDS = (
    "image/jpeg", "video/mp4", "application/json", "application/x-www-form-urlencoded", "multipart/form-data",
    "multipart/form-data; boundary=x", "multipart/form-data; boundary=x; charset=hex", "text/csv", "", "é",
)  # fmt: skip
HEADERS = (
    "Range", "If-None-Match", "If-Modified-Since", "If-Range", "Last-Event-ID", "Cookie", "Origin", "Accept-Language",
    "Accept", "Content-Encoding", "Expect", PAGE_HEADER, "X-Forwarded-For", "Host",
)  # fmt: skip
VALUES = (
    "bytes=0-0", "bytes=-5", "bytes=9-1", "bytes=0-1,3-4,5-6", "bytes=99999999999-", "bytes=" + "0-1," * 500, "x", "*",
    '"a"', "plates_session=1.2.3.4", "plates_session=" + "." * 99, "ru;q=x", "a=b; c", "9" * 30, "-1", "gzip", "\xff",
)  # fmt: skip


def body(rng: Rng) -> bytes:
    document: dict[str, object] = {
        rng.choice(("url", "crops", "vehicles", "plate", "label", "x")): rng.choice((*WORDS, 1, None, [], {}, 1e308))
        for _ in range(2)
    }
    part = f'--x\r\nContent-Disposition: form-data; name="{rng.choice(("file", "upload", "token", "page"))}"'
    name = rng.choice(("", '; filename="a.jpg"', '; filename="../../a\0"'))
    picture = mutated(rng, rng.choice(PICTURES))
    return rng.choice(
        (
            b"", picture, CAR, json.dumps(document).encode(), b"[" * 5000, b'{"url": "\\ud800"}',
            f"plate,label\n{rng.choice(WORDS)},{rng.choice(WORDS)}\n".encode(), b"ffconcat version 1.0\nfile e.db\n",
            part.encode() + name.encode() + b"\r\n\r\n" + picture + rng.choice((b"\r\n--x--\r\n", b"", b"\r\n--x")),
            "&".join(f"{rng.choice(FIELDS)}={rng.choice(WORDS)}" for _ in range(3)).encode(),
        )
    )  # fmt: skip


def ask(client: httpx.Client, number: int) -> int:
    """Send the request of a number -> the status."""
    rng = Rng(number)
    headers = {"Content-Type": rng.choice(KINDS)} if rng.random() < 0.8 else {}
    headers |= {rng.choice(HEADERS): rng.choice(VALUES) for _ in range(rng.randrange(3))}
    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    parameters: list[tuple[str, str | int | float | bool | None]] = [
        (rng.choice(PARAMETERS), rng.choice(WORDS)) for _ in range(rng.randrange(3))
    ]
    request = client.build_request(
        rng.choice(("GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH")),
        rng.choice(PATHS),
        params=parameters,
        headers=encoded,
        content=body(rng),
    )
    return client.send(request).status_code


def fuzz(page: Page, numbers: Iterator[int], until: float) -> Counter[int]:
    """Send requests until none is left or the time is over -> how often each status came."""
    found: Counter[int] = Counter()
    with page.client() as client, page.client("") as stranger:
        for number in numbers:
            if time.monotonic() > until:
                break
            try:
                status = ask(client if number % 4 else stranger, number)
            except httpx.TransportError:  # refused before it was sent in full
                status = 0
            assert status != 500, f"request {number}"
            found[status] += 1
    return found


def test_odd_requests_are_answered(page: Page) -> None:
    before = page.good.memory()
    found = fuzz(page, iter(range(SHORT)), float("inf"))
    assert found[200] and found[400] and found[401], found
    assert not page.good.faults, page.good.faults[:3]
    assert page.good.settled(before + GROWTH) < before + GROWTH


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60 + 600)
def test_odd_requests_for_an_hour(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    fuzz(page, iter(range(SHORT, 4 * SHORT)), float("inf"))  # everything is loaded by now
    before, first = page.good.memory(), random.randrange(1 << 40)
    found = fuzz(page, iter(range(first, 1 << 60)), time.monotonic() + MINUTES * 60)
    after = page.good.settled(before + GROWTH)
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
    say(
        capsys,
        f"{found.total()} odd requests from number {first} on ({statuses}): memory {(after - before) / 1e6:+.0f} MB",
    )
    assert not page.good.faults, page.good.faults[:3]
    assert after < before + GROWTH
