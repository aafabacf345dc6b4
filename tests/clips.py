"""Video files for tests: plates that pass on a plain ground, really encoded."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal

import av
import cv2
import numpy as np
from av.codec.context import Flags
from av.filter import Graph

from plate_nets.types import Frame
from tests.frames import Placed, compose

Fields = Literal["tff", "bff"]
"""Top or bottom field first, by FFmpeg's names."""

_TICKS = 90_000
TEXT = "A123BC77"
SMEARED = (720, 1280)
"""Height and width of the frames of `smeared`."""
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


def smeared(count: int) -> Iterator[Frame]:
    """Frames of twelve cars, as with an exposure that is too long for their speed."""
    places = [(x, y) for y in range(60, 700, 170) for x in (60, 460, 860)]
    street = compose(*SMEARED, [Placed(f"A{number:03}BC77", x, y, 190) for number, (x, y) in enumerate(places, 1)])
    for _ in range(count):
        yield np.asarray(cv2.blur(street, (9, 1)), np.uint8)


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
    fields: Fields | None = None,
    pixel: Fraction | None = None,
) -> Path:
    """Encode frames (H, W, 3) BGR of one size.

    ``times``: the seconds of each frame, instead of a steady rate. ``fields``: what the stream says of its fields.
    ``pixel``: the width of its pixels in heights.
    """
    with av.open(str(path), "w") as container:
        options = {"preset": "ultrafast", "tune": "zerolatency", "crf": "20"} if codec == "libx264" else {}
        stream = container.add_stream(codec, rate=Fraction(fps), options=options)
        assert isinstance(stream, av.VideoStream)
        sound = container.add_stream("aac", rate=16_000) if audio else None
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.gop_size = max(1, round(fps))
        if pixel is not None:
            stream.codec_context.sample_aspect_ratio = pixel
        if codec == "mpeg2video":
            stream.codec_context.bit_rate = 8_000_000
        if fields:
            stream.codec_context.flags |= Flags.interlaced_dct
            if codec == "libx264":
                stream.codec_context.options = {**options, "x264-params": f"{fields}=1"}
        said: Graph | None = None
        if times is not None:
            stream.codec_context.time_base = Fraction(1, _TICKS)
        number = -1
        for number, frame in enumerate(frames):
            if not number:
                stream.height, stream.width = frame.shape[:2]
            picture = av.VideoFrame.from_ndarray(frame, format="bgr24")
            if times is not None:
                picture.pts, picture.time_base = round(times[number] * _TICKS), Fraction(1, _TICKS)
            if fields:
                said = said or _saying(fields, picture)
                said.vpush(picture)
                picture = said.vpull()
                picture.pts, picture.time_base = number, 1 / Fraction(fps)
            container.mux(stream.encode(picture))
        if number >= 0:
            container.mux(stream.encode())
        if isinstance(sound, av.AudioStream):
            write_silence(container, sound)
    return path


def write_jpegs(path: Path, pictures: Iterable[bytes], size: tuple[int, int] = SMALL) -> Path:
    """Encoded pictures, whatever they are -> a video of JPEGs whose container says this height and width."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=25)
        assert isinstance(stream, av.VideoStream)
        stream.pix_fmt, stream.height, stream.width = "yuvj420p", *size
        for number, picture in enumerate(pictures):
            packet = av.Packet(picture)
            packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, 25)
            container.mux(packet)
    return path


def _saying(fields: Fields, like: av.VideoFrame) -> Graph:
    """Pictures -> the same that say which of their fields is the first."""
    graph = Graph()
    source = graph.add_buffer(width=like.width, height=like.height, format=like.format, time_base=Fraction(1, _TICKS))
    graph.link_nodes(source, graph.add("setfield", fields), graph.add("buffersink")).configure()
    return graph


def woven(frames: Iterable[Frame], fields: Fields) -> Iterator[Frame]:
    """Frames -> half as many interlaced ones: the first field of each is of one frame, the second of the next."""
    one_by_one = iter(frames)
    for first, second in zip(one_by_one, one_by_one, strict=False):
        frame = first.copy()
        second_row = 1 if fields == "tff" else 0
        frame[second_row::2] = second[second_row::2]
        yield frame


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
