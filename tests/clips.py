"""Video files for tests: plates that pass on a plain ground, really encoded."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from plate_nets.types import Frame
from tests.frames import Placed, compose

_TICKS = 90_000
TEXT = "A123BC77"
SMALL = (96, 128)
"""Height and width of frames in which there is nothing to read."""


def passing(count: int, text: str = TEXT, size: tuple[int, int] = (360, 640), empty: int = 0) -> Iterator[Frame]:
    """Frames of a car that drives from left to right, followed by the empty street."""
    h, w = size
    for number in range(count):
        x = round((w - 200) * number / max(1, count - 1)) + 20
        yield compose(h, w, [Placed(text, x, h // 2)], seed=number)
    for number in range(empty):
        yield compose(h, w, seed=number)


def still(count: int, size: tuple[int, int] = SMALL) -> Iterator[Frame]:
    """Frames in which nothing moves."""
    frame = compose(*size)
    for _ in range(count):
        yield frame


def write_clip(
    path: Path,
    frames: Iterable[Frame],
    fps: float = 25,
    *,
    times: Sequence[float] | None = None,
    codec: str = "libx264",
    audio: bool = False,
) -> Path:
    """Encode frames (H, W, 3) BGR of one size. ``times``: the seconds of each frame, instead of a steady rate."""
    with av.open(str(path), "w") as container:
        options = {"preset": "ultrafast", "tune": "zerolatency", "crf": "20"} if codec == "libx264" else {}
        stream = container.add_stream(codec, rate=Fraction(fps), options=options)
        assert isinstance(stream, av.VideoStream)
        sound = container.add_stream("aac", rate=16_000) if audio else None
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.gop_size = max(1, round(fps))
        if times is not None:
            stream.codec_context.time_base = Fraction(1, _TICKS)
        number = -1
        for number, frame in enumerate(frames):
            if not number:
                stream.height, stream.width = frame.shape[:2]
            picture = av.VideoFrame.from_ndarray(frame, format="bgr24")
            if times is not None:
                picture.pts, picture.time_base = round(times[number] * _TICKS), Fraction(1, _TICKS)
            container.mux(stream.encode(picture))
        if number >= 0:
            container.mux(stream.encode())
        if isinstance(sound, av.AudioStream):
            write_silence(container, sound)
    return path


def write_silence(container: av.container.OutputContainer, stream: av.AudioStream, seconds: float = 1.0) -> None:
    """Add a silent sound track."""
    for number in range(round(seconds * 16_000 / 1024)):
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        sound.sample_rate, sound.pts = 16_000, number * 1024
        container.mux(stream.encode(sound))
    container.mux(stream.encode())


def write_sound(path: Path) -> Path:
    """A file with sound only."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16_000, layout="mono")
        assert isinstance(stream, av.AudioStream)
        write_silence(container, stream)
    return path
