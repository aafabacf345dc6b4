"""The caller's picture: what is accepted, and what the refusal says."""

import contextlib
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.recognition.encoded import EOI
from plate_nets.recognition.images import check_image, decode_image, load_picture
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Frame
from tests.frames import Placed, compose, encode, saved

LIMITS = FrameLimits()
FRAME = compose(120, 200, [Placed("A123BC77", 20, 40)])
SUFFIXES = (".jpg", ".png", ".webp", ".bmp")
NO_PICTURE = "^image: expected a JPEG, PNG, WEBP, BMP, HEIC or AVIF picture, got"


def by_opencv(encoded: bytes) -> Frame:
    return np.asarray(cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def in_mode(mode: str) -> Image.Image:
    return Image.fromarray(FRAME[..., ::-1]).convert(mode)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_picture_decodes_as_opencv_reads_it(suffix: str) -> None:
    encoded = encode(FRAME, suffix)
    np.testing.assert_array_equal(decode_image(encoded, LIMITS), by_opencv(encoded))


@pytest.mark.parametrize("options", [{"progressive": True}, {"subsampling": 0}, {"subsampling": 2}, {"quality": 20}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_jpeg_of_any_kind_decodes_as_opencv_reads_it(mode: str, options: dict[str, Any]) -> None:
    encoded = saved(in_mode(mode), "JPEG", **options)
    found = decode_image(encoded, LIMITS)
    np.testing.assert_allclose(found, by_opencv(encoded), atol=mode == "CMYK")  # two ways to round


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "P", "1", "I;16", "RGB;16", "P with a transparent colour"])
def test_a_png_of_any_kind_decodes_as_opencv_reads_it(mode: str) -> None:
    if mode.endswith("16"):
        shape = FRAME.shape[: 3 if mode.startswith("RGB") else 2]
        encoded = cv2.imencode(".png", np.random.default_rng(1).integers(0, 1 << 16, shape, np.uint16))[1].tobytes()
    else:
        transparent = {"transparency": bytes(range(200))} if " " in mode else {}
        encoded = saved(in_mode(mode.split()[0]), "PNG", **transparent)
    np.testing.assert_array_equal(decode_image(encoded, LIMITS), by_opencv(encoded))


def with_stray(encoded: bytes) -> bytes:
    """With bytes between two headers, of which libjpeg tells first."""
    return encoded.replace(b"\xff\xdb", b"abc\xff\xdb", 1)


JPEGS = pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
CODED = pytest.mark.parametrize(
    "options", [{}, {"optimize": True}, {"progressive": True}, {"restart_marker_blocks": 8}], ids=str
)


@JPEGS
@CODED
@pytest.mark.parametrize(
    "tail", [b"", b"\xff", b"\r\n", b"\0\0", b"\0" * 600, b"\r\n" + EOI, b"stray\xff\xd9 and more"]
)
def test_a_jpeg_without_its_end_is_read_if_it_is_whole(mode: str, options: dict[str, Any], tail: bytes) -> None:
    """Some cameras send one, some with bytes of their own behind it."""
    whole = saved(in_mode(mode), "JPEG", **options)
    expected = decode_image(whole, LIMITS)
    np.testing.assert_array_equal(decode_image(whole[:-2] + tail, LIMITS), expected)
    np.testing.assert_array_equal(decode_image(with_stray(whole[:-2] + tail), LIMITS), expected)


@JPEGS
@CODED
@pytest.mark.parametrize("tail", [b"", EOI, b"\r\n" + EOI, b"\0\0"])
def test_a_jpeg_that_lacks_pixels_is_refused(mode: str, options: dict[str, Any], tail: bytes) -> None:
    """Also if something has ended it after the cut."""
    whole = saved(in_mode(mode), "JPEG", **options)
    restarts = [at for at in range(len(whole)) if 0xD0 <= whole[at] <= 0xD7 and whole[at - 1] == 0xFF]
    parts = [int(len(whole) * part) for part in (0.3, 0.5, 0.9, 0.97)]
    for end in (*parts, *([] if tail.strip(EOI) else [len(whole) - 8]), *(at - 1 for at in restarts[-2:])):
        for cut in (whole[:end] + tail, with_stray(whole[:end] + tail)):
            with pytest.raises(InputError, match="damaged"):
                decode_image(cut, LIMITS)


@JPEGS
def test_a_jpeg_that_lacks_a_pass_is_refused(mode: str) -> None:
    whole = saved(in_mode(mode), "JPEG", progressive=True)
    for end in [at for at in range(len(whole)) if whole.startswith(b"\xff\xda", at)][1:]:
        with pytest.raises(InputError, match="damaged"):
            decode_image(whole[:end], LIMITS)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("front", [b"\n", b"\r\n", b"\r\n\r\n  "])
def test_white_space_in_front_of_a_picture_is_skipped(suffix: str, front: bytes) -> None:
    encoded = encode(FRAME, suffix)
    np.testing.assert_array_equal(decode_image(front + encoded, LIMITS), decode_image(encoded, LIMITS))


def damaged(suffix: str, at: int, value: bytes) -> bytes:
    encoded = encode(FRAME, suffix)
    at %= len(encoded)
    return encoded[:at] + value + encoded[at + len(value) :]


@pytest.mark.parametrize(
    "encoded",
    [
        damaged(".bmp", 28, b"\7"),
        damaged(".bmp", 30, b"\x09"),
        damaged(".bmp", 28, b"\x08\0\1"),
        damaged(".bmp", 28, b"\x04\0\2"),
        damaged(".bmp", 14, b"\xc8"),
        damaged(".png", 24, b"\7"),
        damaged(".png", -2000, b"damage"),
        damaged(".webp", -2000, b"damage"),
        damaged(".jpg", -2000, b"damage"),
        encode(FRAME, ".jpg").replace(b"\xff\xdb", b"abc\xff\xdb"),
        encode(FRAME, ".jpg")[:-2] + b"stray\xff\xd9",
        encode(FRAME, ".jpg")[:3000] + b"\xff\xd9",
    ],
)
def test_a_decoder_prints_nothing(encoded: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """libjpeg, libpng and OpenCV have lines of their own for each of these."""
    with contextlib.suppress(InputError):
        decode_image(encoded, LIMITS)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".heic"])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.7, 0.97])
