"""The picture of a request, raw or encoded, and its frame."""

from plate_nets.common.errors import InputError
from plate_nets.contract import FRAME, IMAGE
from plate_nets.recognition.images import load_picture
from plate_nets.recognition.reader import FrameLimits
from plate_nets.triton.backend.triton import Request, Tensor, find
from plate_nets.types import Frame


def picture_of(request: Request) -> Tensor:
    """A request -> its picture as sent.

    Raises:
        InputError: not exactly one picture.
    """
    raw, encoded = find(request, FRAME), find(request, IMAGE)
    picture = encoded if raw is None else raw
    if picture is None or (raw is not None and encoded is not None):
        got = "neither" if picture is None else "both"
        raise InputError(f"expected exactly one of {FRAME.name} and {IMAGE.name}, got {got}")
    return picture


def frame_of(picture: Tensor, limits: FrameLimits) -> Frame:
    """A picture -> its frame.

    Raises:
        InputError: it is not accepted (InputTooLarge: because of its size).
    """
    array = picture.as_numpy()
    return load_picture(array if picture.name() == FRAME.name else array.tobytes(), limits)
