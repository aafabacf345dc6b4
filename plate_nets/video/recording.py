"""Writes the result as a video file: frames with cars, boxes and texts drawn."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import av.error
import cv2
import numpy as np
from av.container import OutputContainer
from av.video.stream import VideoStream

from plate_nets.closing import Closing
from plate_nets.errors import InputError
from plate_nets.recognition.annotation import annotate
from plate_nets.types import Frame, Plate, Reading
from plate_nets.video.analysis import AnalysedFrame
from plate_nets.video.cars import Car
from plate_nets.video.pictures import blur, is_same

_TICKS = 90_000
_RATE = 25
"""Nominal frames per second for the encoder; each frame has its own time."""


class Recording(Closing):
    """Writes an MP4 file, as a context manager. It has the size of the first frame.

    Args:
        blur_unlisted: make plates unreadable and omit their texts, except those of cars on a watch list.
        blur_vehicles: make whole vehicles unrecognizable, except those of such cars.
        shown: the text of a car -> what to write on it.

    Raises:
        InputError: it cannot be written, now or later.
    """

    def __init__(
        self,
        path: Path,
        *,
        blur_unlisted: bool = False,
        blur_vehicles: bool = False,
        shown: Callable[[str], str] = str,
    ) -> None:
        self._path = path
        self._shown = shown
        self._blur, self._blur_vehicles = blur_unlisted, blur_vehicles
        self._listed: set[str] = set()
        self._last = -1
        self._stream: VideoStream | None = None
        try:
            path.open("ab").close()  # FFmpeg only opens it with the first frame
            self._container: OutputContainer = av.open(str(path), "w", format="mp4")
        except (av.error.FFmpegError, OSError) as error:
            raise InputError(f"{path}: {error.strerror}") from error

    def write(self, analysed: AnalysedFrame) -> None:
        """Add a frame."""
        for event in analysed.events:
            (self._listed.add if event.watch else self._listed.discard)(event.id)
        drawn = self._draw(analysed)
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

    def _draw(self, analysed: AnalysedFrame) -> Frame:
        frame = analysed.frame.bgr()
        cars = [replace(car, text=self._shown(car.text)) for car in analysed.cars if car.seen]
        listed = [car.box for car in cars if car.id in self._listed]
        if self._blur_vehicles:
            own = [plate.vehicle for plate in analysed.plates or () if any(is_same(plate.box, box) for box in listed)]
            frame = blur(frame, [vehicle.box for vehicle in analysed.vehicles if vehicle not in own])
        if self._blur:
            found = [plate.box for plate in analysed.plates or ()] + [car.box for car in cars]
            frame = blur(frame, [box for box in found if not any(is_same(box, own) for own in listed)])
            cars = [car for car in cars if car.id in self._listed]
        return annotate(frame, [_as_plate(car, analysed.plates or ()) for car in cars])

    def _open(self, frame: Frame) -> VideoStream:
        stream = self._container.add_stream("libx264", rate=_RATE, options={"crf": "23", "preset": "veryfast"})
        stream.height, stream.width = (side - side % 2 for side in frame.shape[:2])  # chroma is at half the resolution
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, _TICKS)
        return stream


def _as_plate(car: Car, plates: Sequence[Plate]) -> Plate:
    """A car as a plate to draw: its text, at the corners of its plate if found in the frame."""
    found = next((plate for plate in plates if is_same(plate.box, car.box)), None)
    reading = Reading(car.text, "", car.score)
    if found is None:
        return Plate(car.box, car.score, reading)
    return Plate(car.box, car.score, reading, corners=found.corners, vehicle=found.vehicle)
