"""The promises about attacks from outside, measured. Each test prints a row of docs/explanation/security.md."""

import resource
import socket
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import psutil
import pytest
from tritonclient.utils import InferenceServerException

from plate_nets.client import PlateClient, parse_url
from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.contract import MODELS
from plate_nets.recognition.encoded import inspect
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import FrameLimits
from tests.bombs import BOMBS, IEND, chunk, png, progressive
from tests.faults.beside import TIMES, say
from tests.faults.conftest import LENIENT
from tests.faults.hostile import PICTURES, Rng, mutated
from tests.faults.load import Load
from tests.frames import Placed, compose, encode
from tests.nginx import INFER, TOKEN, nginx
from tests.serve import Serve
from tests.waiting import eventually

MUTATED, PIECES = 20_000, 4
AT_ONCE = 4
IDLE = 1500
ZEROS = bytes(30 << 20)
"""Compresses to a thousandth."""
GROWTH = 300 << 20
"""Bytes that the processes together may grow by."""
HEALED, RESTARTED = 15.0, 20.0
"""Seconds until another instance, or another server, answers for a frozen one."""
LOG = 1 << 20
"""Bytes that the server's log may grow by."""


@dataclass(frozen=True)
class Good:
    """Good callers, one per protocol, during an attack."""

    loads: tuple[Load, ...]

    def longest(self, since: float) -> float:
        """Seconds of the slowest request that began since then."""
        return max(each.ended - each.began for load in self.loads for each in load.since(since))

    def answered(self, seconds: float) -> None:
        """Wait until every caller has got 5 more answers."""
        now = time.monotonic()
        for load in self.loads:
            load.wait_for_success(now, 5, seconds)

    def check(self) -> None:
        """Check that no request was refused or read wrongly."""
        for load in self.loads:
            assert not load.wrong
            assert not load.failed(), load.failed()[:3]


@pytest.fixture
def good(serve: Serve) -> Iterator[Good]:
    assert eventually(serve.is_healthy, 30 * LENIENT)
    with ExitStack() as stack:
        loads = (stack.enter_context(Load(serve.addresses[protocol], 1, pause=0.1)) for protocol in ("http", "grpc"))
        callers = Good(tuple(loads))
        callers.answered(30 * LENIENT)
        yield callers


def memory(serve: Serve) -> int:
    """Bytes of the server and its stubs together."""
    return sum(each.memory_info().rss for each in serve.members())


def unharmed(serve: Serve, before: list[psutil.Process]) -> None:
    """Check that no process ended and the supervisor did nothing."""
    assert all(each.is_running() for each in before)
    assert not serve.events("heal") and not serve.events("restart") and not serve.events("renew")


def bounded(serve: Serve, good: Good, before: list[psutil.Process], at_first: int) -> str:
    """Check that good callers were answered, no process ended, and little memory was taken -> the end of the row."""
    good.check()
    unharmed(serve, before)
    grown = memory(serve) - at_first
    assert grown < GROWTH
    return f"memory {grown / 1e6:+.0f} MB; no process ended"