def test_a_truncated_picture_is_refused(suffix: str, part: float) -> None:
    encoded = encode(FRAME, suffix)
    with pytest.raises(InputError, match=NO_PICTURE):
        decode_image(encoded[: int(len(encoded) * part)], LIMITS)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".heic", ".avif"])
def test_a_picture_over_the_limit_is_refused_by_its_header(suffix: str) -> None:
    limits = FrameLimits(max_pixels=100 * 100)
    with pytest.raises(InputTooLarge, match=r"expected at most 10000 pixels, got 24000 \(200x120\)"):
        decode_image(encode(FRAME, suffix), limits)


def test_checking_a_picture_does_not_decode_it() -> None:
    encoded = encode(FRAME, ".jpg")
    check_image(encoded[: int(len(encoded) * 0.7)], LIMITS)


def test_too_many_bytes_are_refused_before_they_are_parsed() -> None:
    with pytest.raises(InputTooLarge, match="image: expected at most 1000 bytes, got 1001"):
        decode_image(bytes(1001), FrameLimits(max_bytes=1000))


OTHER_FORMATS = {
    "GIF": b"GIF89a", "little-endian TIFF": b"II*\0", "TIFF": b"MM\0*", "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n",
    "JPEG XL": b"\xff\x0a", "Photoshop": b"8BPS", "Netpbm": b"P6\n", "Windows icon": b"\0\0\1\0",
}  # fmt: skip
OTHER_TYPES: dict[str, object] = {
    "NoneType": None,
    "str": "car.jpg",
    "list": [[1]],
    r"uint8 \(9, 9\)": np.zeros((9, 9), np.uint8),
    r"uint8 \(9, 9, 1\)": np.zeros((9, 9, 1), np.uint8),
    r"uint8 \(9, 9, 4\)": np.zeros((9, 9, 4), np.uint8),
    r"uint8 \(1, 9, 9, 3\)": np.zeros((1, 9, 9, 3), np.uint8),
    r"float32 \(9, 9, 3\)": np.zeros((9, 9, 3), np.float32),
}
FRAME_TYPE = r"^image: expected bytes, or a BGR frame of uint8 \(height, width, 3\), got"


@pytest.mark.parametrize(
    ("image", "says"),
    [
        *((data, NO_PICTURE) for data in (b"", b"\0", b"not a picture", b"\xff\xd8\xff", b"BM" + bytes(100))),
        *(
            (start + bytes(50), f"of a {kind.split('endian ')[-1]} picture; convert it to one of these$")
            for kind, start in OTHER_FORMATS.items()
        ),
        *(
            (np.zeros((h, w, 3), np.uint8), rf"at least 8 pixels a side, got {w}x{h} ")
            for h, w in ((0, 0), (0, 100), (100, 0), (1, 1), (7, 3000))
        ),
        *((image, rf"{FRAME_TYPE} {got}$") for got, image in OTHER_TYPES.items()),
    ],
)
def test_something_other_than_a_picture_is_refused(image: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_picture(image, LIMITS)


def test_a_frame_of_exactly_the_limit_is_accepted() -> None:
    limits = FrameLimits(max_pixels=80 * 100, min_side=80)
    assert load_picture(np.zeros((80, 100, 3), np.uint8), limits).shape == (80, 100, 3)
    with pytest.raises(InputTooLarge, match="input__0: expected at most 8000 pixels"):
        load_picture(np.zeros((80, 101, 3), np.uint8), limits)


def test_a_picture_comes_as_bytes_or_as_a_frame_of_any_layout() -> None:
    encoded = encode(FRAME)
    images: tuple[Any, ...] = (FRAME, np.asfortranarray(FRAME), encoded, bytearray(encoded), memoryview(encoded))
    for image in images:
        np.testing.assert_array_equal(load_picture(image, LIMITS), FRAME)
    assert load_picture(FRAME, LIMITS) is FRAME
