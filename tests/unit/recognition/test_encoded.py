"""Untrusted bytes can only make a decoder decode one picture of bounded size."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.recognition.encoded import MAX_SCANNED_PIXELS, inspect
from plate_nets.recognition.heif import DamagedPicture, check_heif
from plate_nets.recognition.images import FORMATS, check_image, decode_image
from plate_nets.recognition.reader import FrameLimits
from tests.bombs import IDAT, IEND, IHDR, chunk, png, progressive
from tests.frames import Placed, compose, encode, saved

LIMITS = FrameLimits()
CAR = compose(96, 128, [Placed("A123BC77", 20, 40, 80)])
PICTURES = (
    *(encode(CAR, suffix) for suffix in (".jpg", ".png", ".webp", ".bmp")),
    saved(CAR, "HEIC"),
    saved(CAR, "AVIF"),
)


def test_the_smallest_picture_is_accepted() -> None:
    assert decode_image(png(IHDR, IDAT, IEND), LIMITS).shape == (16, 16, 3)


OPTIONS: dict[str, dict[str, object]] = {
    "JPEG": {"quality": 100, "subsampling": 0}, "WEBP": {"lossless": True},
    "HEIC": {"quality": 100, "chroma": 444}, "AVIF": {"quality": 100, "subsampling": "4:4:4"},
}  # fmt: skip


ONE_START, PAST_END = "expected one IHDR chunk, at its start", "extends past the end of the data"


@pytest.mark.parametrize(
    ("chunks", "says"),
    [
        ([IHDR, chunk(b"acTL", struct.pack(">II", 1, 0)), IDAT, IHDR, IEND], ONE_START),  # OpenCV 4.11 and 4.12 crash
        ([IHDR, IDAT, IHDR, IEND], ONE_START),
        ([IDAT, IHDR, IEND], ONE_START),
        ([IHDR, IEND], "no IDAT chunk"),
        ([IHDR, IDAT], "it ends within a header"),
        *(  # OpenCV allocates the declared size: 4 GB for a picture of 49 bytes
            ([IHDR, chunk(kind, b"", length)], PAST_END)
            for kind in (b"IDAT", b"tEXt", b"abCD", b"IEND")
            for length in (2**31 - 1, 2**31, 2**32 - 1)
        ),
    ],
)
def test_a_png_of_other_chunks_is_refused(chunks: list[bytes], says: str) -> None:
    with pytest.raises(InputError, match=f"got a damaged one .*{says}"):
        decode_image(png(*chunks), LIMITS)


OTHER_KINDS = (3, 5, 6, 7, 9, 10, 11, 13, 14, 15)
OTHER_JPEGS = {f"SOF{kind}": PICTURES[0].replace(b"\xff\xc0", bytes((0xFF, 0xC0 + kind))) for kind in OTHER_KINDS}


@pytest.mark.parametrize(
    ("encoded", "says"),
    [
        (
            saved(CAR, "AVIF", save_all=True, append_images=[Image.new("RGB", (128, 96))]),
            r"an image sequence \(an animated picture\)",
        ),
        *((jpeg, f"a JPEG of kind {kind}, neither baseline nor progressive") for kind, jpeg in OTHER_JPEGS.items()),
    ],
)
def test_a_picture_of_a_kind_that_is_not_read_is_not_called_damaged(encoded: bytes, says: str) -> None:
    """Lossless, hierarchical and arithmetic JPEGs. The last kind kept a decoder busy longer than any other picture."""
    with pytest.raises(InputError, match=rf"picture, got one of {len(encoded)} bytes that is not read: it is {says}$"):
        decode_image(encoded, LIMITS)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_of_an_animation_the_first_picture_is_read(kind: str) -> None:
    more = [Image.new("RGB", (128, 96), (each, 9, 9)) for each in (60, 200)]
    encoded = saved(CAR, kind, save_all=True, append_images=more, **OPTIONS.get(kind, {}))
    np.testing.assert_array_equal(decode_image(encoded, LIMITS), CAR)


def test_a_decoder_gets_only_the_chunks_that_pixels_need() -> None:
    bomb = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 20)))
    assert check_image(png(IHDR, *[bomb] * 50, IDAT, IEND), LIMITS).data == png(IHDR, IDAT, IEND)


def test_the_scans_of_a_jpeg_are_bounded() -> None:
    """12,000 scans of 49 megapixels kept a detector busy for minutes."""
    whole = saved(CAR, "JPEG", progressive=True)
    scan = whole[whole.rindex(b"\xff\xda") : -2]
    few, many = (whole[:-2] + scan * count + whole[-2:] for count in (2, 300))
    assert decode_image(few, LIMITS).shape == CAR.shape
    with pytest.raises(InputError, match="more passes over its 128x96 pixels"):
        decode_image(many, LIMITS)


def test_a_large_jpeg_has_fewer_scans() -> None:
    assert check_image(progressive(7000, 0), LIMITS).scans > 1
    with pytest.raises(InputError, match="more passes"):
        check_image(progressive(7000, MAX_SCANNED_PIXELS // 7000**2), LIMITS)


ENTRIES = b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + struct.pack(">HHII", 1, 3, 1, 0) * 5000
"""An EXIF structure in which all entries are read, because none is the orientation."""
MEGABYTES = 4 << 20


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"\xff\xd8", b"\xff"),
        (b"\xff\xd8", b"\xff\xe2\0\x02"),
        (b"\xff\xd8", b"\xff\xe1" + struct.pack(">H", 2 + len(ENTRIES)) + ENTRIES),
        (png(IHDR), chunk(b"IDAT")),
        (png(IHDR), chunk(b"eXIf", ENTRIES.removeprefix(b"Exif\0\0"))),
        (b"RIFF" + struct.pack("<I", MEGABYTES) + b"WEBP", b"ABCD\0\0\0\0"),
    ],
    ids=["JPEG of FF", "JPEG segments", "EXIF in JPEG", "PNG chunks", "EXIF in PNG", "WebP chunks"],
)
@pytest.mark.timeout(60)
def test_checking_the_structure_of_a_picture_ends_soon(start: bytes, part: bytes) -> None:
    """A run of 100 kB of FF once took minutes, until the watchdog ended the process."""
    with pytest.raises(DamagedPicture):
        inspect((start + part * (MEGABYTES // len(part)))[:MEGABYTES])


XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/"%s</rdf:Description></rdf:RDF></x:xmpmeta>"""