def bomb(serve: Serve, good: Good, times: int) -> str:
    """Send every bomb several times over both protocols with the default client, retries included -> the row."""
    family, at_first = serve.members(), memory(serve)
    started = time.monotonic()
    good.answered(60)
    usual = good.longest(started)
    longest, slowest = 0.0, 0.0

    def send(protocol: str, picture: bytes) -> None:
        with PlateClient(serve.addresses[protocol]) as client:
            for _ in range(times // 2):
                with pytest.raises((InputError, InputTooLarge)):
                    client.read(picture)

    for name, made in BOMBS.items():
        began = time.monotonic()
        picture = made()
        with ThreadPoolExecutor(2) as pool:
            for sent in [pool.submit(send, protocol, picture) for protocol in ("http", "grpc")]:
                sent.result()
        slowest = max(slowest, time.monotonic() - began)
        good.answered(60)
        longest = max(longest, good.longest(began))
        sys.stdout.write(f"{name}: {time.monotonic() - began:.1f} s, longest wait so far {longest:.2f} s\n")
    end = bounded(serve, good, family, at_first)
    return (
        f"{len(BOMBS)} bombs {times} times each, at most {slowest:.0f} s a bomb: a good caller's longest wait "
        f"{longest:.2f} s, {usual:.2f} s without; {end}"
    )


def attack_through_nginx(serve: Serve, good: Good, folder: Path, times: int) -> str:
    """A client with a token sends what ends or fills Triton, several times -> the row."""
    family, at_first = serve.members(), memory(serve)
    began = time.monotonic()
    requests: tuple[tuple[list[dict[str, object]], dict[str, object]], ...] = (
        ([{"name": "texts", "parameters": {"classification": 1}}], {}),
        ([{"name": "scores", "parameters": {"classification": 1}}], {}),
        ([{"name": "texts"}], {f"p{number}": 1 for number in range(300)}),
    )
    with nginx(serve.http_url, str(parse_url(serve.addresses["grpc"])), folder) as proxy:
        for _ in range(times):
            for outputs, parameters in requests:
                assert proxy.infer(PICTURES[0], outputs, **parameters)[0] == 400
            for picture, refused in ((PICTURES[0], {"classes": 1}), (ZEROS, {"compression": "gzip"})):
                with pytest.raises(InferenceServerException, match="not "):
                    proxy.infer_grpc(picture, **refused)
    good.answered(60)
    end = bounded(serve, good, family, at_first)
    return (
        f"5 requests that end or fill Triton, {times} times each through nginx: a good caller's longest wait "
        f"{good.longest(began):.2f} s; {end}"
    )


@pytest.mark.parametrize("times", [4, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_neither_bombs_nor_requests_that_crash_triton_affect_another_client(
    serve: Serve, good: Good, tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    say(capsys, bomb(serve, good, times))
    say(capsys, attack_through_nginx(serve, good, tmp_path / "nginx", times))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("piece", range(PIECES))
def test_20000_mutated_pictures(serve: Serve, good: Good, capsys: pytest.CaptureFixture[str], piece: int) -> None:
    family, at_first = serve.members(), memory(serve)

    def send(numbers: range) -> tuple[int, float]:
        read, longest = 0, 0.0
        with PlateClient(serve.addresses["grpc"], timeout=60, retries=0) as client:
            for number in numbers:
                rng = Rng(number)
                picture = mutated(rng, rng.choice(PICTURES))
                began = time.monotonic()
                try:
                    client.read(picture)
                    read += 1
                except (InputError, InputTooLarge):
                    pass
                longest = max(longest, time.monotonic() - began)
        return read, longest

    with ThreadPoolExecutor(AT_ONCE) as pool:
        numbers = range(piece, MUTATED, PIECES)
        found = list(pool.map(send, (numbers[start::AT_ONCE] for start in range(AT_ONCE))))
    end = bounded(serve, good, family, at_first)
    say(
        capsys,
        f"{len(numbers)} mutated pictures, {sum(read for read, _ in found)} decoded: longest answer "
        f"{max(longest for _, longest in found):.1f} s of 60; {end}",
    )


GIANT = np.zeros((20_000, 20_000, 3), np.uint8)
"""A raw frame of 1.2 GB, of which no part is ever in memory."""


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_giant_raw_frames_over_and_over_affect_no_other_client(
    serve: Serve, good: Good, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    family, at_first = serve.members(), memory(serve)
    began = time.monotonic()
    head = f"POST {INFER} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {GIANT.size}\r\n\r\n"
    with nginx(serve.http_url, str(parse_url(serve.addresses["grpc"])), tmp_path / "nginx") as proxy:
        for _ in range(TIMES):
            for protocol in ("http", "grpc"):
                with (
                    PlateClient(serve.addresses[protocol]) as client,
                    pytest.raises(InputTooLarge, match="20000x20000"),
                ):
                    client.read(GIANT)
            with proxy.connect() as raw:
                raw.sendall(head.encode())
                assert raw.recv(1 << 12).startswith(b"HTTP/1.1 413 ")
    good.answered(60)
    end = bounded(serve, good, family, at_first)
    say(
        capsys,
        f"A22 a raw frame of 20000x20000 pixels, {TIMES} times by the client over HTTP and gRPC, and through nginx: "
        f"a good caller's longest wait {good.longest(began):.2f} s; {end}",
    )


@pytest.mark.soak
def test_idle_connections_block_no_client(serve: Serve, good: Good, capsys: pytest.CaptureFixture[str]) -> None:
    family = serve.members()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    ports = [int(serve.addresses[each].rpartition(":")[2]) for each in ("http", "grpc")]
    written = serve.log.stat().st_size
    try:
        with ExitStack() as stack:
            for number in range(IDLE):
                stack.enter_context(socket.create_connection(("127.0.0.1", ports[number % 2]), 30))
            began = time.monotonic()
            for _ in range(20):
                good.answered(60)
            longest = good.longest(began)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    good.check()
    unharmed(serve, family)
    logged = serve.log.stat().st_size - written
    assert logged < LOG
    say(capsys, f"{IDLE} idle connections: a good caller's longest wait {longest:.2f} s; log {logged / 1e3:+.0f} kB")


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("model", MODELS)
def test_a_frozen_instance_is_healed(serve: Serve, capsys: pytest.CaptureFixture[str], model: str) -> None:
    seconds = freeze(serve, lambda: serve.stubs(model)[0], "heal")
    say(capsys, f"a frozen instance of {model}: everybody is answered after {seconds:.1f} s")
    assert seconds < HEALED


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_frozen_server_is_restarted(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = freeze(serve, serve.server, "restart")
    say(capsys, f"a frozen server: everybody is answered after {seconds:.1f} s")
    assert seconds < RESTARTED


def freeze(serve: Serve, victim: Callable[[], psutil.Process], mended: str) -> float:
    """Stop a process -> the seconds until every new request is answered again."""
    assert eventually(serve.is_healthy, 30 * LENIENT)
    with ExitStack() as stack:
        loads = [stack.enter_context(Load(serve.addresses[each], 2, timeout=30)) for each in ("http", "grpc")]
        for load in loads:
            load.wait_for_success(0.0, 4, 60)
        began = time.monotonic()
        victim().suspend()
        assert eventually(lambda: serve.events(mended), 120)
        for load in loads:
            load.wait_for_success(time.monotonic(), 4, 120)
    over = max(
        (each.ended for load in loads for each in load.since(began - 30) if each.fault or each.ended - each.began > 1),
        default=began,
    )
    assert not any(load.wrong for load in loads)
    return max(0.0, over - began)


GOOD_SIZES = ((720, 1280), (1080, 1920))


@pytest.mark.soak
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".bmp"])
def test_checking_a_valid_picture_takes_little_time(capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    """The check's share of the CPU time of a picture."""
    reader = LocalReader()
    for h, w in GOOD_SIZES:
        noise = np.random.default_rng(0).integers(0, 40, (h, w, 3), np.uint8)
        picture = encode(compose(h, w, [Placed("A123BC77", w // 3, h // 2, 200)]) + noise, suffix)
        share = cpu_time(inspect, picture) / cpu_time(reader.read, picture)
        say(capsys, f"{suffix} {w}x{h}: the walk is {share:.3%} of reading it, by CPU time")
        assert share <= 0.01


def cpu_time(call: Callable[[bytes], object], picture: bytes) -> float:
    """CPU seconds of one call, the minimum of many."""
    found = []
    for _ in range(10):
        began = time.process_time()
        call(picture)
        found.append(time.process_time() - began)
    return min(found)


SIDE = 7000
"""49 of the 50 megapixels that are accepted."""
DECODING = 30.0
"""CPU seconds: half of the time after which the watchdog ends a process."""


PASSES = (
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
)  # fmt: skip
"""Of an interlaced PNG: the first pixel, and the steps to the next ones."""


def interlaced_png() -> bytes:
    """RGBA of 16 bits in seven passes, with every row filtered by Paeth."""
    packer, packed = zlib.compressobj(1), bytearray()
    for x, y, dx, dy in PASSES:
        w, h = -(-(SIDE - x) // dx), -(-(SIDE - y) // dy)
        row = b"\x04" + Rng(0).randbytes(997) * (w * 8 // 997 + 1)
        for _ in range(h):
            packed += packer.compress(row[: 1 + w * 8])
    packed += packer.flush()
    size = struct.pack(">IIBBBBB", SIDE, SIDE, 16, 6, 0, 0, 1)
    return png(chunk(b"IHDR", size), chunk(b"IDAT", bytes(packed)), IEND)


def noisy_jpeg() -> bytes:
    """As many bytes as pixels allow, read in 10 passes."""
    noise = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    options = (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    return cv2.imencode(".jpg", noise, (cv2.IMWRITE_JPEG_QUALITY, 60, *options))[1].tobytes()


@pytest.mark.soak
@pytest.mark.parametrize(
    "worst",
    [interlaced_png, lambda: progressive(SIDE, 10), noisy_jpeg],
    ids=["interlaced PNG", "JPEG of 20 scans", "JPEG of noise"],
)
def test_decoding_the_worst_accepted_picture_ends_in_time(
    capsys: pytest.CaptureFixture[str], worst: Callable[[], bytes]
) -> None:
    picture = worst()
    began = time.process_time()
    assert decode_image(picture, FrameLimits()).shape == (SIDE, SIDE, 3)
    seconds = time.process_time() - began
    say(capsys, f"decoding {len(picture) / 1e6:.1f} MB to {SIDE}x{SIDE} takes {seconds:.1f} s of CPU time")
    assert seconds < DECODING
