"""Requests that cost a page the most for their bytes: each kind for a number of bytes, as it is sent."""

from collections.abc import Callable
from urllib.parse import quote

from plate_nets.web.server import AHEAD

FORMS = ("/login", "/api/v1/plates", "/v1/plate-reader/", "/v1/vision/alpr")
"""Addresses that take forms; the first is open to all."""
TYPED = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x"
_PART = b'--x\r\nContent-Disposition: form-data; name="upload"'
_HALF_A_HEAD = 8000
"""Bytes of a line, with which a head is below its limit."""


def get(address: str = "/", line: str = "X: x") -> bytes:
    """A request without a body."""
    return f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n{line}\r\n\r\n".encode()


def post(body: bytes, kind: str, address: str = "/v1/plate-reader/", length: str = "") -> bytes:
    """A request with a body."""
    length = length or f"Content-Length: {len(body)}"
    return f"POST {address} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n{length}\r\n\r\n".encode() + body


def chunked(body: bytes, address: str = "/v1/plate-reader/") -> bytes:
    """A request with a body in chunks."""
    return post(body, TYPED, address, "Transfer-Encoding: chunked")


def field(count: int) -> bytes:
    """A form with one field, of which a quadratic decoder needs a second for 200 kB."""
    return _PART + b"\r\n\r\nx-" + b"a" * count + b"\r\n--x--\r\n"


def line(name: str, text: str) -> Callable[[int], bytes]:
    """A header that repeats a text up to the limit of a head."""
    return lambda count: get(line=f"{name}: {(text * count)[: min(count, _HALF_A_HEAD)]}")


WORST: dict[str, Callable[[int], bytes]] = {
    **{
        f"a form in {charset}": lambda count, charset=charset: post(field(count), f"{PARTS}; charset={charset}")  # type: ignore[misc]
        for charset in ("punycode", "idna", "utf-7", "unicode_escape", "bz2")
    },
    "escapes in a form": lambda count: post(b"upload=" + b"%41" * (count // 3), TYPED),
    "escapes in a name": lambda count: post(b"%41" * (count // 3), TYPED),
    "escapes of other bytes": lambda count: post(b"upload=" + b"%ff" * (count // 3), TYPED),
    "separators of a form": lambda count: post(b"&" * count, TYPED),
    "fields of a form": lambda count: post(b"a&" * (count // 2), TYPED),
    "a text in a form": lambda count: post(field(count), PARTS),
    "bytes other than UTF-8": lambda count: post(field(count).replace(b"a", b"\xff"), PARTS),
    "near boundaries": lambda count: post(_PART + b"\r\n\r\n" + b"\r\n--" * (count // 4), PARTS),
    "almost boundaries": lambda count: post(_PART + b"\r\n\r\n" + b"\r\n--xx" * (count // 6), PARTS),
    "blanks after a boundary": lambda count: post(_PART + b"\r\n\r\na\r\n--x" + b" " * count, PARTS),
    "new lines before a form": lambda count: post(b"\r\n" * (count // 2), PARTS),
    "lines after a form": lambda count: post(_PART + b"\r\n\r\na\r\n--x--\r\n" + b"\r\n" * (count // 2), PARTS),
    "parts of a form": lambda count: post((_PART + b"\r\n\r\na\r\n") * (count // 60), PARTS),
    "headers of parts": lambda count: post(
        (_PART + b"\r\nX: " + b"a" * 4000 + b"\r\n\r\n\r\n") * (count // 4000), PARTS
    ),
    "parameters of a part": lambda count: post((_PART + b';";' * 1300 + b"\r\n\r\n\r\n") * (count // 4000), PARTS),
    "base64": lambda count: post(b"upload=" + b"AAAA" * (count // 4), TYPED),
    "deep JSON": lambda count: post(b"[" * min(count, _HALF_A_HEAD), "application/json", "/api/v1/plates"),
    "escapes in JSON": lambda count: post(
        b'{"url": "' + b"\\u0041" * (min(count, _HALF_A_HEAD) // 6) + b'"}', "application/json", "/api/v1/plates"
    ),
    "chunks of one byte": lambda count: chunked(b"1\r\na\r\n" * (count // 6) + b"0\r\n\r\n"),
    "chunks of one byte for a login": lambda count: chunked(b"1\r\na\r\n" * (count // 6) + b"0\r\n\r\n", "/login"),
    "chunks that nobody reads": lambda count: chunked(b"1\r\na\r\n" * (count // 6) + b"0\r\n\r\n", "/none"),
    "an extension of a chunk": lambda count: chunked(b"1;" + b"a" * count + b"\r\na\r\n0\r\n\r\n"),
    "a chunk's size of many digits": lambda count: chunked(b"0" * count + b"\r\n\r\n"),
    "a trailer": lambda count: chunked(b"1\r\na\r\n0\r\n" + b"X: x\r\n" * (count // 6) + b"\r\n"),
    "headers": lambda count: get(line="a:\r\n" * (count // 4) + "b:"),
    "a header": lambda count: get(line="X: " + "a" * count),
    "an address": lambda count: get("/" + "a" * count),
    "an escaped address": lambda count: get("/" + "%25" * (min(count, _HALF_A_HEAD) // 3)),
    "folders of an address": lambda count: get("/api/v1/events/" + "/.jpg" * (min(count, _HALF_A_HEAD) // 5)),
    "parameters": lambda count: get("/?" + "a&" * (min(count, _HALF_A_HEAD) // 2)),
    "escaped parameters": lambda count: get("/?lang=" + quote("é" * (min(count, _HALF_A_HEAD) // 6))),
    "a quoted cookie": lambda count: get(line='Cookie: a="' + "\\a" * (min(count, _HALF_A_HEAD) // 2) + '"'),
    "cookies": line("Cookie", "a=b;"),
    "languages": line("Accept-Language", "ru;q=0.5,"),
    "ranges": line("Range", "bytes=0-1,"),
    "known versions": line("If-None-Match", '"a",'),
    "proxies": line("X-Forwarded-For", "::1,"),
    "parameters of a type": lambda count: post(b"", "multipart/form-data" + ';"' * (min(count, _HALF_A_HEAD) // 2)),
    "empty lines": lambda count: b"\r\n" * (count // 2) + get(),
    "requests ahead": lambda count: get("/login") * (count // 50),
    "as many requests ahead as are allowed": lambda count: get("/login") * AHEAD,
    "another protocol": lambda count: get(line="Connection: Upgrade\r\nUpgrade: h2c") * (count // 80),
}