@pytest.mark.parametrize(
    "form", [' tiff:Orientation="6">', " tiff:Orientation = '6'>", "><tiff:Orientation>6</tiff:Orientation>"]
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_picture_is_turned_upright_by_its_xmp_unless_exif_says_otherwise(kind: str, form: str) -> None:
    xmp = XMP % form
    texts = PngInfo()
    texts.add_itxt("XML:com.adobe.xmp", xmp)
    described: dict[str, object] = {"pnginfo": texts} if kind == "PNG" else {"xmp": xmp.encode()}
    exif = Image.Exif()
    exif[0x0112] = 3
    for more, orientation in (({}, 6), ({"exif": exif}, 3)):
        assert check_image(saved(CAR, kind, **described, **more), LIMITS).orientation == orientation


def test_the_first_orientation_counts() -> None:
    first, second = (b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", 0x0112, 3, 1, each, 0) for each in (6, 3))
    assert check_image(png(IHDR, chunk(b"eXIf", first), chunk(b"eXIf", second), IDAT, IEND), LIMITS).orientation == 6


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "HEIC", "AVIF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_format_is_turned_upright(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    encoded = saved(CAR, kind, exif=exif, **OPTIONS.get(kind, {}))
    with Image.open(io.BytesIO(encoded)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))[..., ::-1]
    found = decode_image(encoded, LIMITS)
    assert found.shape == expected.shape
    assert np.abs(found.astype(int) - expected).max() <= {"JPEG": 3, "AVIF": 3}.get(kind, 0)
    if kind == "HEIC":  # the container says the turn; that in EXIF does not count
        assert check_heif(encoded)[1:] == (*found.shape[:2], 1)


@pytest.mark.parametrize("encoded", PICTURES, ids=FORMATS)
def test_the_size_in_the_headers_equals_that_of_the_decoder(encoded: bytes) -> None:
    found = check_image(encoded, LIMITS)
    assert (found.h, found.w, found.orientation, found.scans) == (96, 128, 1, 1)


@pytest.mark.parametrize(
    ("kind", "options", "at", "says"),
    [
        ("WEBP", {"exif": b"Exif\0\0II*\0"}, 24, "its picture does not fill its canvas"),
        ("BMP", {}, 18, "expected at most 1000000 pixels"),
    ],
)
def test_a_gigantic_canvas_is_refused(kind: str, options: dict[str, bytes], at: int, says: str) -> None:
    encoded = bytearray(saved(CAR, kind, **options))
    encoded[at : at + 2] = b"\xff\x7f"
    with pytest.raises(InputError, match=says):
        decode_image(bytes(encoded), FrameLimits(max_pixels=1_000_000))


def mutate(data: bytes, changes: list[tuple[int, int, int]]) -> bytes:
    """Bytes with some of them set, cut or doubled."""
    for place, value, kind in changes:
        at = place % max(1, len(data))
        if kind == 0:
            data = data[:at] + bytes([value]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + data[at + value :]
        else:
            data = data[: at + value] + data[at:]
    return data


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255), st.integers(0, 2)), max_size=6)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(PICTURES), CHANGES)
def test_any_bytes_give_a_frame_or_a_clear_error(encoded: bytes, changes: list[tuple[int, int, int]]) -> None:
    try:
        frame = decode_image(mutate(encoded, changes), FrameLimits(max_pixels=1_000_000))
    except (InputError, InputTooLarge) as error:
        assert str(error).startswith("image: expected")
    else:
        assert frame.ndim == 3


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(st.sampled_from((b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"RIFF\xff\0\0\0WEBP", b"BM")), st.binary(max_size=300))
def test_checking_any_structure_ends(head: bytes, rest: bytes) -> None:
    try:
        found = inspect(head + rest)
    except DamagedPicture as error:
        assert str(error)
    else:
        assert found is None or found.scans == 1 or found.scans * found.h * found.w <= MAX_SCANNED_PIXELS
