"""Bad input and abuse through a real uvicorn: the right status, one clear line, and nothing about the machine."""

import asyncio
import io
import re
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from plate_nets.common.errors import InputError
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Plate
from plate_nets.web.access import PAGE_HEADER, SESSION_COOKIE
from plate_nets.web.app import create_app
from plate_nets.web.faults import Refused
from plate_nets.web.fetch import PictureFetcher
from plate_nets.web.health import Backend
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from tests.frames import compose, encode
from tests.web.conftest import CAR, TEXT, TOKEN, connected, heard, running

PLATES = "/api/v1/plates"
BROWSER = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}


def code(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert not re.search(r"(^|[^\w])/\w", error["message"]), "a path"
    assert "\n" not in error["message"]
    return answer.status_code, error["code"]


def zipped() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("car.jpg", CAR)
    return archive.getvalue()


def bomb() -> bytes:
    """A PNG whose header declares 10 gigapixels."""
    small = encode(compose(16, 16))
    return small[:16] + (100_000).to_bytes(4, "big") * 2 + small[24:]


@pytest.mark.parametrize(
    ("picture", "status", "says"),
    [
        (b"no picture", 400, "PLATES_BAD_INPUT"),
        (b"", 400, "PLATES_BAD_INPUT"),
        (zipped(), 400, "PLATES_BAD_INPUT"),
        (bomb(), 413, "PLATES_TOO_LARGE"),
        (CAR[: len(CAR) // 2], 400, "PLATES_BAD_INPUT"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", 400, "PLATES_BAD_INPUT"),
    ],
    ids=["text", "nothing", "zip", "bomb", "torn", "svg"],
)
def test_something_other_than_a_picture_is_refused(web: httpx.Client, picture: bytes, status: int, says: str) -> None:
    assert code(web.post(PLATES, files={"file": ("car.jpg", picture)})) == (status, says)


def megabytes(count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield bytes(1 << 20)


def test_an_upload_of_200_megabytes_is_refused_and_not_stored(web: httpx.Client) -> None:
    kind = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(200 << 20)}
    assert code(web.post(PLATES, content=megabytes(200), headers=kind)) == (413, "PLATES_TOO_LARGE")


def test_a_body_without_a_declared_length_is_counted(reader: LocalReader) -> None:
    with running(reader, WebSettings(max_body=1 << 20)) as client:
        form = (b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n', *megabytes(3))
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        assert code(client.post(PLATES, content=iter(form), headers=kind)) == (413, "PLATES_TOO_LARGE")
        raw = client.post(PLATES, content=megabytes(65), headers={"Content-Type": "image/jpeg"})
        assert code(raw) == (413, "PLATES_TOO_LARGE")


def test_one_file_over_the_limit_among_others_is_refused(reader: LocalReader) -> None:
    limits = WebSettings().limits.__class__(max_bytes=len(CAR))
    with running(reader, WebSettings(), limits=limits) as client:
        files = [("file", CAR), ("file", CAR + b"x")]
        assert code(client.post(PLATES, files=files)) == (413, "PLATES_TOO_LARGE")


def test_a_thousand_files_at_once_are_refused(web: httpx.Client) -> None:
    assert code(web.post(PLATES, files=[("file", b"x")] * 1000)) == (413, "PLATES_TOO_LARGE")


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"])
def test_a_body_that_is_not_a_form_is_refused(web: httpx.Client, kind: str) -> None:
    assert code(web.post(PLATES, content=b"anything", headers={"Content-Type": kind})) == (400, "PLATES_BAD_INPUT")


def test_the_name_of_an_upload_is_never_used_as_a_path(web: httpx.Client) -> None:
    for name, plain in (("../../etc/passwd", "passwd"), ("<img src=x onerror=alert(1)>.jpg", None)):
        answer = web.post(PLATES, files={"file": (name, CAR)})
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.json()["pictures"][0]["file"] == (plain or name)


@pytest.mark.parametrize("name", ["/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "//etc/passwd", "/%00"])
def test_no_path_leaves_the_static_files(web: httpx.Client, name: str) -> None:
    with connected(web) as raw:
        raw.sendall(f"GET /static{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
    assert answer.split(b" ", 2)[1] == b"404", answer
    assert b"root:" not in answer


def test_a_valid_token_is_required(guarded: httpx.Client) -> None:
    for path in ("/api/v1/health", "/metrics", "/api/docs"):
        assert code(guarded.get(path)) == (401, "PLATES_NO_ACCESS")
    assert guarded.get("/", headers={"Accept": "text/html"}).headers["location"] == "/login"
    assert guarded.get("/health").status_code == 200
    files = {"file": CAR}
    for header in ("", f"Bearer {TOKEN}x", f"Basic {TOKEN}"):
        assert code(guarded.post(PLATES, files=files, headers={"Authorization": header}))[0] == 401
    answer = guarded.post(PLATES, files=files, headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.json()["pictures"][0]["plates"][0]["text"] == TEXT


def test_a_login_creates_a_session_with_its_own_page_token(guarded: httpx.Client) -> None:
    form = guarded.get("/login").text
    page = form.partition('name="page" value="')[2].partition('"')[0]
    own = {"Origin": str(guarded.base_url)}
    assert code(guarded.post("/login", data={"token": TOKEN, "page": ""}, headers=own))[0] == 403
    assert guarded.post("/login", data={"token": "wrong", "page": page}, headers=own).status_code == 401
    logged_in = guarded.post("/login", data={"token": TOKEN, "page": page}, headers=own)
    assert (logged_in.status_code, logged_in.headers["location"]) == (303, "/")
    session = logged_in.cookies[SESSION_COOKIE]
    assert "HttpOnly" in logged_in.headers["set-cookie"]
    guarded.cookies.clear()
    cookie = {"Cookie": f"{SESSION_COOKIE}={session}"}
    text = guarded.get("/", headers=cookie).text
    token = text.partition('"pageToken": "')[2].partition('"')[0]
    assert guarded.post(PLATES, files={"file": CAR}, headers=cookie | {PAGE_HEADER: token}).status_code == 200
    for wrong in ("", page, token[:-1]):
        assert code(guarded.post(PLATES, files={"file": CAR}, headers=cookie | {PAGE_HEADER: wrong}))[0] == 403
    forged = {"Cookie": f"{SESSION_COOKIE}=9{session}"}
    assert code(guarded.get("/metrics", headers=forged))[0] == 401


def test_a_request_from_another_site_is_refused(web: httpx.Client) -> None:
    assert code(web.post(PLATES, files={"file": CAR}, headers=BROWSER)) == (403, "PLATES_NOT_ALLOWED")
    assert code(web.get("/", headers={"Host": "evil.example"})) == (403, "PLATES_NOT_ALLOWED")
    answer = web.get("/")
    assert "access-control-allow-origin" not in answer.headers
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_token_has_a_rate_limit(reader: LocalReader) -> None:
    with running(reader, WebSettings(rate=0.01, burst=2)) as client:
        files = {"file": b"no picture"}
        assert [client.post(PLATES, files=files).status_code for _ in range(3)] == [400, 400, 429]
        answer = client.post(PLATES, files=files)
        assert code(answer) == (429, "PLATES_TOO_MANY")
        assert int(answer.headers["retry-after"]) > 0


class Waiting:
    """A reader that only answers when it is allowed to."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.asked = threading.Semaphore(0)

    def read(
        self, image: object, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        self.asked.release()
        assert self.let.wait(30)
        return []


def test_the_page_answers_while_reading_and_refuses_excess_pictures() -> None:
    slow = Waiting()
    settings = WebSettings(workers=1, waiting=1)
    with WebServer(create_app(Backend(slow, "local"), settings)) as server:

        async def ask() -> None:
            async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
                post = [asyncio.create_task(client.post(PLATES, files={"file": CAR})) for _ in range(2)]
                assert await asyncio.to_thread(slow.asked.acquire, timeout=30)
                refused = await client.post(PLATES, files=[("file", CAR)] * 2)
                assert code(refused) == (503, "PLATES_OVERLOADED")
                assert (await client.get("/")).status_code == 200
                slow.let.set()
                assert [answer.status_code for answer in await asyncio.gather(*post)] == [200, 200]

        asyncio.run(ask())


def test_a_sender_that_stalls_is_given_up(reader: LocalReader) -> None:
    head = f"POST {PLATES} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/jpeg\r\nContent-Length: 99\r\n\r\n"
    with running(reader, WebSettings(idle=0.3)) as client, connected(client) as raw:
        raw.sendall(head.encode())
        heard(raw, b"PLATES_TIMED_OUT")


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/car.jpg",
        "http://localhost/car.jpg",
        "http://[::1]/car.jpg",
        "http://169.254.169.254/latest/meta-data",
        "http://2130706433/car.jpg",
        "http://allowed.example@127.0.0.1/car.jpg",
        "http://allowed.example:22/",
        "file:///etc/passwd",
        "ftp://allowed.example/car.jpg",
        "http://",
        "car.jpg",
    ],
)
def test_an_address_that_is_not_listed_is_not_fetched(address: str) -> None:
    with pytest.raises((Refused, InputError)):
        asyncio.run(PictureFetcher(["allowed.example"], 1 << 20).fetch(address))


@pytest.mark.parametrize(
    "leads_to", [["127.0.0.1"], ["10.0.0.1"], ["::1"], ["fe80::1%eth0"], ["93.184.216.34", "192.168.1.1"], []]
)
def test_a_name_that_resolves_to_a_private_address_is_not_fetched(leads_to: Sequence[str]) -> None:
    async def resolve(_: str) -> Sequence[str]:
        return leads_to

    with pytest.raises(Refused, match="private"):
        asyncio.run(PictureFetcher(["allowed.example"], 1 << 20, resolve).fetch("http://allowed.example/car.jpg"))


def test_uploads_leave_no_file_behind(web: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert code(web.post(PLATES, files={"file": bytes(2 << 20)}))[0] == 400
    assert list(tmp_path.iterdir()) == []
