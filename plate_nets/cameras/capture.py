"""Reads a source in its own thread: decodes it, reconnects to live sources, and detects hanging reads."""

import logging
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from plate_nets.cameras.address import SourceAddress
from plate_nets.cameras.decoding import DecodingSettings, decode, frozen
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.stamps import Stamp, StampClock, StampFault
from plate_nets.common.errors import SourceError
from plate_nets.common.threads import FIRST_PAUSE, LONGEST_PAUSE, LastingThread, cause

_log = logging.getLogger(__name__)

CaptureState = Literal["connecting", "online", "offline", "ended", "failed"]

_PROBE = 1.0
"""Seconds between two checks whether a source answers again."""
_HELD = 2
"""Pictures of a file that are decoded in advance."""
_STUCK = 3
"""Threads of a source that may hang in a read. No further one is started until one of them ends."""
_STAMP_NOTICES = 60.0
"""Minimum seconds between two notices about time stamps."""
_SPAN = 5.0
"""Seconds over which a rate is measured."""
_STAMP_FAULTS: dict[StampFault, str] = {
    "jumped": "its time stamps jump or go back; they are ignored",
    "late": "its pictures come 10 s later than their time stamps say: the network or this machine is too slow, or the "
    "stamps are wrong; times of arrival are used",
}


class Rate:
    """A counter with a recent rate. One thread adds, others may read."""

    def __init__(self) -> None:
        self.count = 0
        self._started = time.monotonic()
        self._times: deque[float] = deque(maxlen=2000)

    def add(self) -> None:
        self._times.append(time.monotonic())
        self.count += 1

    @property
    def per_second(self) -> float:
        now = time.monotonic()
        recent = sum(now - moment <= _SPAN for moment in self._times.copy())
        return recent / max(0.1, min(_SPAN, now - self._started))


