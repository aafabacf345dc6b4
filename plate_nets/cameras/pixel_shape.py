"""The shape of a source's pixels: as the user set it, or as the stream says, if that can be."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import av
from av.video.stream import VideoStream

from plate_nets.events.event import PlateEvent
from plate_nets.recognition.square_pixels import MOST, Stretch

_SQUARE = Fraction(1)
_STEADY = 10
"""Pictures for which a stream must say another shape before it counts."""
_DOUBTED = 10
"""Shapes that did not last, after which a notice says so."""

_ADVICE = "If cars look too wide or too narrow, set `aspect` to the shape of the whole picture, such as 16:9"


class PixelShape:
    """Follows the width of a source's pixels in heights.

    A new shape counts at once if the size of the pictures changes too; otherwise once it has lasted, because a decoder
    knows it some pictures early, and some streams say another one each time.

    Args:
        stream: with what its container and its codec say; None: nothing says anything.
        aspect: width of the whole, upright picture in heights; None: what the stream says.
        notice: called with a line about a shape that cannot be.
    """

    def __init__(self, stream: VideoStream | None, aspect: Fraction | None, notice: Callable[[str], None]) -> None:
        self._aspect = aspect
        self._context = stream.codec_context if stream else None
        said = stream.sample_aspect_ratio if stream else None
        # If the container contradicts the pictures, somebody corrected it
        self._container = said if said != self._said_by_codec else None
        self._notice = notice
        self._size: tuple[int, int] | None = None
        self._counted = self._candidate = _SQUARE
        self._lasted = self._dropped = 0
        self._refused: Fraction | None = None

    def of(self, picture: av.VideoFrame) -> Fraction:
        """The width of a picture's pixels in heights, before it is turned upright."""
        size = (picture.width, picture.height)
        if self._aspect is not None:
            aspect = 1 / self._aspect if picture.rotation % 180 else self._aspect
            return self._plausible(aspect * size[1] / size[0])
        said = self._container or self._said_by_codec or _SQUARE
        if size != self._size:
            self._size, self._counted = size, said
        self._follow(said)
        return self._plausible(self._counted)

    @property
    def _said_by_codec(self) -> Fraction | None:
        return self._context.sample_aspect_ratio if self._context else None

    def _follow(self, said: Fraction) -> None:
        if said != self._candidate:
            if self._candidate != self._counted:
                self._dropped += 1
                if self._dropped == _DOUBTED:
                    self._notice(
                        "the stream says another shape of its pixels all the time; "
                        f"{_text(self._counted)} (width:height) counts. {_ADVICE}"
                    )
            self._candidate, self._lasted = said, 0
        self._lasted += 1
        if self._lasted >= _STEADY:
            self._counted = said

    def _plausible(self, pixel: Fraction) -> Fraction:
        if Fraction(1, MOST) <= pixel <= MOST:
            return pixel
        if pixel != self._refused:
            self._refused = pixel
            where = "`aspect` makes" if self._aspect is not None else "the stream says"
            self._notice(
                f"{where} its pixels {_text(pixel)} (width:height), which cannot be, so they count as square. {_ADVICE}"
            )
        return _SQUARE


def in_own_pixels(event: PlateEvent, stretch: Stretch) -> PlateEvent:
    """An event with places in square pixels -> the same in the pixels of its frame."""
    if stretch.square == stretch.own:
        return event
    vehicle = event.vehicle
    return replace(
        event,
        box=stretch.box_to_own(event.box),
        corners=event.corners and tuple(map(stretch.point_to_own, event.corners)),
        vehicle=vehicle and replace(vehicle, box=stretch.box_to_own(vehicle.box)),
    )


def _text(pixel: Fraction) -> str:
    return f"{pixel.numerator}:{pixel.denominator}"
