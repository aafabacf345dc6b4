"""Looks at the small stream of a camera, and at the large one if a plate is worth it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.looks import PATIENCE, Expected
from plate_nets.cameras.two_streams import Pair
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.recognition.reader import Focus
from plate_nets.recognition.square_pixels import Stretch
from plate_nets.recognition.vehicles import with_vehicles
from plate_nets.types import NOT_READ, Box, Frame, Plate, Scene

_CHEAP = 2
"""Pictures to decode for a frame that is always worth it: a key frame, or the next one of those that are decoded."""
_EXPECTED = 0.3
"""Minimum overlap (IoU) of a plate with the place where it is expected."""

Look = Callable[[Frame, Focus, bool], Scene]
"""A frame with square pixels, what is known of it, and whether vehicles are wanted too -> what is in it."""


class TwoLooks:
    """Finds plates in the small stream, and reads them in the large one.

    Args:
        look: asks the reader.
        whole: whether all plates of a frame that is shown must be found.
        always: whether every frame with a plate is worth a look at the large stream.
    """

    def __init__(self, pair: Pair, look: Look, *, whole: bool, always: bool) -> None:
        self._pair = pair
        self._look = look
        self._whole = whole
        self._always = always

    def scene(self, frame: VideoFrame, focus: Focus, expected: Sequence[Expected]) -> tuple[VideoFrame, Scene]:
        """A frame of the small stream and what is known of it, in square pixels of the large one -> the frame that
        was looked at in the end, and what is in it, in the same pixels. Without the large one, no plate is read."""
        found = self._in_small(frame, focus, expected)
        if not self._is_worth(frame, found.plates, focus, expected):
            return frame, found
        large = self._pair.large(frame)
        if large is None:
            return frame, found
        only = () if self._whole else tuple(plate.box for plate in found.plates)
        read = self._look(large.stretch.frame(large.bgr()), Focus(focus.settled, only), False)
        return large, Scene(with_vehicles(read.plates, found.vehicles), found.vehicles)

    def _in_small(self, frame: VideoFrame, focus: Focus, expected: Sequence[Expected]) -> Scene:
        small, square = replace(frame, enlarged=None), frame.stretch.square
        stretch = Stretch.of_aspect(small.size, Fraction(square[1], square[0]))
        up = Stretch(stretch.square, square)
        places = [each.box for each in expected]
        known = Focus(_down(up, places), _down(up, focus.only), _down(up, focus.missed))
        scene = up.to_square(self._look(stretch.frame(small.bgr()), known, True))
        plates = [replace(plate, reading=NOT_READ, logits=None) for plate in scene.plates]
        return Scene(with_vehicles(plates, scene.vehicles), scene.vehicles)

    def _is_worth(self, frame: VideoFrame, plates: Sequence[Plate], focus: Focus, expected: Sequence[Expected]) -> bool:
        """Whether a plate needs a reading that is cheap, or cannot wait for a frame that is."""
        if self._always:
            return bool(plates)
        boxes = stacked(plate.box for plate in plates)
        needed = boxes[~(iou(boxes, stacked(focus.settled)) >= _EXPECTED).any(axis=1)]
        if not len(needed):
            return False
        if self._pair.cost(frame) <= _CHEAP:
            return True
        places = stacked(each.box for each in expected)
        until = np.array([*(each.until for each in expected), frame.time + PATIENCE])  # the last: of a new plate
        overlaps = np.pad(iou(needed, places), ((0, 0), (0, 1)), constant_values=_EXPECTED)
        found = overlaps.argmax(axis=1)
        unread = [index for index, each in enumerate(expected) if each.unread]
        if len(expected) in found and not np.isin(unread, found).all():
            return True  # an unread plate may be there that is too fast to be expected, and gone before a key frame
        return bool((until[found] < self._pair.next_key(frame)).any())


def _down(up: Stretch, boxes: Sequence[Box]) -> tuple[Box, ...]:
    return tuple(map(up.box_to_own, boxes))
