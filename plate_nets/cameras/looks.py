"""Where to look in the next frame, and which plates need no reading: a plan from the tracks, without a clock.

The readings of neighbouring frames are nearly the same. So once the text of a plate is certain, or its view has been
read often, another reading helps only if the plate can be seen better, or after a while: another car may have taken its
place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plate_nets.cameras.tracking import Track
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.recognition.reader import Focus
from plate_nets.types import Box

_AHEAD = 0.1
"""Seconds from one predicted place to the next."""

# When a plate need not be read again: chosen on the real clips and drive-bys, see docs/explanation/decisions.md.
_SURE_READS, _UNSURE_READS = 3, 8
"""The minimum number of readings of a plate with a certain text, and of another one since its best view began."""
_SURE_PAUSE, _UNSURE_PAUSE = 0.5, 0.2
"""Seconds after which it is read again in any case."""
_WHOLE_PAUSE = 0.2
"""Seconds after which the whole frame is looked at again, to find new cars."""
_PACE = 0.075
"""Seconds after which a frame is looked at in any case: less than between two frames of a live camera."""
_MOST = 8
"""The maximum number of plates for which looks around each take less time than one at the whole frame."""

PATIENCE, _LONG_PATIENCE = 1.0, 3.0
"""With two streams, seconds for which a plate waits for a frame of the large stream that is cheap to decode: one whose
text is not certain, and one that needs no reading of this view."""


@dataclass(frozen=True)
class Expected:
    """Where a plate is expected in the next frame, and until when reading it can wait."""

    box: Box
    until: float
    """Of the clock of the frames."""
    unread: bool
    """Whether it was never read."""


def can_wait(tracks: Sequence[Track], time: float, last: float, whole: float) -> bool:
    """The tracks after a frame -> whether a frame at this time would tell nothing new, because it comes soon and all
    plates are known.

    ``last``, ``whole``: as in `plan_focus`.
    """
    seconds = time - last
    return 0 <= seconds < _PACE and all(
        _is_followed(track, whole) and (not track.seen or _is_known(track, track.expected(seconds))) for track in tracks
    )


def plan_focus(tracks: Sequence[Track], time: float, last: float, whole: float) -> Focus:
    """The tracks after a frame -> what is known of the next frame, at this time.

    A plate is not settled if its place is uncertain: it was missed, or another one is expected there too. One that the
    last look at the whole frame has missed is no reason for another: its windows show more than the whole frame.

    ``last``, ``whole``: the times of the last frame, and of the last look at a whole one.
    """
    seconds = time - last
    if not tracks or seconds < 0:
        return Focus()
    expected = tuple(track.expected(seconds) for track in tracks)
    boxes = stacked(expected)
    alone = np.count_nonzero(iou(boxes, boxes), axis=1) == 1
    settled = tuple(
        box
        for track, box, is_alone in zip(tracks, expected, alone, strict=True)
        if is_alone and track.seen and _is_settled(track, box, seconds)
    )
    followed = all(_is_followed(track, whole) for track in tracks)
    if not followed or len(tracks) > _MOST or not 0 <= time - whole < _WHOLE_PAUSE:
        return Focus(settled)
    seen = tuple(box for track, box in zip(tracks, expected, strict=True) if track.seen)
    missed = tuple(box for track, box in zip(tracks, expected, strict=True) if not track.seen)
    return Focus(settled, seen, missed)


def expect(track: Track, seconds: float, hw: tuple[int, int]) -> Expected:
    """A track after a frame, and the time until the next one -> what is expected of its plate there.

    A plate that was never read cannot wait until it has left a picture of ``hw`` pixels.
    """
    box = track.expected(seconds)
    readings = track.readings
    certain = _is_certain(track) and len(track.evidence) >= _SURE_READS
    tried = readings.count >= _UNSURE_READS and not readings.is_better(box)
    pause = _LONG_PATIENCE if certain or tried else PATIENCE
    until = max(track.first_seen, readings.last) + pause
    if readings.count:
        return Expected(box, until, unread=False)
    later = (seconds + step for step in np.arange(_AHEAD, pause, _AHEAD).tolist())
    leaves = next((after for after in later if not _is_inside(track.expected(after), hw)), math.inf)
    return Expected(box, min(until, track.known + leaves), unread=True)


def _is_inside(box: Box, hw: tuple[int, int]) -> bool:
    """Whether the middle of a box is in a picture."""
    (x, y), (h, w) = box.centre, hw
    return 0 <= x < w and 0 <= y < h


def _is_followed(track: Track, whole: float) -> bool:
    """Whether a plate was seen before, or was missed by the last look at the whole frame too."""
    return track.hits > 1 if track.seen else track.last_seen < whole


def _is_settled(track: Track, expected: Box, seconds: float) -> bool:
    """Whether a plate needs no reading where it is expected, this long after the last frame."""
    pause = _SURE_PAUSE if _is_certain(track) else _UNSURE_PAUSE
    return track.last_seen + seconds - track.readings.last < pause and _is_known(track, expected)


def _is_known(track: Track, expected: Box) -> bool:
    """Whether a plate was read often enough for the view of it that is expected."""
    often = len(track.evidence) >= _SURE_READS if _is_certain(track) else track.readings.count >= _UNSURE_READS
    return often and not track.readings.is_better(expected)


def _is_certain(track: Track) -> bool:
    return track.evidence.verdict.probability >= track.evidence.settings.early
