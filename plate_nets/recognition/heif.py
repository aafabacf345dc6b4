"""Checks the structure of a HEIC or AVIF picture without decoding it (ISO/IEC 14496-12, 23008-12, AV1 in HEIF).

A file of a kilobyte may declare a grid of 65,535 x 65,535 pixels, or one tile a thousand times. Their decoders limit
what they allocate, but to far more than a picture may have here. libheif also refuses coded pictures larger than
declared; libavif decodes them, so the sizes in the AV1 data are checked too.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

CODECS = {b"hvc1": "HEIC", b"av01": "AVIF"}
"""Kinds of coded items -> the format's name."""
MAX_BOXES = 20_000
"""Boxes, properties and references of one picture. A phone's 48 megapixels in tiles of 512x512 have about 1,500."""

_BRANDS = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"mif2", b"msf1", b"avif", b"avis"))
_SEVERAL = 4
"""Limit for the pixels of all tiles, as a multiple of the picture's."""
_SEQUENCE_HEADER = 1
_LEAST = 1 << 20
"""Tiles up to this number of pixels in total are accepted for a picture of any size."""


_UPRIGHT = ((1, 8, 3, 6), (4, 5, 2, 7), (2, 7, 4, 5))
"""Mirrored not, top to bottom or left to right, after this number of quarter turns to the left -> EXIF orientation."""


class DamagedPicture(ValueError):
    """A structure that must not reach a decoder; the message says where."""


class UnsupportedPicture(DamagedPicture):
    """A structure that may be valid, of a kind that is not read."""


@dataclass
class _Meta:
    """What a picture's `meta` box says about its items, by their number."""

    primary: int | None = None
    kinds: dict[int, bytes] = field(default_factory=dict)
    properties: dict[int, dict[bytes, bytes]] = field(default_factory=dict)
    """The content of its properties, by kind."""
    tiles: dict[int, tuple[int, ...]] = field(default_factory=dict)
    auxiliary: set[int] = field(default_factory=set)
    """Masks, depth and gain maps."""
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Where an item's data begins and ends, if it is in one piece."""

    def size(self, item: int | None) -> tuple[int, int] | None:
        """Height and width of an item as coded; None if it has none."""
        declared = self.properties.get(item or 0, {}).get(b"ispe")
        if declared is None:
            return None
        w, h = struct.unpack_from(">II", declared, 4)
        return h, w

    def parts(self, item: int) -> tuple[int, ...]:
        """The coded items that an item is made of: its tiles, or itself."""
        return self.tiles.get(item, ()) if self.kinds.get(item) == b"grid" else (item,)

    def orientation(self) -> int:
        """The EXIF orientation that corresponds to the turn and the mirror of the primary picture."""
        own = self.properties.get(self.primary or 0, {})
        turns = own[b"irot"][0] & 3 if b"irot" in own else 0
        return _UPRIGHT[1 + (own[b"imir"][0] & 1) if b"imir" in own else 0][turns]


def is_heif(encoded: bytes) -> bool:
    """Whether the first bytes are those of a picture, not of a video, in this container."""
    if encoded[4:8] != b"ftyp":
        return False
    (length,) = struct.unpack_from(">I", encoded)
    brands = encoded[8 : min(length, 512)]
    return any(brands[at : at + 4] in _BRANDS for at in range(0, len(brands), 4) if at != 4)


