"""Pictures that ended, stalled or filled a server before they were refused. Each has 1.3 MB at most."""

import struct
import zlib
from collections.abc import Callable, Mapping

from PIL import Image

from tests.frames import saved

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"


def chunk(kind: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    """A PNG chunk, possibly with a false length."""
    size = len(body) if length is None else length
    return struct.pack(">I", size) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes) -> bytes:
    return PNG + b"".join(chunks)


def header(side: int) -> bytes:
    """IHDR of a grey picture."""
    return chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))


IHDR = header(16)
IDAT = chunk(b"IDAT", zlib.compress(bytes(17 * 16)))
IEND = chunk(b"IEND")
HUGE = png(header(8000), IDAT, IEND)
"""A picture of 64 megapixels, more than is read, by its header."""


def progressive(side: int, scans: int) -> bytes:
    """A progressive JPEG that makes a decoder scan it many times."""
    whole = bytearray(saved(Image.new("RGB", (128, 96)), "JPEG", progressive=True))
    at = whole.index(b"\xff\xc2")
    whole[at + 5 : at + 9] = struct.pack(">HH", side, side)
    scan = bytes(whole[whole.rindex(b"\xff\xda") : -2])
    return bytes(whole[:-2]) + scan * scans + b"\xff\xd9"


def animated_webp() -> bytes:
    first, second = (Image.new("RGB", (64, 64), colour) for colour in ("red", "blue"))
    return saved(first, "WEBP", save_all=True, append_images=[second])


BOMBS: Mapping[str, Callable[[], bytes]] = {
    "animated PNG": lambda: png(IHDR, chunk(b"acTL", struct.pack(">II", 1, 0)), IDAT, IHDR, IEND),
    "PNG chunk of 4 GB": lambda: png(IHDR, chunk(b"tEXt", b"", 2**32 - 1)),
    "PNG of 49 MP without pixels": lambda: png(header(7000), chunk(b"IDAT", zlib.compress(b"")), IEND),
    "PNG of 100,000 chunks": lambda: png(IHDR, chunk(b"IDAT") * 100_000, IEND),
    "JPEG of 12,000 scans": lambda: progressive(7000, 12_000),
    "JPEG of a run of FF": lambda: JPEG + b"\xff" * 1_000_000,
}
