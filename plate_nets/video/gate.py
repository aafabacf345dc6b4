"""The motion gate: frames in which nothing moves are not read."""

from dataclasses import dataclass

import cv2
import numpy as np

from plate_nets.video.frames import VideoFrame
from plate_nets.video.regions import Regions

_KERNEL = np.ones((3, 3), np.uint8)


@dataclass(frozen=True)
class GateSettings:
    """When a frame is read."""

    least_share: float = 0.001
    """Of the pixels of 320x180 that must have changed; a car 20 px long at that size changes four times as many."""
    linger: float = 2.0
    """Seconds after the last motion in which frames are still read."""
    recheck: float = 5.0
    """Seconds after which a frame is read although nothing moves."""


class MotionGate:
    """Compares each frame with the background that it learns (a mixture of Gaussians a pixel: Zivkovic, 2004).

    Times may go back, as with a file's damaged stamps.
    """

    def __init__(self, regions: Regions, settings: GateSettings = GateSettings()) -> None:
        self._settings = settings
        self._watched = regions.watched()
        self._least = settings.least_share * self._watched.size
        self._background = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
        self._moved = self._passed = float("-inf")

    def passes(self, frame: VideoFrame) -> bool:
        """Whether the frame is to be read."""
        changed = cv2.morphologyEx(self._background.apply(frame.luma()), cv2.MORPH_OPEN, _KERNEL)
        if cv2.countNonZero(cv2.bitwise_and(changed, self._watched)) >= self._least:
            self._moved = frame.time
        since_motion, since_passed = frame.time - self._moved, frame.time - self._passed
        if 0 <= since_motion <= self._settings.linger or not 0 <= since_passed < self._settings.recheck:
            self._passed = frame.time
            return True
        return False
