"""Photos shrunk until their plates are distant."""

import cv2
import numpy as np

from benchmarks.smallest_plate import far
from plate_nets.types import Box


def test_the_plate_has_the_returned_height_and_place() -> None:
    photo = np.full((300, 400, 3), 60, np.uint8)
    photo[100:140, 120:320] = 250
    placed = far(photo, Box(120, 100, 320, 140), 20, hw=(360, 640))
    assert placed is not None
    frame, box = placed
    assert frame.shape == (360, 640, 3)
    assert frame.dtype == np.uint8
    assert box[3] - box[1] == 20
    assert box[2] - box[0] == 100
    x1, y1, x2, y2 = box.astype(int)
    assert frame[y1 + 2 : y2 - 2, x1 + 2 : x2 - 2].min() == 250
    outside = cv2.rectangle(frame.copy(), (x1 - 2, y1 - 2), (x2 + 2, y2 + 2), (0, 0, 0), cv2.FILLED)
    assert outside.max() < 250, "the background shows no second plate"


def test_a_photo_that_does_not_fit_is_left_out() -> None:
    photo = np.zeros((300, 400, 3), np.uint8)
    assert far(photo, Box(120, 100, 320, 140), 41) is None, "nothing is enlarged"
    assert far(photo, Box(120, 100, 320, 140), 40, hw=(200, 640)) is None