def check_heif(encoded: bytes) -> tuple[str, int, int, int]:
    """The bytes of a picture -> its format, a value of `CODECS`, its height and width, and its EXIF orientation.

    They are those of what the decoder gives: libheif crops and turns a HEIC itself. EXIF and XMP do not count.

    Raises:
        UnsupportedPicture: it is animated, or coded in another way.
        DamagedPicture: a length exceeds the data, a part is missing, or its tiles have too many pixels.
        IndexError, struct.error: it ends within a header.
    """
    budget = iter(range(MAX_BOXES))
    meta: _Meta | None = None
    for kind, start, end in _boxes(encoded, 0, len(encoded), budget):
        if kind == b"moov":
            raise UnsupportedPicture("it is an image sequence (an animated picture)")
        if kind == b"meta" and meta is None:
            meta = _meta(encoded, start, end, budget)
    if meta is None or meta.primary is None:
        raise DamagedPicture("no primary picture")
    kind, size = meta.kinds.get(meta.primary, b""), meta.size(meta.primary)
    if size is None:
        raise DamagedPicture("its primary picture has no size")
    parts = meta.parts(meta.primary)
    kinds = {meta.kinds.get(part) for part in parts}
    codec = kinds.pop() if len(kinds) == 1 else None
    if codec not in CODECS:
        found = f"kind {kind.decode('ascii', 'replace')!r}"
        raise UnsupportedPicture(f"its primary picture is of {found}, neither HEVC nor AV1, nor tiles of one of them")
    h, w = size
    most = max(_SEVERAL * h * w, _LEAST)
    for item in (meta.primary, *meta.auxiliary):  # a mask is decoded with the picture
        coded = sum(th * tw for th, tw in (meta.size(part) or (0, 0) for part in meta.parts(item)))
        if coded > most:
            raise DamagedPicture(f"it is coded in {coded} pixels, far more than its {w}x{h}")
    for item in (item for item, kind in meta.kinds.items() if kind == b"av01"):  # libavif also decodes a mask
        for ch, cw in _coded_sizes(encoded, *meta.places.get(item, (0, 0)), budget):
            if ch * cw * len(parts) > most:
                raise DamagedPicture(f"it has a picture of {cw}x{ch} pixels, far more than its {w}x{h}")
    orientation = meta.orientation()
    if CODECS[codec] == "AVIF":
        return CODECS[codec], h, w, orientation
    if crop := meta.properties[meta.primary].get(b"clap"):
        w, w_parts, h, h_parts = struct.unpack_from(">IIII", crop)
        if not w_parts or not h_parts or w // w_parts > size[1] or h // h_parts > size[0]:
            raise DamagedPicture("its crop is larger than its picture")
        h, w = h // h_parts, w // w_parts
        if size[0] * size[1] > max(_SEVERAL * h * w, _LEAST):
            raise DamagedPicture(f"its crop of {w}x{h} pixels is far smaller than its {size[1]}x{size[0]}")
    return (CODECS[codec], w, h, 1) if orientation >= 5 else (CODECS[codec], h, w, 1)


def _boxes(data: bytes, at: int, end: int, budget: Iterator[int]) -> Iterator[tuple[bytes, int, int]]:
    """The boxes between two places: the kind, and where the content begins and ends."""
    while at + 8 <= end:
        _spend(budget)
        length, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if length == 1:
            (length,) = struct.unpack_from(">Q", data, at + 8)
            head = 16
        elif length == 0:
            length = end - at
        if length < head or at + length > end:
            raise DamagedPicture(f"a box of {length} bytes at {at} extends past the end of the data")
        yield kind, at + head, at + length
        at += length


def _meta(data: bytes, start: int, end: int, budget: Iterator[int]) -> _Meta:
    meta = _Meta()
    for kind, at, stop in _boxes(data, start + 4, end, budget):
        version = data[at]
        wide = ">I" if version else ">H"
        if kind == b"pitm":
            (meta.primary,) = struct.unpack_from(wide, data, at + 4)
        elif kind == b"iinf":
            for entry, place, _ in _boxes(data, at + 4 + struct.calcsize(wide), stop, budget):
                if entry == b"infe" and data[place] in (2, 3):
                    item, _, name = struct.unpack_from(">HH4s" if data[place] == 2 else ">IH4s", data, place + 4)
                    meta.kinds[item] = name
        elif kind == b"iloc":
            meta.places.update(_places(data, at, budget))
        elif kind == b"iprp":
            meta.properties.update(_properties(data, at, stop, budget))
        elif kind == b"iref":
            for entry, place, limit in _boxes(data, at + 4, stop, budget):
                number = struct.calcsize(wide)
                (item,) = struct.unpack_from(wide, data, place)
                (count,) = struct.unpack_from(">H", data, place + number)
                if place + number + 2 + count * number > limit:
                    raise DamagedPicture("its references extend past the end of their box")
                if entry == b"auxl":
                    meta.auxiliary.add(item)
                if entry == b"dimg" and item not in meta.tiles:
                    _spend(budget, count)
                    meta.tiles[item] = struct.unpack_from(f">{count}{wide[1]}", data, place + number + 2)
    return meta


