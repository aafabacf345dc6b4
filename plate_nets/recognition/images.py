"""The caller's picture -> a frame."""

import io
import re
from collections.abc import Callable, Mapping

import cv2
import numpy as np
import simplejpeg
from PIL import Image, features
from PIL.AvifImagePlugin import AvifImageFile
from PIL.BmpImagePlugin import BmpImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from plate_nets.common.errors import InputError
from plate_nets.contract import FRAME, IMAGE
from plate_nets.recognition.encoded import EOI, EncodedPicture, inspect
from plate_nets.recognition.heif import DamagedPicture, UnsupportedPicture
from plate_nets.recognition.left_out import kind_of
from plate_nets.recognition.reader import FrameLimits, check_bytes, check_frame, check_size
from plate_nets.types import Frame

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "HEIC", "AVIF")
"""Accepted formats of encoded pictures."""

_EXPECTED = f"{IMAGE.name}: expected a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} picture"

_UPRIGHT: Mapping[int, Callable[[cv2.typing.MatLike], cv2.typing.MatLike]] = {
    1: lambda frame: frame,
    2: lambda frame: cv2.flip(frame, 1),
    3: lambda frame: cv2.rotate(frame, cv2.ROTATE_180),
    4: lambda frame: cv2.flip(frame, 0),
    5: cv2.transpose,
    6: lambda frame: cv2.rotate(frame, cv2.ROTATE_90_CLOCKWISE),
    7: lambda frame: cv2.rotate(cv2.transpose(frame), cv2.ROTATE_180),
    8: lambda frame: cv2.rotate(frame, cv2.ROTATE_90_COUNTERCLOCKWISE),
}
"""EXIF orientation -> the function that turns the stored picture upright."""

_OPENERS: Mapping[str, Callable[[io.BytesIO], ImageFile]] = {
    "JPEG": JpegImageFile, "PNG": PngImageFile, "WEBP": WebPImageFile, "BMP": BmpImageFile, "AVIF": AvifImageFile,
}  # fmt: skip
"""Pillow's readers, which print nothing. `Image.open` has a limit for pixels of its own, one for the whole process."""
_STRAY = re.compile("([0-9]+) extraneous bytes before marker 0xd9")
_LACKING = re.compile("remature end|marker 0xd9 instead")
"""What libjpeg says of a JPEG that ends before its last pixel."""
_STRIP = 256
"""Rows that are copied at a time."""


def load_picture(image: Frame | bytes, limits: FrameLimits) -> Frame:
    """A caller's picture, a BGR frame (H, W, 3) uint8 or encoded bytes -> a frame, contiguous in memory.

    Raises:
        InputTooLarge: more bytes or pixels than accepted.
        InputError: neither of the two, damaged, or too small.
    """
    if isinstance(image, (bytes, bytearray, memoryview)):
        return decode_image(bytes(image), limits)
    frame = check_frame(image)
    check_size(FRAME.name, frame.shape[0], frame.shape[1], limits)
    return frame


def check_image(encoded: bytes, limits: FrameLimits) -> EncodedPicture:
    """Check the size and the structure of an encoded picture, without decoding it.

    Raises:
        InputTooLarge: more bytes or pixels than accepted.
        InputError: not a picture of the accepted formats, damaged, or too small.
    """
    where = IMAGE.name
    check_bytes(where, len(encoded), limits)
    try:
        picture = inspect(encoded)
    except UnsupportedPicture as error:
        raise InputError(f"{_EXPECTED}, got one of {len(encoded)} bytes that is not read: {error}") from error
    except DamagedPicture as error:
        raise InputError(f"{_EXPECTED}, got a damaged one of {len(encoded)} bytes: {error}") from error
    if picture is None:
        raise InputError(f"{_EXPECTED}, got {len(encoded)} bytes of {kind_of(encoded) or 'something else'}")
    check_size(where, picture.h, picture.w, limits)
    return picture


def decode_image(encoded: bytes, limits: FrameLimits) -> Frame:
    """An encoded picture -> a frame: BGR, without alpha, turned upright. Of an animation, the first picture.

    It is checked first, so a picture over a limit is never decoded.

    Raises:
        InputTooLarge: more bytes or pixels than accepted.
        InputError: not a picture of the accepted formats, damaged, or too small, or its decoder is not installed.
    """
    picture = check_image(encoded, limits)
    try:
        frame = _decode(picture)
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError) as error:  # Pillow's, for damaged data
        raise InputError(f"{_EXPECTED}, got a damaged or truncated one of {len(encoded)} bytes") from error
    return np.asarray(_UPRIGHT[picture.orientation](frame), np.uint8)


def _decode(picture: EncodedPicture) -> cv2.typing.MatLike:
    """A picture with a valid structure -> its pixels as stored.

    Raises:
        InputError: its decoder is not installed.
        Exception: of several kinds, if the pixels are damaged.
    """
    if picture.kind == "JPEG":
        try:  # the same pixels as from Pillow, in half of its time
            return _strictly(picture.data)
        except ValueError as error:  # colours or samples that it does not know, or a fault that Pillow may tolerate
            if not picture.ended or _LACKING.search(str(error)):
                raise
    image: Image.Image = _opener(picture.kind)(io.BytesIO(picture.data))
    # Nothing is decoded yet; libheif takes another picture if the primary one is a thumbnail
    if image.size != (picture.w, picture.h):
        raise ValueError(f"expected {picture.w}x{picture.h} pixels, got {image.width}x{image.height}")
    if image.mode.startswith("I;16"):  # Pillow would clip it
        return cv2.cvtColor((np.asarray(image) >> 8).astype(np.uint8), cv2.COLOR_GRAY2BGR)
    image = image.convert("RGB")
    frame = np.empty((image.height, image.width, 3), np.uint8)
    for top in range(0, image.height, _STRIP):
        rows = frame[top : top + _STRIP]
        strip = image.crop((0, top, image.width, top + len(rows)))
        rows[:] = np.frombuffer(strip.tobytes("raw", "BGR"), np.uint8).reshape(rows.shape)
    return frame


def _strictly(jpeg: bytes) -> cv2.typing.MatLike:
    """A JPEG -> its pixels as stored; bytes between them and its end are ignored.

    Raises:
        ValueError: the first thing that libjpeg is not content with.
    """
    for _ in range(2):  # it takes the last ones for its buffer of bits, and tells of those later
        try:
            frame: cv2.typing.MatLike = simplejpeg.decode_jpeg(jpeg, "BGR")
        except ValueError as error:
            stray = _STRAY.search(str(error))
            if not stray:
                raise
            # Again without them, because it stops at the first fault: pixels may be missing too
            jpeg = jpeg[: -len(EOI) - int(stray[1])] + EOI
        else:
            return frame
    frame = simplejpeg.decode_jpeg(jpeg, "BGR")
    return frame


def _opener(kind: str) -> Callable[[io.BytesIO], ImageFile]:
    if kind == "AVIF" and not features.check("avif"):
        raise InputError(f"{IMAGE.name}: this Pillow cannot decode AVIF; install one that can: pip install -U pillow")
    if kind != "HEIC":
        return _OPENERS[kind]
    try:
        from pillow_heif import HeifImageFile
    except ImportError as error:
        raise InputError(f"{IMAGE.name}: HEIC needs a package that is missing: pip install pillow-heif") from error
    return HeifImageFile
