"""Checks the structure of an encoded picture without decoding it. Untrusted bytes come here first.

Decoders trust what they read: one allocates the length that a PNG's chunk declares, and a JPEG of a megabyte may need
thousands of passes over its pixels. So each structure is checked here, in plain Python: every length lies within the
data, and the number of passes is limited. Layouts: PNG (ISO/IEC 15948), JPEG (ITU-T T.81), WebP container (RFC 9649),
BMP (the headers of Windows 3 and later); HEIC and AVIF in `plate_nets.recognition.heif`.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from plate_nets.recognition.heif import DamagedPicture, UnsupportedPicture, check_heif, is_heif

SUFFIXES = frozenset(
    (
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".jfi", ".pjpeg", ".pjp", ".mpo"),
        *(".png", ".apng", ".webp", ".bmp", ".dib", ".heic", ".heif", ".hif", ".avif"),
    )
)
"""Suffixes of the picture files that are read from a folder, in lower case."""

MAX_SCANS = 100
"""Passes of one JPEG. Encoders write 1 to 12."""
MAX_SCANNED_PIXELS = 1_000_000_000
"""Pixels times passes of one JPEG, for which libjpeg needs about 5 s. 50 megapixels in 12 passes are 600 million."""

JPEG, EOI = b"\xff\xd8", b"\xff\xd9"
"""The first bytes of a JPEG, and the last."""

MAX_PARTS = 100_000
"""Chunks or segments of one picture. 100,000 take 0.1 s; the largest PNG in chunks of 8 kB has 8,192."""

_PNG = b"\x89PNG\r\n\x1a\n"
_DECODED = frozenset((b"IHDR", b"PLTE", b"IDAT", b"IEND"))
"""PNG chunks that colours depend on. All others are removed: texts and profiles may unpack to any size, and without its
animation a PNG is its first picture."""
_CHUNK = struct.Struct(">I4s")
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])", re.DOTALL)
"""A JPEG marker within entropy-coded data: not a stuffed FF and not a restart. It matches only the last of several
FF, because a pattern for all of them would scan a long run once for each byte."""
_SOI, _EOI, _SOS, _APP1 = 0xD8, 0xD9, 0xDA, 0xE1
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = 0xC2
_ACCEPTED = frozenset((0xC0, 0xC1, _PROGRESSIVE))
"""Frames with Huffman codes, which every browser reads. Arithmetic codes take a decoder six times as long."""
_EXIF = b"Exif\0\0"
_XMP_PNG, _XMP_JPEG = b"XML:com.adobe.xmp\0", b"http://ns.adobe.com/xap/1.0/\0"
_XMP_ORIENTATION = re.compile(rb"""tiff:Orientation(?:\s*=\s*["']|>)\s*([1-8])\b""")
"""As an attribute or an element of RDF, as Pillow looks for it."""
_ORIENTATION, _SHORT = 0x0112, 3


@dataclass(frozen=True)
class EncodedPicture:
    """A picture with a valid structure: its stored height and width, and how to turn it upright."""

    kind: str
    """JPEG, PNG, WEBP, BMP, HEIC or AVIF."""
    h: int
    w: int
    orientation: int
    """EXIF 2.32, tag 0x0112, or else that of XMP: 1 to 8; 1 if the picture has none, or its decoder turns it."""
    data: bytes
    """The bytes for the decoder; those of a JPEG always end with `EOI`."""
    scans: int = 1
    """Passes over the pixels."""
    ended: bool = True
    """False for a JPEG without its EOI marker, of which only a decoder can say whether pixels are missing."""


def inspect(encoded: bytes) -> EncodedPicture | None:
    """The bytes of a picture -> what its headers say; None if it is not PNG, JPEG, WebP, BMP, HEIC or AVIF.

    White space in front, which some cameras send, is skipped.

    Raises:
        UnsupportedPicture: it is a sequence in HEIC or AVIF, or coded in a way that is not read.
        DamagedPicture: a length exceeds the data, or a part is missing.
    """
    encoded = encoded.lstrip()
    try:
        if encoded.startswith(_PNG):
            return _png(encoded)
        if encoded.startswith(JPEG):
            return _jpeg(encoded)
        if encoded[:4] == b"RIFF" and encoded[8:12] == b"WEBP":
            return _webp(encoded)
        if encoded.startswith(b"BM"):
            return _bmp(encoded)
        if is_heif(encoded):
            return EncodedPicture(*check_heif(encoded), encoded)
    except (struct.error, IndexError) as error:
        raise DamagedPicture("it ends within a header") from error
    return None


def _png(encoded: bytes) -> EncodedPicture:
    whole = memoryview(encoded)
    kept = [whole[: len(_PNG)]]
    h = w = 0
    orientation: int | None = None
    described: int | None = None
    at, kind, has_pixels, has_more = len(_PNG), b"", False, False
    for _ in _parts():
        if kind == b"IEND":
            break
        length, kind = _CHUNK.unpack_from(encoded, at)
        end = at + 12 + length
        if end > len(encoded):
            raise DamagedPicture(f"a chunk of {length} bytes at {at} extends past the end of the data")
        if (kind == b"IHDR") != (at == len(_PNG)):
            raise DamagedPicture("expected one IHDR chunk, at its start")
        if kind in _DECODED:
            kept.append(whole[at:end])
        else:
            has_more = True
        if kind == b"IDAT":
            has_pixels = True
        elif kind == b"IHDR":
            w, h = struct.unpack_from(">II", encoded, at + 8)
        elif kind == b"eXIf" and orientation is None:  # only the first: each may have 65,535 entries
            orientation = _orientation(encoded[at + 8 : end - 4])
        elif kind == b"iTXt" and described is None and encoded.startswith(_XMP_PNG, at + 8):
            described = _described(encoded, at + 8, end - 4)
        at = end
    if not has_pixels:
        raise DamagedPicture("no IDAT chunk")
    return EncodedPicture("PNG", h, w, orientation or described or 1, b"".join(kept) if has_more else encoded)


def _jpeg(encoded: bytes) -> EncodedPicture:
    size: tuple[int, int] | None = None
    orientation: int | None = None
    described: int | None = None
    scans, components, several, pixels = 0, 0, False, 0
    headers, has_stray = len(JPEG), False
    exact: set[tuple[int, int]] = set()  # components and their coefficients of which a scan gave the last bit
    for marker, start, end in _segments(encoded):
        if not scans:
            has_stray, headers = has_stray or start - 4 != headers, end
        if marker in _FRAMES:
            if marker not in _ACCEPTED:
                raise UnsupportedPicture(f"it is a JPEG of kind SOF{marker - 0xC0}, neither baseline nor progressive")
            if size is not None:
                raise DamagedPicture("more than one frame header")
            h, w, components = struct.unpack_from(">HHB", encoded, start + 1)
            size = (h, w)
            several = marker == _PROGRESSIVE
        elif marker == _APP1 and encoded[start : start + len(_EXIF)] == _EXIF and orientation is None:
            orientation = _orientation(encoded[start + len(_EXIF) : end])
        elif marker == _APP1 and described is None and encoded.startswith(_XMP_JPEG, start):
            described = _described(encoded, start, end)
        elif marker == _SOS:
            if size is None:
                raise DamagedPicture("no frame header before the pixels")
            scans += 1
            pixels = end
            several = several or encoded[start] < components
            if not several:  # a decoder reads only this scan
                break
            first, last, bits = encoded[end - 3 : end]
            if not bits & 0xF:
                named = encoded[start + 1 : end - 3 : 2]
                exact.update((name, each) for name in named for each in range(first, min(last, 63) + 1))
            if scans > MAX_SCANS or scans * size[0] * size[1] > MAX_SCANNED_PIXELS:
                raise DamagedPicture(f"more passes over its {size[1]}x{size[0]} pixels than are accepted")
    if size is None or not scans:
        raise DamagedPicture("no pixels")
    end = encoded.find(EOI, pixels)
    if end < 0 and several and len(exact) < 64 * components:
        raise DamagedPicture("it ends before its last pass")
    if has_stray:  # libjpeg would tell of bytes between the headers instead of the faults that matter
        kept = (encoded[start - 4 : stop] for _, start, stop in _segments(encoded) if stop <= headers)
        encoded = b"".join((JPEG, *kept, encoded[headers : end if end >= 0 else None], EOI))
    else:
        encoded = encoded + EOI if end < 0 else encoded[: end + len(EOI)]
    return EncodedPicture("JPEG", *size, orientation or described or 1, encoded, scans, end >= 0)


def _segments(encoded: bytes) -> Iterator[tuple[int, int, int]]:
    """Marker segments of a JPEG: the marker, and where its parameters begin and end."""
    at = len(JPEG)
    for _ in _parts():
        found = _MARKER.search(encoded, at)
        if not found:
            return
        marker, at = found[1][0], found.end()
        if marker == _EOI:
            return
        if marker in (_SOI, 0x01):  # without parameters
            continue
        if at + 2 > len(encoded):
            return
        (length,) = struct.unpack_from(">H", encoded, at)
        if length < 2 or at + length > len(encoded):
            raise DamagedPicture(f"a segment of {length} bytes at {at} extends past the end of the data")
        yield marker, at + 2, at + length
        at += length


def _webp(encoded: bytes) -> EncodedPicture:
    (size,) = struct.unpack_from("<I", encoded, 4)
    whole = 8 + size
    if whole > len(encoded):
        raise DamagedPicture(f"its header declares {whole} bytes, got {len(encoded)}")
    canvas: tuple[int, int] | None = None
    image: tuple[int, int] | None = None
    orientation: int | None = None
    described: int | None = None
    animated = False
    at = 12
    for _ in _parts():
        if at + 8 > whole:
            break
        kind, length = struct.unpack_from("<4sI", encoded, at)
        start = at + 8
        at = start + length + length % 2
        if start + length > whole:
            raise DamagedPicture(f"a chunk of {length} bytes at {start - 8} extends past the end of the data")
        animated = animated or kind == b"ANMF"
        if kind == b"VP8X":
            w, h = (int.from_bytes(encoded[start + 4 + 3 * side : start + 7 + 3 * side], "little") for side in (0, 1))
            canvas = (h + 1, w + 1)
        elif kind == b"VP8 ":
            w, h = struct.unpack_from("<HH", encoded, start + 6)
            image = (h & 0x3FFF, w & 0x3FFF)
        elif kind == b"VP8L":
            (bits,) = struct.unpack_from("<I", encoded, start + 1)
            image = ((bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1)
        elif kind == b"EXIF" and orientation is None:
            orientation = _orientation(encoded[start : start + length].removeprefix(_EXIF))
        elif kind == b"XMP " and described is None:
            described = _described(encoded, start, start + length)
    if animated:  # its frames lie within the canvas
        image = canvas
    if image is None:
        raise DamagedPicture("no pixels")
    if canvas not in (None, image):
        raise DamagedPicture("its picture does not fill its canvas")
    return EncodedPicture("WEBP", *image, orientation or described or 1, encoded)


def _bmp(encoded: bytes) -> EncodedPicture:
    offset, header = struct.unpack_from("<II", encoded, 10)
    if header < 12 or 14 + header > len(encoded) or offset > len(encoded):
        raise DamagedPicture("its headers extend past the end of the data")
    if header < 40:
        w, h = struct.unpack_from("<HH", encoded, 18)
    else:
        w, h = struct.unpack_from("<ii", encoded, 18)
    if w <= 0 or h == 0:
        raise DamagedPicture(f"its header declares a size of {w}x{h}")
    return EncodedPicture("BMP", abs(h), w, 1, encoded)


def _parts() -> Iterator[int]:
    """Loop over the parts of a picture, up to `MAX_PARTS`."""
    yield from range(MAX_PARTS)
    raise DamagedPicture(f"more than {MAX_PARTS} parts")


def _orientation(exif: bytes) -> int:
    """A TIFF structure as embedded by EXIF -> its orientation; 1 if it has none or is damaged."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (directory,) = struct.unpack_from(f"{order}I", exif, 4)
        (entries,) = struct.unpack_from(f"{order}H", exif, directory)
        for entry in range(entries):
            tag, kind, count, value = struct.unpack_from(f"{order}HHIH", exif, directory + 2 + 12 * entry)
            if tag == _ORIENTATION:
                return value if kind == _SHORT and count == 1 and 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


def _described(encoded: bytes, start: int, end: int) -> int | None:
    """XMP, not packed -> its orientation; None if it has none."""
    found = _XMP_ORIENTATION.search(encoded, start, end)
    return int(found[1]) if found else None
