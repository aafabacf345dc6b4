"""Hostile inputs: pictures, frames, tensors, headers, paths, bytes. Each one is generated from its number.

Inputs that are known to end Triton 24.10 itself are left out (docs/explanation/security.md): JSON nested a million
deep, JSON data of a shape beyond memory, compressed bombs, and bodies of millions of tiny chunks.
"""

import gzip
import http.client
import json
import math
import random
import re
import socket
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from tritonclient.grpc import service_pb2

from tests.frames import Placed, compose, encode

LEAK = re.compile(rb"Traceback|/(home|work|tmp|root|opt|usr)/|site-packages|\w\.py\b")
INFER = "/v2/models/plate_recognition/infer"
CAR = compose(96, 128, [Placed("A123BC77", 20, 40, 80)])
PICTURES = tuple(encode(CAR, suffix) for suffix in (".jpg", ".png", ".webp", ".bmp"))
DTYPES = (
    "UINT8", "INT8", "FP32", "FP64", "BYTES", "BOOL", "FP16", "BF16", "INT64", "uint8", "", "UINT8\0", "Ж", "X" * 5000,
)  # fmt: skip
SIDES = (0, 1, 2, 3, 7, 8, 9, 64, 255, 4096, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1)
_BEYOND = 2**31
"""Elements of a shape beyond memory, which JSON data must not claim."""
ODD: tuple[Any, ...] = (None, True, -1, 0, 1.5, "4", [], {}, [[]], {"a": {}}, 2**63, 1e308, "\0", "я" * 300, -(2**63))

NO_TEXT = (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc0\xaf\0", b"\x80" * 300)
"""Bytes that are not UTF-8."""
CROPS = [1, 3, 24, 94]
ASKED: dict[str, tuple[str, list[int], str, int]] = {
    "plate_recognition": ("image", [4], "UINT8", 4),
    "yolo": ("input__0", [8, 8, 3], "UINT8", 8 * 8 * 3),
    "stn": ("input__0", CROPS, "FP32", 4 * math.prod(CROPS)),
    "lprnet": ("input__0", CROPS, "FP32", 4 * math.prod(CROPS)),
}
"""Model -> name, shape, dtype and bytes of an input that it accepts."""


@dataclass
class Answer:
    """An answer: its status if there was one, all its bytes, and the seconds it took."""

    status: int | str | None = None
    body: bytes = b""
    seconds: float = 0.0


@dataclass
class Target:
    """Where the server listens."""

    http: int
    grpc: int
    timeout: float
    """Seconds for one answer."""
    channel: Any = field(init=False)

    def __post_init__(self) -> None:
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.grpc}", [("grpc.max_receive_message_length", 1 << 26)])

    def ask_http(self, head: bytes, body: bytes = b"") -> Answer:
        """Send a complete request -> its answer; without a status if the connection was just closed."""
        started = time.monotonic()
        answer = Answer()
        with socket.create_connection(("127.0.0.1", self.http), timeout=self.timeout) as connection:
            try:
                connection.sendall(head + body)
                response = http.client.HTTPResponse(connection)
                response.begin()
                answer.status = response.status
                answer.body = str(response.headers).encode() + response.read()
            except (http.client.HTTPException, ConnectionError) as error:
                answer.body = repr(error).encode()
        answer.seconds = time.monotonic() - started
        return answer

    def poke(self, port: int, pieces: list[bytes], patience: float) -> Answer:
        """Send any bytes, valid or not -> whatever came back until ``patience`` seconds of silence."""
        started = time.monotonic()
        answer = Answer("poked")
        with socket.create_connection(("127.0.0.1", port), timeout=self.timeout) as connection:
            try:
                for piece in pieces:
                    connection.sendall(piece)
                connection.settimeout(patience)
                while piece := connection.recv(1 << 16):
                    answer.body += piece
            except (TimeoutError, ConnectionError):
                pass
        answer.seconds = time.monotonic() - started - patience
        return answer

    def ask_grpc(self, method: str, message: bytes) -> Answer:
        """Send any bytes as a message to a method -> its answer."""
        started = time.monotonic()
        call = self.channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
        try:
            body = call(message, timeout=self.timeout)
            answer = Answer("OK", body)
        except grpc.RpcError as error:
            answer = Answer(error.code().name, (error.details() or "").encode())
        answer.seconds = time.monotonic() - started
        return answer


Rng = random.Random


def attack(number: int, target: Target) -> tuple[str, Answer]:
    """Send the hostile input of this number -> its kind and the answer."""
    rng = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    return kind.__name__, kind(rng, target)


