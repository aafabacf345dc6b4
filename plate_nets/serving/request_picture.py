"""The picture of a request, raw or encoded: checked where it arrives, a frame where the detector needs it."""

from plate_nets.contract import FRAME, IMAGE
from plate_nets.errors import InputError
from plate_nets.recognition.images import check_frame, check_image, decode_image
from plate_nets.serving.settings import FrameLimits
from plate_nets.serving.triton import Request, Tensor, find
from plate_nets.types import Frame


def picture_of(request: Request) -> Tensor:
    """A request -> its one picture as the caller sent it.

    Raises:
        InputError: not exactly one picture.
    """
    raw, encoded = find(request, FRAME), find(request, IMAGE)
    picture = encoded if raw is None else raw
    if picture is None or (raw is not None and encoded is not None):
        got = "neither" if picture is None else "both"
        raise InputError(f"expected exactly one of {FRAME.name} and {IMAGE.name}, got {got}")
    return picture


def check_picture(picture: Tensor, limits: FrameLimits) -> None:
    """Raises InputError, or its InputTooLarge, where a picture is not accepted; an encoded one is not decoded."""
    if picture.name() == FRAME.name:
        check_frame(picture.as_numpy(), limits)
    else:
        check_image(picture.as_numpy().tobytes(), limits)


def frame_of(picture: Tensor, limits: FrameLimits) -> Frame:
    """A picture -> frame.

    Raises:
        InputError: not one that is accepted.
    """
    if picture.name() == FRAME.name:
        return check_frame(picture.as_numpy(), limits)
    return decode_image(picture.as_numpy().tobytes(), limits)