def _properties(data: bytes, start: int, end: int, budget: Iterator[int]) -> dict[int, dict[bytes, bytes]]:
    """The `iprp` box -> the properties of each item by kind, of several the first."""
    known: list[tuple[bytes, bytes]] = [(b"", b"")]  # counted from 1
    properties: dict[int, dict[bytes, bytes]] = {}
    for kind, at, stop in _boxes(data, start, end, budget):
        if kind == b"ipco":
            known += (
                (entry, data[place : min(limit, place + 64)]) for entry, place, limit in _boxes(data, at, stop, budget)
            )
        elif kind == b"ipma":
            version, wide = data[at], data[at + 3] & 1
            (entries,) = struct.unpack_from(">I", data, at + 4)
            at += 8
            for _ in range(entries):
                item, count = struct.unpack_from(">IB" if version else ">HB", data, at)
                at += 5 if version else 3
                _spend(budget, 1 + count)
                for index in struct.unpack_from(f">{count}{'H' if wide else 'B'}", data, at):
                    index &= 0x7FFF if wide else 0x7F
                    if index < len(known):
                        properties.setdefault(item, {}).setdefault(*known[index])
                at += count << wide
    return properties


def _places(data: bytes, at: int, budget: Iterator[int]) -> dict[int, tuple[int, int]]:
    """The content of an `iloc` box -> where the data of items begins and ends that lies in the file in one piece."""
    version = data[at]
    offsets, lengths, bases, indices = (data[at + 4] >> 4, data[at + 4] & 15, data[at + 5] >> 4, data[at + 5] & 15)
    wide, number = (">I", 4) if version == 2 else (">H", 2)
    (items,) = struct.unpack_from(wide, data, at + 6)
    at += 6 + number
    places: dict[int, tuple[int, int]] = {}
    for _ in range(items):
        (item,) = struct.unpack_from(wide, data, at)
        at += number
        method = 0
        if version:
            (method,) = struct.unpack_from(">H", data, at)
            at += 2
        base = int.from_bytes(data[at + 2 : at + 2 + bases])
        at += 2 + bases
        (extents,) = struct.unpack_from(">H", data, at)
        at += 2
        _spend(budget, 1 + extents)
        for _ in range(extents):
            at += indices if version else 0
            start = base + int.from_bytes(data[at : at + offsets])
            length = int.from_bytes(data[at + offsets : at + offsets + lengths])
            at += offsets + lengths
            if extents == 1 and not method & 15:
                places[item] = (start, start + length if length else len(data))
    return places


def _coded_sizes(data: bytes, at: int, end: int, budget: Iterator[int]) -> Iterator[tuple[int, int]]:
    """AV1 data -> height and width in each sequence header; frames cannot be larger (AV1 specification, 5.3 to 5.5)."""
    found = False
    while at < min(end, len(data)):
        _spend(budget)
        head = data[at]
        at += 2 if head & 4 else 1
        length, shift = 0, 0
        while head & 2:  # leb128
            length |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if not data[at - 1] & 0x80 or shift == 56:
                break
        else:
            length = end - at
        if head >> 3 & 15 == _SEQUENCE_HEADER:
            found = True
            yield _sequence_size(data[at : min(end, at + length, at + 256)])
        at += length
    if not found:
        raise DamagedPicture("its AV1 data, in one piece, has no sequence header")


def _sequence_size(header: bytes) -> tuple[int, int]:
    bits = iter(f"{int.from_bytes(header):0{8 * len(header)}b}")

    def take(count: int) -> int:
        return int("".join(islice(bits, count)) or "0", 2)

    take(4)
    if take(1):  # the short form of a still picture
        take(5)
    else:
        if take(1):
            raise DamagedPicture("its AV1 data is timed like a video")
        delays = take(1)
        for _ in range(take(5) + 1):
            take(12)
            if take(5) > 7:
                take(1)
            if delays and take(1):
                take(4)
    widths, heights = take(4) + 1, take(4) + 1
    w, h = take(widths) + 1, take(heights) + 1
    return h, w


def _spend(budget: Iterator[int], count: int = 1) -> None:
    for _ in range(count):
        if next(budget, None) is None:
            raise DamagedPicture(f"more than {MAX_BOXES} boxes, properties and references")
