"""The motion gate: frames without motion are not read."""

import cv2
import numpy as np

from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.regions import Regions

_KERNEL = np.ones((3, 3), np.uint8)
_LEAST_SHARE = 0.001
"""The minimum share of changed pixels at 320x180; a car that is 20 px long there changes four times as many."""
_LINGER = 2.0
"""Seconds after the last motion in which frames are still read."""
_RECHECK = 5.0
"""Seconds after which a frame is read even without motion."""


class MotionGate:
    """Compares each frame with a learned background (a mixture of Gaussians per pixel: Zivkovic, 2004).

    Times may go back, as they do if a file's time stamps are damaged.
    """

    def __init__(self, regions: Regions) -> None:
        self._watched = regions.watched()
        self._least = _LEAST_SHARE * self._watched.size
        self._background = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
        self._moved = self._passed = float("-inf")

    def passes(self, frame: VideoFrame) -> bool:
        changed = cv2.morphologyEx(self._background.apply(frame.luma()), cv2.MORPH_OPEN, _KERNEL)
        if cv2.countNonZero(cv2.bitwise_and(changed, self._watched)) >= self._least:
            self._moved = frame.time
        since_motion, since_passed = frame.time - self._moved, frame.time - self._passed
        if 0 <= since_motion <= _LINGER or not 0 <= since_passed < _RECHECK:
            self._passed = frame.time
            return True
        return False
