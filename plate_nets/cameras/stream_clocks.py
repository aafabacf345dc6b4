"""How far the clocks of two streams of one camera are apart, from what is seen in both."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_APART = 3.0
"""Seconds by which two streams may be apart."""
_SIZE = (32, 18)
"""Width and height at which pictures are compared."""
_STEP = 0.02
"""Seconds between two differences that are tried."""
_DISTINCT = 0.8
"""How unlike the best match may be, over how unlike the middle one is. If nothing moves, all are alike."""
_LEAST_MATCHED, _LEAST_SPAN = 4, 1.0
"""Pictures of the large stream, and seconds from the first to the last one, that must be known."""
_COMPARED, _SPACING = 24, 0.25
"""Pictures of the large stream that are compared, and the least seconds between two of them. Together they span 6 s
even if every picture is decoded: a small stream that is late shows them only later."""
_REMEMBERED = 3 * MOST_APART
"""Seconds of the small stream that are compared with them."""
_EVERY = 1.0
"""Seconds between two comparisons."""
_LEAST = 0.1
"""Seconds that are worth a correction."""


class Look(NamedTuple):
    """What a picture looks like, and when it was taken by the clock of its stream."""

    time: float
    picture: NDArray[np.float32]
    """(18, 32), without its mean brightness and contrast."""


def look_of(time: float, luma: NDArray[np.uint8]) -> Look:
    """The brightness of a picture (H, W), 0..255 -> what it looks like."""
    small = np.asarray(cv2.resize(luma, _SIZE, interpolation=cv2.INTER_AREA), np.float32)
    return Look(time, (small - small.mean()) / (small.std() + 1))


def time_apart(large: Sequence[Look], small: Sequence[Look]) -> float | None:
    """Looks at some pictures of one stream, and at all pictures of the other one around them -> the seconds to add to
    the clock of the second for that of the first.

    None if it cannot be told, because too little moves or too few pictures are there.
    """
    times = np.array([look.time for look in small])
    if len(large) < _LEAST_MATCHED or len(small) < _LEAST_MATCHED or large[-1].time - large[0].time < _LEAST_SPAN:
        return None
    pictures = np.stack([look.picture for look in small])
    unlike = np.array([np.abs(pictures - one.picture).mean(axis=(1, 2)) for one in large])
    apart = np.arange(-MOST_APART, MOST_APART + _STEP / 2, _STEP)
    wanted = np.array([look.time for look in large])[:, None] - apart  # (L, A) by the clock of the small stream
    within = (wanted >= times[0]) & (wanted <= times[-1])
    costs = np.stack([np.interp(row, times, cost) for row, cost in zip(wanted, unlike, strict=True)])
    counts = within.sum(axis=0)
    means = np.where(counts >= _LEAST_MATCHED, (costs * within).sum(axis=0) / np.maximum(counts, 1), np.nan)
    if np.isnan(means).all() or np.nanmin(means) >= _DISTINCT * np.nanmedian(means):
        return None
    best = int(np.nanargmin(means))
    beside = means[max(0, best - 1) : best + 2]
    return None if len(beside) < 3 or np.isnan(beside).any() else float(apart[best])


class StreamClocks:
    """Follows how far the clocks of a large and a small stream are apart, from pictures of both.

    Args:
        notice: called with a line if they are apart.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self.apart = 0.0
        """Seconds to add to a time of the small stream for that of the large one."""
        self._large: deque[Look] = deque(maxlen=_COMPARED)
        self._small: deque[Look] = deque()
        self._notice = notice
        self._compared = float("-inf")
        self._found: float | None = None

    def note_small(self, time: float, luma: NDArray[np.uint8]) -> None:
        """A picture of the small stream, in the order of time."""
        self._small.append(look_of(time, luma))
        while self._small[0].time < time - _REMEMBERED:
            self._small.popleft()
        if not 0 <= time - self._compared < _EVERY:
            self._compared = time
            self._compare()

    def note_large(self, time: float, luma: NDArray[np.uint8]) -> None:
        """A picture of the large stream, by its own clock."""
        if not self._large or not 0 <= time - self._large[-1].time < _SPACING:
            self._large.append(look_of(time, luma))

    def _compare(self) -> None:
        """Set the clocks if two comparisons in a row say so."""
        before, self._found = self._found, time_apart(self._large, self._small)
        if self._found is None or before is None or abs(self._found - before) > _LEAST:
            return
        if abs(self._found - self.apart) > _LEAST:
            self.apart = self._found
            order = "before" if self.apart > 0 else "after"
            self._notice(
                f"detect: its pictures come {abs(self.apart):.1f} s {order} those of the source; they are matched"
            )
