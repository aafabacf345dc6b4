"""Writes the result as a video file: frames with cars, boxes and texts drawn."""

from fractions import Fraction
from pathlib import Path

import av
import av.error
import cv2
import numpy as np
from av.container import OutputContainer
from av.video.stream import VideoStream

from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.overlay import Overlay
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError
from plate_nets.types import Frame

_TICKS = 90_000
_RATE = 25
"""Nominal frames per second for the encoder; each frame has its own time."""


class Recording(Closing):
    """Writes an MP4 file, as a context manager. It has the size of the first frame.

    Raises:
        InputError: it cannot be written, now or later.
    """

    def __init__(self, path: Path, overlay: Overlay) -> None:
        self._path, self._overlay = path, overlay
        self._last = -1
        self._stream: VideoStream | None = None
        try:
            path.open("ab").close()  # FFmpeg only opens it with the first frame
            self._container: OutputContainer = av.open(str(path), "w", format="mp4")
        except (av.error.FFmpegError, OSError) as error:
            raise InputError(f"{path}: {error.strerror}") from error

    def write(self, analysed: AnalysedFrame) -> None:
        self._overlay.note(analysed)
        drawn = self._overlay.draw(analysed)
        try:
            if self._stream is None:
                self._stream = self._open(drawn)
            stream = self._stream
            if drawn.shape[:2] != (stream.height, stream.width):
                drawn = np.asarray(cv2.resize(drawn, (stream.width, stream.height)), np.uint8)
            picture = av.VideoFrame.from_ndarray(drawn, format="bgr24")
            picture.time_base = Fraction(1, _TICKS)
            picture.pts = self._last = max(self._last + 1, round(analysed.frame.position * _TICKS))
            self._container.mux(stream.encode(picture))
        except (av.error.FFmpegError, OSError) as error:
            raise InputError(f"{self._path}: {error.strerror}") from error

    def close(self) -> None:
        """Finish the file. Without a frame none is written, and an existing one stays."""
        try:
            if self._stream is not None:
                self._container.mux(self._stream.encode())
            self._container.close()
        except (av.error.FFmpegError, OSError) as error:
            raise InputError(f"{self._path}: {error.strerror}") from error
        if self._stream is None and self._path.exists() and not self._path.stat().st_size:
            self._path.unlink()

    def _open(self, frame: Frame) -> VideoStream:
        stream = self._container.add_stream("libx264", rate=_RATE, options={"crf": "23", "preset": "veryfast"})
        stream.height, stream.width = (side - side % 2 for side in frame.shape[:2])  # chroma is at half the resolution
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, _TICKS)
        return stream
