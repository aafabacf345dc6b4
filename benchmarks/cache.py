"""Triton's local response cache on `plate_recognition`: what it gives for identical pictures, and where it lies."""

import itertools
import statistics
import time
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.frames import FULL_HD, HD, Picture, drawn_picture
from benchmarks.target import Target
from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, Transport, open_transport
from plate_nets.client.transports.calls import Input, infer, load, unload
from plate_nets.contract import LPRNET, PLATE_RECOGNITION
from plate_nets.errors import PlateError

CACHE_BYTES = 64 << 20
_SECONDS = 30.0
_RAW, _ENCODED = PLATE_RECOGNITION.inputs


def measure_cache(target: Target, seconds: float, progress: Progress) -> dict[str, Any]:
    """A server in explicit mode with the cache on -> rows of what was found, JSON-ready.

    `lprnet` is unloaded on the way and loaded again.

    Raises:
        ServerError: the server failed.
    """
    rows = []
    cases = [(hw, raw) for hw in (HD, FULL_HD) for raw in (False, True)]
    with open_transport(ServerAccess(parse_url(target.url), control_key=target.control_key)) as connection:
        for hw, raw in progress.track(cases, description="response cache"):
            hit, miss = _times(connection, drawn_picture(1, hw), raw, seconds / len(cases))
            what = f"{'raw' if raw else 'encoded'} {hw[1]}x{hw[0]}, 1 plate"
            rows.append(_row(what, f"hit {hit:.2f} ms, miss {miss:.2f} ms", hit_ms=hit, miss_ms=miss))
        rows.append(_row("a bad picture, twice", " / ".join(_ask(connection, b"no picture") for _ in range(2))))
        known = drawn_picture(1).encoded
        before = _ask(connection, known)
        connection.send(unload(LPRNET.name), _SECONDS)
        time.sleep(1)
        rows.append(_row(f"{LPRNET.name} unloaded, a picture from before ({before})", _ask(connection, known)))
        rows.append(_row(f"{LPRNET.name} unloaded, a new picture", _ask(connection, known + b"new")))
        connection.send(load(LPRNET.name), _SECONDS)
        rows.append(_row(f"{LPRNET.name} loaded again, that new picture", _ask(connection, known + b"new")))
    return {"bytes": CACHE_BYTES, "rows": rows}


def _times(connection: Transport, picture: Picture, raw: bool, seconds: float) -> tuple[float, float]:
    """Median ms of a picture that was seen before, and of ones that were not, in turn."""
    hits: list[float] = []
    misses: list[float] = []
    _infer(connection, picture, raw, None)
    deadline = time.perf_counter() + seconds
    for number in itertools.count():
        if number >= 5 and time.perf_counter() > deadline:
            break
        for times, new in ((hits, None), (misses, number)):
            started = time.perf_counter()
            _infer(connection, picture, raw, new)
            times.append((time.perf_counter() - started) * 1000)
    return statistics.median(hits), statistics.median(misses)


def _infer(connection: Transport, picture: Picture, raw: bool, new: int | None) -> None:
    """Ask about a picture, with ``new`` about one that is told apart by a few bytes alone."""
    if raw:
        frame = picture.frame
        if new is not None:
            frame = frame.copy()
            frame[0, :4] = np.frombuffer(new.to_bytes(4, "big"), np.uint8)[:, None]
        given = Input(_RAW, frame)
    else:
        tail = b"" if new is None else new.to_bytes(4, "big")  # behind the end of a JPEG, where decoders do not look
        given = Input(_ENCODED, np.frombuffer(picture.encoded + tail, np.uint8))
    connection.send(infer(PLATE_RECOGNITION, given), _SECONDS)


def _ask(connection: Transport, encoded: bytes) -> str:
    """What the server says to an encoded picture, in words."""
    try:
        sent = Input(_ENCODED, np.frombuffer(encoded, np.uint8))
        answer = connection.send(infer(PLATE_RECOGNITION, sent), _SECONDS)
    except PlateError as error:
        said = str(error).partition(": ")[2].partition(",")[0]
        return said if "an answer without" in said else f"error: {said}"
    return f"success, {', '.join(text.decode() for text in answer['texts'].reshape(-1)) or 'no plate'}"


def _row(what: str, found: str, **numbers: float) -> dict[str, Any]:
    return {"what": what, "found": found, **numbers}
