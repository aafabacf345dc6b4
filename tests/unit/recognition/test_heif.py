"""HEIC and AVIF: what phones make is read, and what would fill the memory is refused before it is decoded."""

import io
import struct
from collections.abc import Mapping

import av
import numpy as np
import pillow_heif
import pytest
from PIL import Image

from plate_nets.common.errors import InputError
from plate_nets.recognition.heif import DamagedPicture, check_heif, is_heif
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import FrameLimits
from tests.frames import Placed, compose, encode, saved

LIMITS = FrameLimits()
CAR = compose(96, 128, [Placed("A123BC77", 20, 40, 80)])
PICTURE = Image.fromarray(CAR[..., ::-1])
LOSSLESS = {"quality": -1, "chroma": 444, "matrix_coefficients": 0}


def heic(picture: Image.Image = PICTURE, **options: object) -> bytes:
    return saved(picture, "HEIC", **{**LOSSLESS, **options})


def box(kind: bytes, *content: bytes) -> bytes:
    body = b"".join(content)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def full(kind: bytes, *content: bytes) -> bytes:
    return box(kind, bytes(4), *content)


def built(
    kinds: Mapping[int, bytes],
    sizes: Mapping[int, tuple[int, int]],
    references: Mapping[int, list[int]] | None = None,
    more: bytes = b"",
) -> bytes:
    """The headers of a HEIC: items by number with their kinds, widths and heights, and tiles; item 1 is the primary."""
    items = [box(b"infe", b"\2\0\0\0", struct.pack(">HH4s", item, 0, kind), b"\0") for item, kind in kinds.items()]
    spaces = [full(b"ispe", struct.pack(">II", *size)) for size in sizes.values()]
    links = [struct.pack(">HBB", item, 1, 1 + index) for index, item in enumerate(sizes)]
    tiles = [box(b"dimg", struct.pack(f">HH{len(to)}H", item, len(to), *to)) for item, to in (references or {}).items()]
    return box(b"ftyp", b"heic\0\0\0\0mif1heic") + full(
        b"meta",
        full(b"pitm", struct.pack(">H", 1)),
        full(b"iinf", struct.pack(">H", len(items)), *items),
        full(b"iref", *tiles),
        box(b"iprp", box(b"ipco", *spaces), full(b"ipma", struct.pack(">I", len(links)), *links)),
        more,
    )


def test_ten_bits_become_eight() -> None:
    deep = pillow_heif.encode  # from 16 bits a channel, as pillow-heif takes them
    file = io.BytesIO()
    deep("RGB;16", PICTURE.size, (CAR[..., ::-1].astype(np.uint16) * 257).tobytes(), file, quality=100, chroma=444)
    found = decode_image(file.getvalue(), LIMITS)
    assert np.abs(found.astype(int) - CAR).max() <= 6


