"""Presentation times of a source -> real times that go back only if this machine's clock does."""

from dataclasses import dataclass
from typing import Literal

_LONGEST_GAP = 120.0
"""Seconds between two pictures of a file; a longer gap counts as a jump. A guess: some files have one picture a
minute."""
_FAR_OFF = 10.0
"""Seconds by which a live picture's time stamp may differ from its arrival, because a burst after a stall is late."""
_FIRST_STEP = 0.04

StampFault = Literal["jumped", "late"]
"""Time stamps that jump or go back, and pictures that come much later than their time stamps."""


@dataclass(frozen=True)
class Stamp:
    time: float
    """Unix seconds."""
    position: float
    """Seconds since the first picture of the source."""
    fault: StampFault | None
    """Why the source's own time stamp was not used; None if it was used, or there is none."""


class StampClock:
    """Turns the time stamps of one source into times: the first picture's time plus the difference of the time stamps.

    Args:
        live: whether the time of arrival limits a time stamp.
        start: Unix seconds of the first picture; by default its arrival.
    """

    def __init__(self, live: bool, start: float | None = None) -> None:
        self._by_arrival = live and start is None
        self._start = start
        self._offset: float | None = None
        """Time minus presentation time, from the last picture whose time stamp was not used."""
        self._first: float | None = None
        self._last = 0.0
        self._step = _FIRST_STEP

    def stamp(self, presentation: float | None, arrival: float) -> Stamp:
        """The time of a picture from its presentation time, seconds of any origin or None, and its arrival, Unix
        seconds.

        A time stamp that is missing, goes back or jumps is replaced: for a live picture by its arrival, in a file by
        the previous picture's time plus the previous interval. Later time stamps count from there. The position never
        goes back.
        """
        time: float | None = None
        fault: StampFault | None = None
        if self._first is None:
            self._first = fallback = arrival if self._start is None else self._start
        else:
            if self._by_arrival and arrival < self._last - _FAR_OFF:  # this machine's clock was set back
                self._first -= self._last - arrival
                self._last, self._offset = arrival, None
            time = self._by_stamp(presentation, arrival)
            fallback = max(arrival, self._last + 1e-3) if self._by_arrival else self._last + self._step
            self._step = (fallback if time is None else time) - self._last
        if time is None:
            if presentation is not None and self._offset is not None:
                late = self._by_arrival and self._last < self._offset + presentation < arrival
                fault = "late" if late else "jumped"
            time = fallback
            self._offset = None if presentation is None else time - presentation
        self._last = time
        return Stamp(time, time - self._first, fault)

    def _by_stamp(self, presentation: float | None, arrival: float) -> float | None:
        if presentation is None or self._offset is None:
            return None
        time = self._offset + presentation
        if time <= self._last:
            return None
        if self._by_arrival:
            if arrival < time <= arrival + _FAR_OFF:  # taken after it arrived cannot be: the first ones were late
                time = max(arrival, self._last + 1e-3)
                self._offset = time - presentation
            return time if abs(time - arrival) <= _FAR_OFF else None
        return time if time - self._last <= _LONGEST_GAP else None
