"""The caller's picture -> a frame."""

from collections.abc import Callable, Mapping

import cv2
import numpy as np
import simplejpeg

from plate_nets.contract import FRAME, IMAGE
from plate_nets.errors import InputError
from plate_nets.recognition.encoded import JPEG, DamagedPicture, EncodedPicture, inspect
from plate_nets.recognition.reader import FrameLimits, check_bytes, check_frame, check_size
from plate_nets.types import Frame

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
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
        InputError: not a picture of the accepted formats, damaged, animated, or too small.
    """
    where = IMAGE.name
    check_bytes(where, len(encoded), limits)
    try:
        picture = inspect(encoded)
    except DamagedPicture as error:
        raise InputError(f"{_EXPECTED}, got a damaged one of {len(encoded)} bytes: {error}") from error
    if picture is None:
        raise InputError(f"{_EXPECTED}, got {len(encoded)} bytes of something else")
    check_size(where, picture.h, picture.w, limits)
    return picture


def decode_image(encoded: bytes, limits: FrameLimits) -> Frame:
    """An encoded picture -> a frame: BGR, without alpha, turned upright by its EXIF orientation.

    It is checked first, so a picture over a limit is never decoded.

    Raises:
        InputTooLarge: more bytes or pixels than accepted.
        InputError: not a picture of the accepted formats, damaged, animated, or too small.
    """
    picture = check_image(encoded, limits)
    frame = _decode(picture.data)
    if frame is None:
        raise InputError(f"{_EXPECTED}, got a damaged or truncated one of {len(encoded)} bytes")
    return np.asarray(_UPRIGHT[picture.orientation](frame), np.uint8)


def _decode(encoded: bytes) -> cv2.typing.MatLike | None:
    """A valid picture -> its pixels as stored; None if they are damaged."""
    if encoded.startswith(JPEG):
        try:  # the same pixels as from OpenCV, in 0.88 of its time
            frame: cv2.typing.MatLike = simplejpeg.decode_jpeg(encoded, "BGR")
        except ValueError:  # four colours, or a fault that OpenCV may tolerate
            pass
        else:
            return frame
    # From memory OpenCV refuses a truncated picture; from a file it would fill in the missing part
    return cv2.imdecode(np.frombuffer(encoded, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