def test_an_avif_of_ten_bits_is_read_as_the_same_jpeg(reader: LocalReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written by SVT-AV1, because Pillow writes eight bits alone."""
    monkeypatch.setenv("SVT_LOG", "0")
    street = compose(240, 320, [Placed("A123BC77", 60, 120, 120)])
    file = io.BytesIO()
    with av.open(file, "w", "avif") as container:
        stream = container.add_stream("libsvtav1", 1, options={"crf": "10", "preset": "8"})
        stream.height, stream.width = street.shape[:2]
        stream.pix_fmt = "yuv420p10le"
        deep = av.VideoFrame.from_ndarray(street, format="bgr24").reformat(format="yuv420p10le")
        container.mux([*stream.encode(deep), *stream.encode(None)])
    encoded = file.getvalue()
    assert encoded[encoded.index(b"av1C") + 6] & 0x60 == 0x40, "high_bitdepth, not twelve_bit"
    assert np.abs(decode_image(encoded, LIMITS).astype(int) - street).mean() < 4
    (plate,), (same,) = reader.read(encoded), reader.read(encode(street, ".jpg"))
    assert plate.reading.text == same.reading.text == "A123BC77"
    assert np.abs(np.subtract(plate.corners, same.corners)).max() < 2


def test_of_a_burst_the_primary_picture_is_read() -> None:
    others = [Image.new("RGB", size, (9, 99, 9)) for size in ((64, 64), (200, 300))]
    encoded = heic(others[0], save_all=True, append_images=[PICTURE, others[1]], primary_index=1)
    np.testing.assert_array_equal(decode_image(encoded, LIMITS), CAR)


def test_a_thumbnail_beside_the_picture_is_not_read() -> None:
    np.testing.assert_array_equal(decode_image(heic(thumbnails=[32]), LIMITS), CAR)


@pytest.mark.parametrize("kind", [b"urn:mpeg:hevc:2015:auxid:2", b"urn:example:2026:gain-map"])
def test_a_depth_or_gain_map_beside_the_picture_is_not_read(kind: bytes) -> None:
    """Written as a mask, because pillow-heif writes no other."""
    mask, with_mask = b"urn:mpeg:hevc:2015:auxid:1", PICTURE.copy()
    with_mask.putalpha(Image.linear_gradient("L").resize(PICTURE.size))
    encoded = heic(with_mask)
    assert encoded.count(mask) == 1 and b"auxl" in encoded
    encoded = encoded.replace(mask, kind.ljust(len(mask), b"\0"))
    np.testing.assert_array_equal(decode_image(encoded, LIMITS), CAR)


def test_a_thumbnail_as_the_primary_picture_is_refused() -> None:
    """libheif would decode the whole picture instead, of any size."""
    encoded = heic(thumbnails=[64])
    at = encoded.index(b"pitm") + 8
    assert encoded[at : at + 2] == b"\0\1" and check_heif(encoded)[1:3] == CAR.shape[:2]
    encoded = encoded[:at] + b"\0\2" + encoded[at + 2 :]
    assert check_heif(encoded)[1:3] == (48, 64)
    with pytest.raises(InputError, match="damaged"):
        decode_image(encoded, LIMITS)


def test_a_picture_of_tiles_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pillow_heif.options, "GRID_TILE_SIZE", 64)
    encoded = heic(Image.fromarray(compose(200, 300)[..., ::-1]))
    assert b"grid" in encoded
    assert check_heif(encoded) == ("HEIC", 200, 300, 1)
    np.testing.assert_array_equal(decode_image(encoded, LIMITS), compose(200, 300))


def test_the_48_megapixels_of_a_phone_are_within_the_limits() -> None:
    """192 tiles, a gain map of 48 as an auxiliary picture, a thumbnail and a depth map."""
    tiles, gains = list(range(2, 194)), list(range(200, 248))
    kinds = {1: b"grid", 195: b"grid", 196: b"hvc1", 197: b"hvc1", **dict.fromkeys(tiles + gains, b"hvc1")}
    sizes = {1: (8064, 6048), 195: (4032, 3024), 196: (416, 312), **dict.fromkeys(tiles + gains, (512, 512))}
    few = {item: size for item, size in sizes.items() if item < 127}  # links to properties by a byte
    encoded = built(kinds, {**few}, {1: tiles[:125], 195: gains})
    assert check_heif(encoded) == ("HEIC", 6048, 8064, 1)


TILE = {1: b"grid", 2: b"hvc1"}
BOMBS = {
    "a grid of 65535 x 65535": built(TILE, {1: (65535, 65535), 2: (512, 512)}, {1: [2] * 16384}),
    "a tile shown a thousand times": built(TILE, {1: (512, 512), 2: (4096, 4096)}, {1: [2] * 1000}),
    "a mask of 65535 x 65535": built(
        {1: b"hvc1", 2: b"hvc1"}, {1: (64, 64), 2: (65535, 65535)}, more=full(b"iref", box(b"auxl", b"\0\2\0\1\0\1"))
    ),
    "tiles without an end": built(TILE, {1: (512, 512), 2: (8, 8)}, {1: [2] * 65535}),
    "a thousand items and more": built(dict.fromkeys(range(1, 30000), b"hvc1"), {1: (64, 64)}),
    "a loop of references": built({1: b"grid", 2: b"grid"}, {1: (64, 64), 2: (64, 64)}, {1: [2], 2: [1]}),
    "a grid of itself": built({1: b"grid"}, {1: (64, 64)}, {1: [1]}),
    "an overlay": built({1: b"iovl", 2: b"hvc1"}, {1: (64, 64), 2: (64, 64)}, {1: [2] * 9000}),
    "no size": built({1: b"hvc1"}, {}),
    "a sequence": built({1: b"hvc1"}, {1: (64, 64)}) + box(b"moov"),
    "no pixels": built({1: b"hvc1"}, {1: (64, 64)}),
    "links without an end": built({1: b"hvc1"}, {1: (64, 64)}, more=box(b"iprp", full(b"ipma", b"\xff" * 400_000))),
    "a length past the end": built({1: b"hvc1"}, {1: (64, 64)}) + b"\xff\xff\xff\xffmdat",
    "a box of no length": built({1: b"hvc1"}, {1: (64, 64)}) + b"\0\0\0\1mdat" + bytes(8),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.timeout(20)
def test_a_bomb_is_refused_with_a_reason(bomb: bytes) -> None:
    assert is_heif(bomb)
    with pytest.raises(InputError, match=r"^image: expected"):
        decode_image(bomb, LIMITS)


@pytest.mark.parametrize("kind", ["HEIF", "AVIF"])
def test_a_picture_larger_than_its_header_says_is_refused(kind: str) -> None:
    encoded = saved(Image.new("RGB", (2048, 2048)), kind)
    at = encoded.index(b"ispe") + 8
    with pytest.raises(InputError):
        decode_image(encoded[:at] + struct.pack(">II", 64, 64) + encoded[at + 8 :], LIMITS)


def test_a_missing_decoder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = heic()
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    with pytest.raises(InputError, match="HEIC needs a package that is missing: pip install pillow-heif"):
        decode_image(encoded, LIMITS)


def test_a_video_of_the_same_container_is_something_else() -> None:
    assert not is_heif(box(b"ftyp", b"isom\0\0\2\0isomiso2avc1mp41"))
    with pytest.raises(DamagedPicture, match="no primary picture"):
        check_heif(box(b"ftyp", b"heic\0\0\0\0mif1heic"))
