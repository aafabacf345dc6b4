"""A camera with two streams: the small one is watched, and few pictures of the large one are decoded."""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from plate_nets.cameras.address import SourceAddress
from plate_nets.cameras.capture import Capture, CaptureSettings, Handover
from plate_nets.cameras.decoding import demux
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.packets import Packets
from plate_nets.cameras.stamps import StampClock
from plate_nets.cameras.stream_clocks import StreamClocks
from plate_nets.common.errors import SourceError
from plate_nets.recognition.square_pixels import Stretch

_TICK = 0.05
"""Seconds between two looks whether the large stream has come as far as the small one."""
_MOST_WAITING = 100
"""Frames of the small stream that wait for the large one."""
_ALIKE = 0.02
"""Share by which the shapes of the two pictures may differ without a notice."""


class TwoStreams(Capture):
    """Reads the large stream without decoding it, and the small one as `Capture` does.

    Its state is that of the large stream. Its `handover` gives the frames of the small one, see `Pair`.
    """

    def __init__(
        self, large: SourceAddress, small: SourceAddress, settings: CaptureSettings, notice: Callable[[str], None]
    ) -> None:
        if settings.start is None and not large.live:
            settings = replace(settings, start=time.time())  # the same for both
        settings = replace(settings, fields=False)
        super().__init__(large, settings, notice)
        self._packets = Packets(newest_only=large.live)
        self._small = Capture(small, settings, lambda line: notice(f"detect: {line}"))
        self.handover: Pair = Pair(self._packets, self._small, settings.fps, notice)

    @property
    def problem(self) -> str | None:
        if self.state == "online" and self.handover.is_alone:
            return f"detect: {self._small.cause}; until it is back, cars are looked for in the source"
        return self.cause

    def start(self) -> None:
        super().start()
        self._small.start()

    def watch(self) -> None:
        super().watch()
        self._small.watch()

    def stop(self) -> None:
        super().stop()
        self._small.stop()
        self._packets.end()

    def join(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        ended = super().join(seconds)
        return self._small.join(max(0.0, deadline - time.monotonic())) and ended

    def _decode(self) -> None:
        clock = StampClock(self.address.live, self._settings.start)
        stamp, key_time = None, 0.0
        try:
            for packet in demux(self.address, self._settings, self._notice):
                if self._abandoned():
                    return
                if packet.data.is_keyframe:  # the times of others may go back
                    stamp, key_time = clock.stamp(packet.time, time.time()), packet.time
                if stamp is not None:
                    since = packet.time - key_time
                    self._note(replace(stamp, position=stamp.position + since))
                    self._packets.add(packet, stamp.time + since)
                    self._last = time.monotonic()  # waiting for room is not silence
        finally:
            if not self.address.live:
                self._packets.end()


class Pair(Handover):
    """Gives the frames of the small stream in the size of the large one, and the same frames of the large one.

    While the small stream is lost, it gives those of the large one. One thread calls it.
    """

    def __init__(self, packets: Packets, small: Capture, fps: float | None, notice: Callable[[str], None]) -> None:
        super().__init__(newest_only=small.address.live)
        self._packets = packets
        self._small = small
        self._interval = 1 / fps if fps else 0.0
        self._notice = notice
        self._waiting: deque[VideoFrame] = deque(maxlen=_MOST_WAITING)
        self._clocks = StreamClocks(notice)
        self._enlarged: Stretch | None = None
        """The size and the square pixels of the large stream."""
        self._last: VideoFrame | None = None
        """The last frame that was given."""
        self._late = 0
        self._due = float("-inf")

    @property
    def is_alone(self) -> bool:
        """Whether the small stream is lost."""
        return self._small.state == "offline"

    @property
    def finished(self) -> bool:
        """Whether no further frame will come, nor the error of a file."""
        return self._small.handover.finished and not self._waiting and self._small.state != "failed"

    def take(self, seconds: float) -> VideoFrame | None:
        """The next frame; None if none came in time, or none will come.

        Raises:
            SourceError: the small file cannot be read.
        """
        if self._small.state == "failed":
            raise SourceError(f"detect: {self._small.cause}")
        deadline = time.monotonic() + seconds
        while not self.finished and time.monotonic() < deadline:
            frame = self._newest_large() if self.is_alone else self._next_small()
            if frame is not None:
                self._last = frame
                return frame
        return None

    def newer(self, frame: VideoFrame) -> VideoFrame:
        return frame

    def cost(self, frame: VideoFrame) -> int:
        """How many pictures must be decoded for `large`."""
        return self._packets.cost(frame.time + self._clocks.apart)

    def next_key(self, frame: VideoFrame) -> float:
        """When the first frame from this one on was or will be taken that costs one picture; infinite if unknown."""
        return self._packets.next_key(frame.time + self._clocks.apart) - self._clocks.apart

    def large(self, frame: VideoFrame) -> VideoFrame | None:
        """The same frame of the large stream; None if there is none, or its size has changed."""
        decoded = self._packets.at(frame.time + self._clocks.apart)
        if decoded is None:
            return None
        large = replace(frame, picture=decoded.picture, pixel=decoded.pixel, enlarged=None)
        self._clocks.note_large(frame.time + self._clocks.apart, large.luma())
        if large.stretch != self._enlarged:
            self._compare_shapes(frame, large.stretch)
            self._enlarged = large.stretch
            return None
        return large

    def _next_small(self) -> VideoFrame | None:
        """The next frame of the small stream that the large one has reached; of a live source, the newest."""
        frame = self._small.handover.take(_TICK)
        if frame is not None:
            self._clocks.note_small(frame.time, frame.luma())
            self._waiting.append(frame)
        reached = self._packets.newest - self._clocks.apart if self._small.address.live else math.inf
        ready = sum(each.time <= reached for each in self._waiting)
        late = max(0, ready - 1) if self._small.address.live else 0
        for _ in range(late):
            self._waiting.popleft()
        self._late += late
        self.dropped = self._small.handover.dropped + self._late
        if not ready:
            return None
        frame = self._waiting.popleft()
        self._packets.advance(frame.time + self._clocks.apart)
        if self._enlarged is None:
            self.large(frame)
        return replace(frame, enlarged=self._enlarged) if self._enlarged else None

    def _newest_large(self) -> VideoFrame | None:
        """The newest frame of the large stream, if one is due."""
        self._waiting.clear()
        newest = self._packets.newest
        if math.isinf(newest) or newest < self._due:
            time.sleep(_TICK)
            return None
        self._due = max(self._due + self._interval, newest)
        self._packets.advance(newest)
        decoded = self._packets.at(newest)
        if decoded is None:
            return None
        moment = newest - self._clocks.apart
        position = self._last.position + moment - self._last.time if self._last else 0.0
        return VideoFrame(decoded.picture, moment, position, time.monotonic(), decoded.pixel)

    def _compare_shapes(self, small: VideoFrame, large: Stretch) -> None:
        h, w = replace(small, enlarged=None).stretch.square
        shape = large.square[1] / large.square[0]
        if abs(w / h - shape) > _ALIKE * shape:
            self._notice(
                f"detect: its pictures of {w}x{h} have another shape than those of the source, "
                f"{large.square[1]}x{large.square[0]}; both are taken for the same view, so the small one is stretched"
            )