class Handover:
    """Passes frames from the decoding thread to the analysing thread: only the newest, or all in order."""

    def __init__(self, newest_only: bool) -> None:
        self._newest_only = newest_only
        self._frames: deque[VideoFrame] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.dropped = 0
        """Frames that were replaced by a newer one."""

    def put(self, frame: VideoFrame) -> None:
        """Add a frame; if all frames count, wait for room."""
        with self._changed:
            if self._newest_only:
                self.dropped += len(self._frames)
                self._frames.clear()
            else:
                self._changed.wait_for(lambda: len(self._frames) < _HELD or self._closed)
            if not self._closed:
                self._frames.append(frame)
                self._changed.notify_all()

    def take(self, seconds: float) -> VideoFrame | None:
        """The next frame; None if none came in time, or none will come."""
        with self._changed:
            self._changed.wait_for(lambda: self._frames or self._closed, seconds)
            if not self._frames:
                return None
            self._changed.notify_all()
            return self._frames.popleft()

    def newer(self, frame: VideoFrame) -> VideoFrame:
        """A newer frame, if only the newest counts and there is one; otherwise the frame itself."""
        with self._changed:
            if self._newest_only and self._frames:
                self.dropped += 1
                return self._frames.popleft()
        return frame

    def close(self) -> None:
        """No further frame will come; those that are there can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def finished(self) -> bool:
        with self._changed:
            return self._closed and not self._frames


@dataclass(frozen=True)
class CaptureSettings(DecodingSettings):
    fps: float | None = None
    """Maximum frames per second to analyse; None: all."""
    start: float | None = None
    """Unix seconds of the first picture; None: its arrival."""
    first_pause: float = FIRST_PAUSE


class Capture:
    """Reads a source until it ends or is stopped.

    Args:
        notice: called with a line, without credentials, about each problem and its end.
    """

    def __init__(self, address: SourceAddress, settings: CaptureSettings, notice: Callable[[str], None]) -> None:
        self.address = address
        self.handover = Handover(newest_only=address.live)
        self.state: CaptureState = "connecting"
        self.cause: str | None = None
        """Why it is offline or failed."""
        self.rate = Rate()
        """Decoded pictures."""
        self.position = 0.0
        """Seconds of the source's own time that were decoded."""
        self.length: float | None = None
        """Seconds of a file, if known."""
        self.reconnections = 0
        self._settings = settings
        self._notice = notice
        self._pause = 0.0
        """Seconds before the next attempt to connect."""
        self._answered = False
        """Whether the last attempt got an answer."""
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._stamps_noticed = float("-inf")
        self._threads: list[LastingThread] = []

    @property
    def problem(self) -> str | None:
        return self.cause

    def start(self) -> None:
        self._begin(0.0)

    def watch(self) -> None:
        """Detect a read that hangs, and connect in another thread. Call this more than once per second."""
        if not self.address.live or self.state != "online" or self._stop.is_set():
            return
        if time.monotonic() - self._last > self._settings.silence + _PROBE / 2:
            with self._lock:
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                if len(self._threads) < _STUCK:
                    self._lose(frozen(self._settings))
                    self._begin(self._settings.first_pause)

    def stop(self) -> None:
        """Request the end; `join` waits for it."""
        self._stop.set()
        self.handover.close()

    def join(self, seconds: float) -> bool:
        """Wait for the end after `stop` -> whether all threads have ended."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _begin(self, pause: float) -> None:
        self._pause = pause
        name = str(self.address) if self.address.live else self.address.kind  # health does not show paths
        run = self._follow if self.address.live else self._read_through
        thread = LastingThread(f"capture {name}", run, ending=self._stop)
        self._threads.append(thread)
        thread.start()

    def _abandoned(self) -> bool:
        """Whether this thread must end: on request, or because another one replaced it."""
        return self._stop.is_set() or threading.current_thread() is not self._threads[-1]

    def _read_through(self) -> bool:
        try:
            self._decode()
            self.state = "ended"
        except Exception as error:  # not retried: its events would come twice
            self.state, self.cause = "failed", cause(error)
            self._notice(self.cause)
            if not isinstance(error, SourceError):
                _log.error("%s: %s", self.address, self.cause, exc_info=error)
        finally:
            self.handover.close()
        return False

    def _follow(self) -> bool:
        """Connect after a pause, and decode until the connection is lost -> whether to connect again."""
        self._wait(self._pause * random.uniform(0.5, 1), answers=self._answered)
        if self._abandoned():
            return False
        before = self.rate.count
        try:
            self._decode()
            error = SourceError("the connection was closed", unreachable=True)
        except SourceError as found:
            error = found
        except Exception as fault:
            self._lose(cause(fault))
            raise
        if self._abandoned():
            return False
        self._lose(str(error))
        self._answered = not error.unreachable
        again = self.rate.count == before and self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE) if again else self._settings.first_pause
        return True

    def _lose(self, cause: str) -> None:
        if self.state != "offline" or cause != self.cause:
            self._notice(f"offline: {cause}")
        self.state, self.cause = "offline", cause

    def _wait(self, pause: float, *, answers: bool) -> None:
        """Wait before the next attempt: the whole pause, or until the source answers if it did not before."""
        deadline = time.monotonic() + pause
        least = time.monotonic() + min(pause, self._settings.first_pause)
        while not self._abandoned() and time.monotonic() < deadline:
            self._stop.wait(min(_PROBE, max(0.0, deadline - time.monotonic())))
            now = _answers(self.address)
            if now and not answers and time.monotonic() >= least:
                return
            answers = answers and now

    def _decode(self) -> None:
        clock = StampClock(self.address.live, self._settings.start)
        interval = 1 / self._settings.fps if self._settings.fps else 0.0
        due = 0.0
        for decoded in decode(
            self.address, self._settings, self._notice, lambda length: setattr(self, "length", length)
        ):
            if self._abandoned():
                return
            stamp = clock.stamp(decoded.time, time.time())
            self._note(stamp)
            if stamp.position >= due - 1e-6:
                due = max(due + interval, stamp.position)
                frame = VideoFrame(decoded.picture, stamp.time, stamp.position, time.monotonic(), decoded.pixel)
                self.handover.put(frame)
                self._last = time.monotonic()  # waiting for room is not silence

    def _note(self, stamp: Stamp) -> None:
        now = time.monotonic()
        self._last = now
        self.rate.add()
        self.position = stamp.position
        if stamp.fault and now - self._stamps_noticed > _STAMP_NOTICES:
            self._stamps_noticed = now
            self._notice(_STAMP_FAULTS[stamp.fault])
        if self.state != "online":
            if self.state == "offline":
                self.reconnections += 1
                self._notice("online again")
            self.state, self.cause = "online", None


def _answers(address: SourceAddress) -> bool:
    """Whether a stream's address answers. An RTSP server that hangs accepts connections but sends nothing."""
    endpoint = address.endpoint
    if endpoint is None:
        return False
    try:
        with socket.create_connection(endpoint, timeout=_PROBE) as connection:
            if not address.location.lower().startswith("rtsp://"):
                return True
            connection.settimeout(_PROBE)
            connection.sendall(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n")
            return bool(connection.recv(16))
    except OSError:
        return False