def mutated(rng: Rng, data: bytes) -> bytes:
    """Bytes with a few of them changed, removed, repeated or inserted."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        where = rng.randrange(max(1, len(changed)))
        match rng.randrange(6):
            case 0 | 1 if changed:
                changed[where] = rng.randrange(256)
            case 2:
                del changed[where:]
            case 3:
                changed[where:where] = rng.randbytes(rng.choice((1, 4, 100)))
            case 4:
                del changed[where : where + rng.choice((1, 4, 100))]
            case _:
                changed[where:where] = changed[where : where + 64]
    return bytes(changed)


def oversized(rng: Rng) -> bytes:
    """A picture whose header declares far more pixels than it has."""
    w, h = (rng.choice((1, 7, 8000, 16383, 65500, 65535, 2**31 - 1)) for _ in range(2))
    jpeg, png, webp, bmp = (bytearray(each) for each in PICTURES)
    match rng.randrange(4):
        case 0:
            start = jpeg.index(b"\xff\xc0") + 5
            jpeg[start : start + 4] = (h & 0xFFFF).to_bytes(2, "big") + (w & 0xFFFF).to_bytes(2, "big")
            return bytes(jpeg)
        case 1:
            png[16:24] = w.to_bytes(4, "big") + h.to_bytes(4, "big")
            png[29:33] = zlib.crc32(png[12:29]).to_bytes(4, "big")
            return bytes(png)
        case 2:
            start = webp.index(b"VP8L") + 9  # lossless: 14 bits of width - 1, 14 of height - 1
            webp[start : start + 4] = (((w - 1) & 0x3FFF) | ((h - 1) & 0x3FFF) << 14).to_bytes(4, "little")
            return bytes(webp)
        case _:
            bmp[18:26] = w.to_bytes(4, "little") + (h if rng.random() < 0.5 else 2**32 - h).to_bytes(4, "little")
            return bytes(bmp)


def head(length: int | str, path: str = INFER, *more: str, method: str = "POST") -> bytes:
    lines = (f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {length}", *more)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def binary(header: Any, data: bytes) -> tuple[bytes, bytes]:
    """A JSON header and the bytes of its tensors -> head and body of a request."""
    text = json.dumps(header).encode()
    return head(len(text) + len(data), INFER, f"Inference-Header-Content-Length: {len(text)}"), text + data


def tensor(name: Any, shape: Any, dtype: Any, size: Any) -> dict[str, Any]:
    return {"name": name, "shape": shape, "datatype": dtype, "parameters": {"binary_data_size": size}}


def picture(rng: Rng, target: Target) -> Answer:
    data = rng.choice(
        (lambda: mutated(rng, rng.choice(PICTURES)), lambda: oversized(rng), lambda: rng.randbytes(500))
    )()
    return target.ask_http(*binary({"inputs": [tensor("image", [len(data)], "UINT8", len(data))]}, data))


def picture_grpc(rng: Rng, target: Target) -> Answer:
    data = mutated(rng, rng.choice(PICTURES)) if rng.random() < 0.7 else oversized(rng)
    model = rng.choice(("plate_recognition", "yolo"))
    message = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[data])
    message.inputs.add(name="image", datatype="UINT8", shape=[len(data)])
    return target.ask_grpc("ModelInfer", message.SerializeToString())


def frame(rng: Rng, target: Target) -> Answer:
    shape = [rng.choice(SIDES[:9]) for _ in range(rng.choice((0, 1, 2, 3, 3, 3, 4, 9)))]
    if rng.random() < 0.5 and shape:
        shape[-1] = 3
    data = rng.randbytes(max(0, min(math.prod(shape), 200_000) + rng.choice((0, 0, 0, -1, 1, 7))))
    return target.ask_http(*binary({"inputs": [tensor("input__0", shape, "UINT8", len(data))]}, data))


def declared(rng: Rng, target: Target) -> Answer:
    shape = [rng.choice((*SIDES, *ODD)) for _ in range(rng.choice((1, 2, 3, 3, 4, 200)))]
    size = rng.choice((*SIDES, *ODD, 6, 6, 6))
    name = rng.choice(("image", "input__0", "", "picture", "x" * 3000, "\0", 5))
    inputs = [tensor(name, shape, rng.choice(DTYPES), size)] * rng.choice((1, 1, 1, 2, 3, 50))
    return target.ask_http(*binary({"inputs": inputs}, b"abcdef" * rng.choice((1, len(inputs)))))


def declared_grpc(rng: Rng, target: Target) -> Answer:
    message = service_pb2.ModelInferRequest(
        model_name=rng.choice(("plate_recognition", "yolo", "stn", "lprnet", "", "none", "x" * 5000)),
        model_version=rng.choice(("", "", "1", "0", "-1", "999999999999999999999", "a", "1" * 500)),
        id=rng.choice(("", "я", "x" * 10_000)),
    )
    for _ in range(rng.choice((0, 1, 1, 1, 2, 30))):
        shape = [rng.choice((*SIDES, -1, -(2**63))) for _ in range(rng.choice((0, 1, 2, 3, 4, 50)))]
        each = message.inputs.add(
            name=rng.choice(("image", "input__0", "", "x")), datatype=rng.choice(DTYPES), shape=shape
        )
        if rng.random() < 0.3:
            each.contents.uint_contents.extend(range(rng.choice((0, 1, 100))))
        if rng.random() < 0.1:
            each.parameters["shared_memory_region"].string_param = "x"
            each.parameters["shared_memory_byte_size"].int64_param = rng.choice((0, -1, 2**63 - 1))
    for _ in range(rng.choice((0, 0, 1, 3))):
        message.raw_input_contents.append(rng.randbytes(rng.choice((0, 1, 6, 5000))))
    for _ in range(rng.choice((0, 0, 1, 5))):
        message.outputs.add(name=rng.choice(("texts", "texts", "", "none")))
    return target.ask_grpc("ModelInfer", message.SerializeToString())


def message(rng: Rng, target: Target) -> Answer:
    whole = service_pb2.ModelInferRequest(model_name="plate_recognition", raw_input_contents=[PICTURES[0]])
    whole.inputs.add(name="image", datatype="UINT8", shape=[len(PICTURES[0])])
    method = rng.choice(
        ("ModelInfer", "ModelInfer", "ServerMetadata", "ModelMetadata", "ModelReady", "None", "RepositoryIndex")
    )
    data = rng.choice((lambda: rng.randbytes(rng.randrange(300)), lambda: mutated(rng, whole.SerializeToString())))()
    return target.ask_grpc(method, data)


def values(rng: Rng, depth: int = 0) -> Any:
    """Any JSON value, often with names that Triton knows."""
    names = (
        "inputs", "outputs", "name", "shape", "datatype", "data", "parameters", "id", "binary_data_size", "x" * 300,
    )  # fmt: skip
    match rng.randrange(8):
        case 0 if depth < 6:
            return {rng.choice(names): values(rng, depth + 1) for _ in range(rng.randrange(5))}
        case 1 if depth < 6:
            return [values(rng, depth + 1) for _ in range(rng.randrange(5))]
        case 2:
            return rng.choice(ODD)
        case 3:
            return rng.choice(("image", "input__0", "UINT8", "texts"))
        case _:
            return rng.choice((0, 1, 3, 8, 255, 256, -1))


def json_body(rng: Rng, target: Target) -> Answer:
    good: dict[str, Any] = {
        "inputs": [{"name": "image", "shape": [4], "datatype": "UINT8", "data": [1, 2, 3, 4]}],
        "outputs": [{"name": "texts"}],
    }
    match rng.randrange(8):
        case 0:
            body = mutated(rng, json.dumps(good).encode())
        case 1:
            body = json.dumps(values(rng)).encode()
        case 2:
            body = json.dumps(good | {rng.choice(("inputs", "outputs", "parameters", "id")): values(rng)}).encode()
        case 3:
            part = good["inputs"][0] | {rng.choice(("name", "shape", "datatype", "data", "parameters")): values(rng)}
            if isinstance(part["shape"], list):
                part["shape"] = [side for side in part["shape"] if not isinstance(side, int) or abs(side) < _BEYOND]
            body = json.dumps({"inputs": [part]}).encode()
        case 4:
            depth = rng.choice((10, 1000, 10_000))
            body = (
                b'{"inputs":' + rng.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth)) + b"}"
            )
        case 5:
            body = json.dumps(
                good | {"id": "x" * 200_000, "outputs": [{"name": f"o{i}"} for i in range(1000)]}
            ).encode()
        case 6:
            body = rng.randbytes(rng.randrange(1, 400))
        case _:
            parameters = {rng.choice(("sequence_id", "priority", "timeout", "x")): rng.choice(ODD) for _ in range(3)}
            body = json.dumps(good | {"parameters": parameters}).encode()
            body = body.replace(b"\\u0000", rng.choice((b"\\u0000", b"\xff\xfe")))  # not UTF-8
    return target.ask_http(head(len(body)), body)


def no_text(rng: Rng, target: Target) -> Answer:
    """A valid request except for one text that is not UTF-8."""
    model = rng.choice(tuple(ASKED))
    name, shape, dtype, size = ASKED[model]
    given = tensor(name, shape, dtype, size)
    request: dict[str, Any] = {"inputs": [given]}
    match rng.randrange(6):
        case 0:
            request["parameters"] = {"x": "MARK"}
        case 1:
            request["parameters"] = {"MARK": rng.choice((True, 1, "x"))}
        case 2:
            request["id"] = "MARK"
        case 3:
            given["parameters"] |= rng.choice(({"x": "MARK"}, {"MARK": 1}))
        case 4:
            given["name"] = "MARK"
        case _:
            request["outputs"] = [{"name": "MARK"}]
    text = json.dumps(request).encode().replace(b"MARK", rng.choice(NO_TEXT))
    length = f"Inference-Header-Content-Length: {len(text)}"
    return target.ask_http(head(len(text) + size, f"/v2/models/{model}/infer", length), text + bytes(size))


def no_text_grpc(rng: Rng, target: Target) -> Answer:
    model = rng.choice(tuple(ASKED))
    name, shape, dtype, size = ASKED[model]
    broken = rng.choice(NO_TEXT)
    mark = "M" * len(broken)  # a string follows its length
    request = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[bytes(size)])
    given = request.inputs.add(name=name, datatype=dtype, shape=shape)
    match rng.randrange(6):
        case 0:
            request.parameters["x"].string_param = mark
        case 1:
            request.parameters[mark].bool_param = True
        case 2:
            request.id = mark
        case 3:
            given.parameters["x"].string_param = mark
        case 4:
            given.name = mark
        case _:
            request.outputs.add(name=mark)
    return target.ask_grpc("ModelInfer", request.SerializeToString().replace(mark.encode(), broken))


def headers(rng: Rng, target: Target) -> Answer:
    """Headers that contradict the body of a complete request."""
    body = b'{"inputs":[]}abcd'
    lengths = ("-1", "0", "5", "13", "17", "18", "2147483648", "99999999999999999999", "x", "1e3", "", "13 13", "0x5")
    more = [f"Inference-Header-Content-Length: {rng.choice(lengths)}"] * rng.choice((1, 1, 2))
    if rng.random() < 0.3:
        more.append(f"Content-Encoding: {rng.choice(('gzip', 'deflate', 'br', 'gzip, gzip', 'x' * 100))}")
        body = rng.choice((gzip.compress(b"\0" * 1_000_000), gzip.compress(body)[:-3], body))
    if rng.random() < 0.3:
        more.append(
            rng.choice(("Accept-Encoding: gzip", "Content-Type: \0", "X: " + "y" * 7000, "Expect: 100-continue"))
        )
    return target.ask_http(head(len(body), INFER, *more), body)


def path(rng: Rng, target: Target) -> Answer:
    parts = (
        "v2", "models", "stn", "versions", "1", "infer", "ready", "..", "%2e%2e", "%00", "repository", "generate",
        "%ff", "",
    )  # fmt: skip
    where = "/" + "/".join(rng.choice((*parts, "x" * 3000)) for _ in range(rng.randrange(9)))
    method = rng.choice(("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"))
    return target.ask_http(head(2, where, method=method), b"{}")


def chunks(rng: Rng, target: Target) -> Answer:
    start = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    sizes = [rng.choice(("1", "5", "0", "ffffffff", "-1", "x", "7fffffffffffffff")) for _ in range(rng.randrange(6))]
    return target.poke(target.http, [start, *(f"{size}\r\nabcde\r\n".encode() for size in sizes)], 0.05)


def bytes_http(rng: Rng, target: Target) -> Answer:
    body = b'{"inputs":[]}'
    request = head(len(body)) + body
    match rng.randrange(5):
        case 0:
            pieces = [rng.randbytes(rng.choice((1, 20, 5000)))]
        case 1:
            pieces = [mutated(rng, request)]
        case 2:  # pipelined
            pieces = [request.replace(b"Connection: close\r\n", b"")] * rng.choice((2, 20))
        case 3:  # never ends
            pieces = [request[: rng.randrange(len(request))]]
        case _:
            pieces = [head(rng.choice(("-5", "99999999999", "x", "5\r\nContent-Length: 9"))), body]
    return target.poke(target.http, pieces, 0.05)


def bytes_grpc(rng: Rng, target: Target) -> Answer:
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    frames = b"".join(
        rng.choice((0, 5, 16_384, 2**24 - 1)).to_bytes(3, "big") + rng.randbytes(6) + rng.randbytes(rng.randrange(20))
        for _ in range(rng.randrange(6))
    )
    data = rng.choice(
        (rng.randbytes(200), preface + frames, preface + rng.randbytes(100), mutated(rng, preface), b"GET / ")
    )
    return target.poke(target.grpc, [data], 0.05)


KINDS: tuple[Callable[[Rng, Target], Answer], ...] = (
    picture, picture_grpc, frame, declared, declared_grpc, message, json_body, no_text, no_text_grpc, headers, path,
    chunks, bytes_http, bytes_grpc,
)  # fmt: skip
COMPLETE = {kind.__name__ for kind in KINDS} - {"path", "chunks", "bytes_http", "bytes_grpc"}
"""Kinds whose inputs are all complete requests, and so are answered with a status."""
