"""Presentation times of a source -> times of the world that never go back."""

from dataclasses import dataclass
from typing import Literal

_LONGEST_GAP = 120.0
"""Seconds between two pictures of a file; a longer gap is a jump of its stamps. A guess: some send one a minute."""
_FAR_OFF = 10.0
"""Seconds by which a live picture's stamp may differ from its arrival: a burst after a stall comes late."""
_FIRST_STEP = 0.04

StampFault = Literal["jumped", "late"]
"""Stamps that jump or go back, and pictures that come much later than their stamps say."""


@dataclass(frozen=True)
class Stamp:
    """When a picture was taken."""

    time: float
    """Unix seconds."""
    position: float
    """Seconds since the first picture of the source."""
    fault: StampFault | None
    """Why time goes on without the source's own stamp; None where it has none, or time goes by it."""


class StampClock:
    """Turns the stamps of one source into times: the first picture's time plus what has passed by the stamps.

    Args:
        live: whether arrival bounds what a stamp may say.
        start: Unix seconds of the first picture; by default its arrival.
    """

    def __init__(self, live: bool, start: float | None = None) -> None:
        self._by_arrival = live and start is None
        self._start = start
        self._offset: float | None = None
        """Time minus presentation time, as of the last picture that was taken by its arrival or by the clock's step."""
        self._first: float | None = None
        self._last = 0.0
        self._step = _FIRST_STEP

    def stamp(self, presentation: float | None, arrival: float) -> Stamp:
        """A picture's presentation time, seconds of any origin, None where it has none, and its arrival (Unix seconds).

        A stamp that is missing, goes back or jumps is replaced: by the arrival of a live picture, by the former
        picture's time and interval in a file; later stamps count from there.
        """
        time: float | None = None
        fault: StampFault | None = None
        if self._first is None:
            self._first = fallback = arrival if self._start is None else self._start
        else:
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
            if arrival < time <= arrival + _FAR_OFF:  # none is taken after it came: the first ones came late
                time = max(arrival, self._last + 1e-3)
                self._offset = time - presentation
            return time if abs(time - arrival) <= _FAR_OFF else None
        return time if time - self._last <= _LONGEST_GAP else None
