"""The newest packets of a stream: they wait, and a picture is only decoded if somebody wants it."""

import math
import threading
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from plate_nets.cameras.decoding import Decoded, Decoder, Packet

_AHEAD = 1.0
"""Seconds of a file that are read in advance."""
_BACKLOG = 4.0
"""Seconds of packets that wait for the decoder. If key frames are further apart, all pictures are decoded."""
_MOST_BYTES = 64 << 20
"""Of all packets: a guess. It is reached if nobody asks for a while, because the reader hangs."""
_NEAR = 0.1
"""Seconds by which a picture may be off from the wanted time."""
_SAME = 1e-3
_SHOWN = 3
"""Pictures that are remembered, because some come before they are wanted."""


class _Kept(NamedTuple):
    number: int
    packet: Packet
    time: float


class Packets:
    """Keeps the packets of one stream, from the key frame before the time that was wanted last.

    One thread calls `add` and `end`, another one the rest. Times are Unix seconds by the stream's own clock.

    Args:
        newest_only: never wait in `add`, as for a live source.
    """

    def __init__(self, newest_only: bool) -> None:
        self._newest_only = newest_only
        self._groups: deque[list[_Kept]] = deque()
        """Each begins with a key frame; of the first one, packets that were decoded may be missing."""
        self._changed = threading.Condition()
        self._count = 0
        self._wanted = -math.inf
        self._interval = math.inf
        """Seconds between the last two key frames."""
        self._ended = False
        self._decoder: Decoder | None = None
        self._decoded = -1
        """The number of the last packet that was decoded."""
        self._shown: deque[tuple[float, Decoded]] = deque(maxlen=_SHOWN)
        """The last pictures, each with its time."""

    @property
    def newest(self) -> float:
        """The time of the newest packet; infinite after the last one."""
        with self._changed:
            return math.inf if self._ended else self._last_time

    def add(self, packet: Packet, moment: float) -> None:
        """The next packet, and when its picture was taken. If all packets count, wait until it is wanted."""
        with self._changed:
            if not self._newest_only:
                self._changed.wait_for(lambda: self._ended or moment <= max(self._wanted + _AHEAD, self._first_time))
            if packet.data.is_keyframe or not self._groups:
                if self._groups:
                    self._interval = moment - self._groups[-1][0].time
                self._groups.append([])
            self._groups[-1].append(_Kept(self._count, packet, moment))
            self._count += 1
            while self._groups and sum(each.packet.data.size for each in self._all) > _MOST_BYTES:
                self._groups.popleft()
            self._changed.notify_all()

    def end(self) -> None:
        """No further packet will come."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def advance(self, moment: float) -> None:
        """From now on, no picture before this time is wanted. If all packets count, wait for those until then."""
        with self._changed:
            self._wanted = moment
            self._changed.notify_all()
            if not self._newest_only:
                self._changed.wait_for(lambda: self._ended or self._last_time >= moment)
            while len(self._groups) > 1 and self._groups[1][0].time <= moment:
                self._groups.popleft()
            run = self._run_to(moment)
        if run and moment - run[0].time > _BACKLOG:
            self.at(moment)
            with self._changed:
                self._groups[0] = [each for each in self._groups[0] if each.number > self._decoded - 1]

    def cost(self, moment: float) -> int:
        """How many pictures must be decoded for the one that was taken at a time."""
        with self._changed:
            return len(self._run_to(moment))

    def next_key(self, moment: float) -> float:
        """When the first key frame at or after a time was or will be taken; infinite if unknown."""
        with self._changed:
            keys = [group[0].time for group in self._groups]
        expected = [*keys, *(keys[-1:] and [keys[-1] + self._interval])]
        return next((key for key in expected if key >= moment), math.inf)

    def at(self, moment: float) -> Decoded | None:
        """The picture that was taken at a time; None if it is not there."""
        with self._changed:
            wanted = self._nearest(moment)
            if wanted is None:
                return None
            run = self._run_to(moment)
            done = run[-1].number if run else max(self._decoded, wanted.number)
            later = [each for each in self._all if each.number > done]
        for each in (*run, *later):
            if each.number > wanted.number and self._shown and self._shown[-1][0] >= wanted.time - _SAME:
                break  # otherwise it comes with a later packet
            for decoded in self._decode(each):
                self._shown.append((_time_of(decoded, each), decoded))
        time, picture = min(self._shown, key=lambda shown: abs(shown[0] - moment), default=(math.inf, None))
        return picture if abs(time - moment) <= _NEAR else None

    def _decode(self, kept: _Kept) -> Iterator[Decoded]:
        decoder = kept.packet.decoder
        if decoder is not self._decoder or kept.number != self._decoded + 1:
            decoder.restart()
            self._decoder = decoder
            self._shown.clear()
        self._decoded = kept.number
        return decoder.take(kept.packet.data)

    def _run_to(self, moment: float) -> list[_Kept]:
        """The packets that must be decoded for a picture."""
        wanted = self._nearest(moment)
        if wanted is None or any(abs(time - wanted.time) < _SAME for time, _ in self._shown):
            return []
        group = next(group for group in reversed(self._groups) if group[0].number <= wanted.number)
        goes_on = group[0].number <= self._decoded + 1 <= group[-1].number + 1
        if goes_on and (not self._shown or self._shown[-1][0] < wanted.time):
            return [each for each in group if self._decoded < each.number <= wanted.number]
        return [each for each in group if each.number <= wanted.number]

    def _nearest(self, moment: float) -> _Kept | None:
        return min(self._all, key=lambda each: abs(each.time - moment), default=None)

    @property
    def _all(self) -> Iterator[_Kept]:
        return chain.from_iterable(self._groups)

    @property
    def _last_time(self) -> float:
        return self._groups[-1][-1].time if self._groups else -math.inf

    @property
    def _first_time(self) -> float:
        return self._groups[0][0].time if self._groups else math.inf


def _time_of(decoded: Decoded, kept: _Kept) -> float:
    return kept.time if decoded.time is None else kept.time + decoded.time - kept.packet.time
